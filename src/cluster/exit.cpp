#include "cluster/exit.hpp"

#include <pthread.h>
#include <signal.h>
#include <stdio_ext.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "base/fatal.hpp"
#include "cluster/carrier.hpp"
#include "cluster/children.hpp"
#include "cluster/ends.hpp"
#include "cluster/job.hpp"
#include "cluster/next.hpp"
#include "cluster/protocol.hpp"
#include "cluster/report.hpp"
#include "cluster/space.hpp"

namespace plait::cluster {

bool served = false;

namespace {

/// A child that the program makes by fork() is no part of the job, and neither is a process that the MPI ends.
std::atomic<pid_t> process_of_job{0};
/// Which function of libc's the job ends by, on the process that runs the program's own ends: it goes along with the message.
enum class Way : std::uint64_t { exit, quick, at_once };

/// A thread of the program is in exit() or quick_exit().
std::atomic<bool> leaving{false};
thread_local bool leaves = false;
/// A thread ends the process at once: what exit() still has to do is over.
std::atomic<bool> leaving_at_once{false};
/// Process 0 has said that the job is over while a region was at work.
std::atomic<bool> released{false};
/// quick_exit does not tell its functions.
std::atomic<int> quick_status{0};

[[noreturn]] void leave_at_once(int status, Way way);

struct Leave {
  int status;
  Way way;
};

/// In a thread of its own: handlers must not wait.
void leave_by_thread(Leave how) {
  const auto leave = [](void* pointer) -> void* {
    const Leave wanted = *static_cast<Leave*>(pointer);
    // The carrier's thread, which may have started this one, takes no signals: the program's destructors need pages.
    sigset_t faults;
    sigemptyset(&faults);
    sigaddset(&faults, SIGSEGV);
    pthread_sigmask(SIG_UNBLOCK, &faults, nullptr);
    if (wanted.way == Way::exit) std::exit(wanted.status);
    if (wanted.way == Way::quick) std::quick_exit(wanted.status);
    leave_at_once(wanted.status, Way::at_once);
  };
  pthread_t thread{};
  if (pthread_create(&thread, nullptr, leave, new Leave(how)) != 0) end_job(how.status);
  pthread_detach(thread);
}

void on_leave(Received message) {  // NOLINT(performance-unnecessary-value-param)
  released.store(true, std::memory_order_release);
  const Head head = message.head();
  const auto way = static_cast<Way>(head.token);
  // relaxed: who is in exit() by now goes on by itself, unless another is to end what it does.
  const bool goes_on = (way == Way::at_once ? leaving_at_once : leaving).load(std::memory_order_relaxed);
  if (!goes_on) leave_by_thread({the_job.process == 0 ? static_cast<int>(head.small) : 0, way});
}

/// exit() in a region, not on process 0: that one leaves, and lets the others go.
void ask_to_leave(int status, Way way) {
  const Guard guard;
  // acquire: as it is released. Process 0 may have a reason of its own.
  if (released.load(std::memory_order_acquire)) return;
  send(0, Message(Kind::leave, static_cast<std::uint32_t>(status), static_cast<std::uint64_t>(way)));
  wait_until([] { return released.load(std::memory_order_acquire); });
}

/// Process 0: the others end, too.
void let_the_others_go(Way way) {
  if (the_job.processes == 1) return;
  if (in_serial_part()) {
    tell_the_end();
  } else {
    const Guard guard;
    for (int n = 1; n < the_job.processes; ++n) send(n, Message(Kind::leave, 0, static_cast<std::uint64_t>(way)));
  }
}

void end_messages() {
  static std::atomic<bool> begun{false};
  // relaxed: who comes second has nothing to do with what the first does.
  if (begun.exchange(true, std::memory_order_relaxed)) wait_for_the_end();
  report();
  end_carrier();
}

/// One thread ends the process, though all may find the same reason to.
void begin_to_leave(int status) {
  if (process_of_job != getpid()) return;
  if (!leaves && leaving.exchange(true, std::memory_order_relaxed)) wait_for_the_end();
  leaves = true;
  if (the_job.process > 0 && !served) ask_to_leave(status, Way::exit);
}

/// `way`: what process 0 has to do before.
[[noreturn]] void leave_at_once(int status, Way way) {
  status &= 0xFF;
  if (process_of_job == getpid() && !ended_here) {
    if (leaving_at_once.exchange(true, std::memory_order_relaxed)) wait_for_the_end();
    if (status != 0 && (way == Way::at_once || the_job.process == 0)) {
      // The launcher ends the others: that is at once.
      wait_until_read(STDOUT_FILENO);
      wait_until_read(STDERR_FILENO);
      end_job(status);
    }
    if (the_job.process > 0 && !served) ask_to_leave(status, way);
    if (the_job.process == 0) let_the_others_go(Way::at_once);
    end_messages();
    // MPICH 5.0.2 tells its launcher of the end in a function that only exit() calls; without that the launcher kills the others. What
    // the program has not written out stays so.
    static constinit Next<void(int)> exit("exit");
    end_without_exit();
    __fpurge(stdout);
    exit(status);
  }
  static constinit Next<void(int)> real("_exit");
  real(status);
  __builtin_unreachable();
}

/// The first that exit() calls: the MPI's own handlers come after.
void end_of_job(int status, void*) {
  if (is_child() == Child::of_first) run_ends_of_program();
  if (getpid() != process_of_job) return;
  begin_to_leave(status);  // a function of libc's may end the process: argp_parse
  if (the_job.process == 0) {
    run_ends_of_program();
    let_the_others_go(Way::exit);
  }
  end_messages();
}

/// The last that quick_exit() calls.
void end_of_quick_exit() {
  // relaxed: this thread has set it.
  if (getpid() == process_of_job) leave_at_once(quick_status.load(std::memory_order_relaxed), Way::quick);
}

}  // namespace

bool is_process_of_job() noexcept { return process_of_job == getpid(); }

void end_without_exit() noexcept { process_of_job = 0; }

void note_quick_exit() { std::at_quick_exit(end_of_quick_exit); }

void start_exit() {
  process_of_job = getpid();
  on(Kind::leave, on_leave);
  on_exit(end_of_job, nullptr);
}

}  // namespace plait::cluster

