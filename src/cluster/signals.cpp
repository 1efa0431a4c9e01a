#include "cluster/signals.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstdint>

#include "cluster/faults.hpp"
#include "cluster/next.hpp"
#include "cluster/space.hpp"

namespace plait::cluster {

thread_local volatile Holding holding{};

namespace {

constexpr int kSignals = 65;
bool leading = false;

/// A handler of the program's, in one word, so that none is called as another wants to be: its address, and how.
constexpr std::uintptr_t kTakesInfo = std::uintptr_t{1} << 63;
constexpr std::uintptr_t kOnce = std::uintptr_t{1} << 62;
std::array<std::atomic<std::uintptr_t>, kSignals> handlers{};

/// What came with the signals that wait.
thread_local std::array<siginfo_t, kSignals> waiting_infos;

std::uint64_t bit_of(int signal) noexcept { return std::uint64_t{1} << (signal - 1); }

/// Not what an instruction raises: that cannot wait.
bool may_wait(int signal) noexcept {
  switch (signal) {
    case SIGSEGV:
    case SIGBUS:
    case SIGFPE:
    case SIGILL:
    case SIGTRAP:
    case SIGSYS:
    case SIGABRT:
      return false;
    default:
      return signal > 0 && signal < kSignals;
  }
}

void on_signal(int signal, siginfo_t* info, void* context) {
  if (holding.count > 0) {
    waiting_infos[static_cast<std::size_t>(signal)] = *info;
    holding.waiting = holding.waiting | bit_of(signal);
    // Blocked when this returns: others of its kind wait in the kernel.
    sigaddset(&static_cast<ucontext_t*>(context)->uc_sigmask, signal);
    return;
  }
  std::atomic<std::uintptr_t>& handler = handlers[static_cast<std::size_t>(signal)];
  // relaxed: the word is all that there is.
  const std::uintptr_t word = handler.load(std::memory_order_relaxed);
  if (word & kOnce) {
    struct sigaction usual{};
    usual.sa_handler = SIG_DFL;
    handler.store(0, std::memory_order_relaxed);
    real_sigaction(signal, &usual, nullptr);
  }
  // NOLINTBEGIN(performance-no-int-to-ptr)
  if (word & kTakesInfo) {
    reinterpret_cast<void (*)(int, siginfo_t*, void*)>(word & ~(kTakesInfo | kOnce))(signal, info, context);
  } else if (word != 0) {
    reinterpret_cast<void (*)(int)>(word & ~kOnce)(signal);
  }
  // NOLINTEND(performance-no-int-to-ptr)
}

bool is_led(int signal, const struct sigaction& action) noexcept {
  return may_wait(signal) && action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN &&
         allocates_shared(reinterpret_cast<const void*>(action.sa_handler));
}

/// What the kernel gets, and what it has said, for what the program means.
struct sigaction led(const struct sigaction& wanted) noexcept {
  struct sigaction ours = wanted;
  ours.sa_sigaction = on_signal;
  // Sent to the thread again, it would find the usual action.
  ours.sa_flags = static_cast<int>((static_cast<unsigned>(wanted.sa_flags) | SA_SIGINFO) & ~SA_RESETHAND);
  return ours;
}
std::uintptr_t word_of(const struct sigaction& action) noexcept {
  return reinterpret_cast<std::uintptr_t>(action.sa_sigaction) | ((action.sa_flags & SA_SIGINFO) ? kTakesInfo : 0) |
         ((static_cast<unsigned>(action.sa_flags) & SA_RESETHAND) ? kOnce : 0);
}
void put_word(std::uintptr_t word, struct sigaction& action) noexcept {
  // NOLINTNEXTLINE(performance-no-int-to-ptr)
  action.sa_sigaction = reinterpret_cast<void (*)(int, siginfo_t*, void*)>(word & ~(kTakesInfo | kOnce));
  unsigned flags = static_cast<unsigned>(action.sa_flags) & ~unsigned{SA_SIGINFO};
  if (word & kTakesInfo) flags |= SA_SIGINFO;
  if (word & kOnce) flags |= SA_RESETHAND;
  action.sa_flags = static_cast<int>(flags);
}

int set_action(int signal, const struct sigaction* wanted, struct sigaction* before) noexcept {
  if (!leading) return real_sigaction(signal, wanted, before);
  if (signal == SIGSEGV) return action_on_faults(wanted, before);
  if (!may_wait(signal)) return real_sigaction(signal, wanted, before);
  std::atomic<std::uintptr_t>& handler = handlers[static_cast<std::size_t>(signal)];
  const std::uintptr_t old = handler.load(std::memory_order_relaxed);  // relaxed: as above
  int result = 0;
  if (wanted && is_led(signal, *wanted)) {
    const struct sigaction ours = led(*wanted);
    handler.store(word_of(*wanted), std::memory_order_relaxed);
    result = real_sigaction(signal, &ours, before);
    if (result != 0) handler.store(old, std::memory_order_relaxed);
  } else {
    result = real_sigaction(signal, wanted, before);
  }
  if (result == 0 && before && before->sa_sigaction == on_signal) put_word(old, *before);
  return result;
}

}  // namespace

int real_sigaction(int signal, const struct sigaction* wanted, struct sigaction* before) noexcept {
  static constinit Next<int(int, const struct sigaction*, struct sigaction*)> real("sigaction");
  return real(signal, wanted, before);
}

void let_signals_come() noexcept {
  const int error = errno;
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  while (holding.waiting != 0) {
    const int signal = std::countr_zero(holding.waiting) + 1;
    holding.waiting = holding.waiting & ~bit_of(signal);
    siginfo_t& info = waiting_infos[static_cast<std::size_t>(signal)];
    // The kernel keeps only so many with what comes with them.
    if (syscall(SYS_rt_tgsigqueueinfo, getpid(), gettid(), signal, &info) != 0) syscall(SYS_tgkill, getpid(), gettid(), signal);
    sigdelset(&before, signal);
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);  // they come here
  errno = error;
}

void lead_signals() {
  leading = true;
  for (int signal = 1; signal < kSignals; ++signal) {
    struct sigaction there{};
    if (may_wait(signal) && real_sigaction(signal, nullptr, &there) == 0 && is_led(signal, there)) set_action(signal, &there, nullptr);
  }
}

}  // namespace plait::cluster

