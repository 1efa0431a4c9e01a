#include "cluster/exit.hpp"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>

#include "cluster/carrier.hpp"
#include "cluster/ends.hpp"
#include "cluster/job.hpp"
#include "cluster/next.hpp"
#include "cluster/protocol.hpp"
#include "cluster/report.hpp"

namespace plait::cluster {

bool served = false;

namespace {

/// A child that the program makes by fork() is no part of the job, and neither is a process that the MPI ends.
std::atomic<pid_t> process_of_job{0};
/// A thread of the program is in exit().
std::atomic<bool> leaving{false};
thread_local bool leaves = false;
/// Process 0 has said that the job is over while a region was at work.
std::atomic<bool> released{false};

void* leave(void* status) {
  // The carrier's thread, which may have started this one, takes no signals: the program's destructors need pages.
  sigset_t faults;
  sigemptyset(&faults);
  sigaddset(&faults, SIGSEGV);
  pthread_sigmask(SIG_UNBLOCK, &faults, nullptr);
  std::exit(static_cast<int>(reinterpret_cast<std::intptr_t>(status)));
}

/// In a thread of its own: handlers must not wait.
void leave_by_thread(int status) {
  pthread_t thread{};
  // NOLINTNEXTLINE(performance-no-int-to-ptr)
  if (pthread_create(&thread, nullptr, leave, reinterpret_cast<void*>(std::intptr_t{status})) != 0) end_job(status);
  pthread_detach(thread);
}

void on_leave(Received message) {  // NOLINT(performance-unnecessary-value-param)
  released.store(true, std::memory_order_release);
  // relaxed: who is in exit() by now goes on by itself.
  if (!leaving.load(std::memory_order_relaxed)) leave_by_thread(the_job.process == 0 ? static_cast<int>(message.head().small) : 0);
}

/// exit() in a region, not on process 0: that one leaves, and lets the others go.
void ask_to_leave(int status) {
  const Guard guard;
  // acquire: as it is released. Process 0 may have a reason of its own.
  if (released.load(std::memory_order_acquire)) return;
  send(0, Message(Kind::leave, static_cast<std::uint32_t>(status)));
  wait_until([] { return released.load(std::memory_order_acquire); });
}

/// The first that exit() calls: the MPI's own handlers come after.
void end_of_job() {
  if (getpid() != process_of_job) return;
  if (the_job.process == 0) {
    run_ends_of_program();
    if (the_job.processes > 1) {
      if (in_serial_part()) {
        tell_the_end();
      } else {
        const Guard guard;
        for (int n = 1; n < the_job.processes; ++n) send(n, Message(Kind::leave));
      }
    }
  }
  report();
  end_carrier();
}

}  // namespace

void end_without_exit() noexcept { process_of_job = 0; }

void start_exit() {
  process_of_job = getpid();
  on(Kind::leave, on_leave);
  std::atexit(end_of_job);
}

}  // namespace plait::cluster

extern "C" [[gnu::visibility("default")]] void exit(int status) noexcept {
  using namespace plait::cluster;
  static constinit Next<void(int)> real("exit");
  if (process_of_job == getpid()) {
    // One thread ends the process, though all may find the same reason to.
    if (!leaves && leaving.exchange(true, std::memory_order_relaxed)) {
      wait_for_the_end();
    }
    leaves = true;
    if (the_job.process > 0 && !served) ask_to_leave(status);
  }
  real(status);
  __builtin_unreachable();
}