using namespace plait::cluster;

#define PLAIT_EXPORT extern "C" [[gnu::visibility("default")]] void

PLAIT_EXPORT exit(int status) noexcept {
  static constinit Next<void(int)> real("exit");
  begin_to_leave(status);
  real(status);
  __builtin_unreachable();
}

// What the program gave to at_quick_exit is done on process 0 only, as at exit().
PLAIT_EXPORT quick_exit(int status) noexcept {
  static constinit Next<void(int)> real("quick_exit");
  if (process_of_job == getpid() && the_job.process > 0) leave_at_once(status, Way::quick);
  begin_to_leave(status);
  quick_status.store(status, std::memory_order_relaxed);  // relaxed: for this thread
  real(status);
  __builtin_unreachable();
}

// Of the program only: an MPI that gives up ends its process, and must not wait for others.
PLAIT_EXPORT _exit(int status) {  // NOLINT(bugprone-reserved-identifier): POSIX's name
  if (allocates_shared(__builtin_return_address(0))) leave_at_once(status, Way::at_once);
  static constinit Next<void(int)> real("_exit");
  real(status);
  __builtin_unreachable();
}
PLAIT_EXPORT _Exit(int status) noexcept {  // NOLINT(bugprone-reserved-identifier): C's name
  if (allocates_shared(__builtin_return_address(0))) leave_at_once(status, Way::at_once);
  static constinit Next<void(int)> real("_Exit");
  real(status);
  __builtin_unreachable();
}