using namespace plait::cluster;

#define PLAIT_EXPORT extern "C" [[gnu::visibility("default")]]

PLAIT_EXPORT int sigaction(int signal, const struct sigaction* wanted, struct sigaction* before) noexcept {
  // The kernel finds no memory that is elsewhere.
  struct sigaction now{};
  struct sigaction old{};
  if (wanted) now = *wanted;
  const int result = set_action(signal, wanted ? &now : nullptr, before ? &old : nullptr);
  if (result == 0 && before) *before = old;
  return result;
}

namespace {

sighandler_t set_handler(int signal, sighandler_t handler, int flags) noexcept {
  struct sigaction wanted{};
  struct sigaction before{};
  wanted.sa_handler = handler;
  wanted.sa_flags = flags;
  if (!(static_cast<unsigned>(flags) & SA_NODEFER)) sigaddset(&wanted.sa_mask, signal);
  return set_action(signal, &wanted, &before) == 0 ? before.sa_handler : SIG_ERR;
}

constexpr int kOnceAtOnce = static_cast<int>(SA_RESETHAND | SA_NODEFER);

}  // namespace

// NOLINTBEGIN(bugprone-reserved-identifier): libc's names; the latter two where a program wants System V's
PLAIT_EXPORT sighandler_t signal(int signal, sighandler_t handler) noexcept { return set_handler(signal, handler, SA_RESTART); }
PLAIT_EXPORT sighandler_t ssignal(int signal, sighandler_t handler) noexcept { return set_handler(signal, handler, SA_RESTART); }
PLAIT_EXPORT sighandler_t sysv_signal(int signal, sighandler_t handler) noexcept { return set_handler(signal, handler, kOnceAtOnce); }
PLAIT_EXPORT sighandler_t __sysv_signal(int signal, sighandler_t handler) noexcept { return set_handler(signal, handler, kOnceAtOnce); }
// NOLINTEND(bugprone-reserved-identifier)
