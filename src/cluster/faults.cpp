#include "cluster/faults.hpp"

#include <signal.h>
#include <ucontext.h>

#include <cerrno>

#include "cluster/job.hpp"
#include "cluster/protocol.hpp"
#include "cluster/signals.hpp"

namespace plait::cluster {
namespace {

/// What the program wants to be done about SIGSEGV.
struct sigaction of_program{};

bool is_write([[maybe_unused]] const void* context) noexcept {
#if defined(__x86_64__)
  constexpr greg_t kWrite = 2;
  return (static_cast<const ucontext_t*>(context)->uc_mcontext.gregs[REG_ERR] & kWrite) != 0;
#else
  return false;  // found out by a second fault
#endif
}

bool is_execution([[maybe_unused]] const void* context) noexcept {
#if defined(__x86_64__)
  constexpr greg_t kFetch = 16;
  return (static_cast<const ucontext_t*>(context)->uc_mcontext.gregs[REG_ERR] & kFetch) != 0;
#else
  return false;
#endif
}

void hand_on(int signal, siginfo_t* info, void* context) {
  if ((of_program.sa_flags & SA_SIGINFO) && of_program.sa_sigaction) {
    of_program.sa_sigaction(signal, info, context);
  } else if (of_program.sa_handler != SIG_DFL && of_program.sa_handler != SIG_IGN) {
    of_program.sa_handler(signal);
  } else {
    // It happens again when this handler returns, and ends the process there.
    struct sigaction ends{};
    ends.sa_handler = SIG_DFL;
    real_sigaction(SIGSEGV, &ends, nullptr);
  }
}

void on_fault(int signal, siginfo_t* info, void* context) {
  const int error = errno;
  const PageId page = info->si_code == SEGV_ACCERR ? page_of(info->si_addr) : kNoPage;
  if (page == kNoPage || is_execution(context) || !access(page, is_write(context))) hand_on(signal, info, context);
  errno = error;
}

}  // namespace

void catch_faults() {
  struct sigaction ours{};
  ours.sa_sigaction = on_fault;
  // A handler of the program's may itself touch pages that are elsewhere.
  ours.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER | SA_RESTART;
  real_sigaction(SIGSEGV, &ours, &of_program);
}

int action_on_faults(const struct sigaction* wanted, struct sigaction* before) noexcept {
  const struct sigaction old = of_program;
  if (wanted) of_program = *wanted;
  if (before) *before = old;
  return 0;
}

}  // namespace plait::cluster
