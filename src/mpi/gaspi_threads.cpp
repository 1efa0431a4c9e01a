// The exported functions of GASPI_Threads.h: threads that have numbers and meet.
#include "plait/GASPI_Threads.h"

#include <pthread.h>

#include <condition_variable>
#include <mutex>

#include "mpi/gaspi.hpp"
#include "progress/cores.hpp"

namespace plait::mpi {
namespace {

class Pool {
 public:
  gaspi_return_t begin(unsigned total) {
    const std::lock_guard guard(lock_);
    if (total_ > 0 || total == 0) return GASPI_ERROR;
    total_ = total;
    numbered_ = arrived_ = 0;
    ++use_;
    return GASPI_SUCCESS;
  }
  gaspi_return_t end() {
    const std::lock_guard guard(lock_);
    if (total_ == 0) return GASPI_ERROR;
    total_ = 0;
    return GASPI_SUCCESS;
  }
  [[nodiscard]] unsigned total() {
    const std::lock_guard guard(lock_);
    return total_;
  }

  /// The calling thread's number, which `make` gives it where it has none; -1: it has none.
  int number(bool make) {
    thread_local unsigned use = 0;
    thread_local int mine = -1;
    const std::lock_guard guard(lock_);
    if (use != use_) {
      mine = -1;
      if (make && numbered_ < total_) {
        mine = static_cast<int>(numbered_++);
        use = use_;
      }
    }
    return total_ > 0 ? mine : -1;
  }

  /// The last one to come calls `with`; all get what that gives.
  template <class With>
  gaspi_return_t meet(With with) {
    std::unique_lock guard(lock_);
    if (total_ <= 1) return with();
    if (++arrived_ < total_) {
      const std::uint64_t now = meeting_;
      over_.wait(guard, [&] { return meeting_ != now; });
      return result_;
    }
    arrived_ = 0;
    // The others wait, so nobody begins another meeting. Its time limit may be long: gaspi_threads_get_total shall not wait for it.
    guard.unlock();
    const gaspi_return_t result = with();
    guard.lock();
    result_ = result;
    ++meeting_;
    over_.notify_all();
    return result;
  }

 private:
  std::mutex lock_;
  std::condition_variable over_;
  unsigned total_ = 0, numbered_ = 0, arrived_ = 0;
  unsigned use_ = 0;  ///< of gaspi_threads_init, so far
  std::uint64_t meeting_ = 0;
  gaspi_return_t result_ = GASPI_SUCCESS;
};

/// Never destroyed: threads may outlive main.
Pool& pool() {
  static Pool& only = *new Pool;
  return only;
}

}  // namespace
}  // namespace plait::mpi

using namespace plait::mpi;

#pragma GCC visibility push(default)

extern "C" gaspi_return_t pgaspi_threads_init_user(unsigned total) {
  return gaspi_guarded([&] { return pool().begin(total); });
}
extern "C" gaspi_return_t pgaspi_threads_init(gaspi_int* num) {
  return gaspi_guarded([&] {
    if (!num) return GASPI_ERR_NULLPTR;
    const int all = plait::progress::cores();
    const gaspi_return_t begun = pool().begin(static_cast<unsigned>(all));
    return begun == GASPI_SUCCESS ? gaspi_give(num, all) : begun;
  });
}
extern "C" gaspi_return_t pgaspi_threads_term() {
  return gaspi_guarded([] { return pool().end(); });
}
extern "C" gaspi_return_t pgaspi_threads_run(void* (*function)(void*), void* argument) {
  return gaspi_guarded([&] {
    if (!function) return GASPI_ERR_NULLPTR;
    pthread_t thread{};
    if (pool().total() == 0 || pthread_create(&thread, nullptr, function, argument) != 0) return GASPI_ERROR;
    pthread_detach(thread);
    return GASPI_SUCCESS;
  });
}
extern "C" gaspi_return_t pgaspi_threads_register(gaspi_int* tid) {
  return gaspi_guarded([&] {
    if (!tid) return GASPI_ERR_NULLPTR;
    const int number = pool().number(true);
    return number < 0 ? GASPI_ERROR : gaspi_give(tid, number);
  });
}
extern "C" gaspi_return_t pgaspi_threads_get_tid(gaspi_int* tid) {
  return gaspi_guarded([&] {
    if (!tid) return GASPI_ERR_NULLPTR;
    const int number = pool().number(false);
    return number < 0 ? GASPI_ERROR : gaspi_give(tid, number);
  });
}
extern "C" gaspi_return_t pgaspi_threads_get_total(gaspi_int* num) {
  return gaspi_guarded([&] { return gaspi_give(num, pool().total()); });
}
extern "C" gaspi_return_t pgaspi_threads_get_num_cores(gaspi_int* num) { return gaspi_give(num, plait::progress::cores()); }
extern "C" void pgaspi_threads_sync() {
  static_cast<void>(gaspi_guarded([] { return pool().meet([] { return GASPI_SUCCESS; }); }));
}
extern "C" gaspi_return_t pgaspi_threads_sync_all(gaspi_group_t group, gaspi_timeout_t timeout) {
  return gaspi_guarded([&] { return pool().meet([&] { return pgaspi_barrier(group, timeout); }); });
}

PLAIT_GASPI_NAME(threads_get_tid);
PLAIT_GASPI_NAME(threads_get_total);
PLAIT_GASPI_NAME(threads_get_num_cores);
PLAIT_GASPI_NAME(threads_init);
PLAIT_GASPI_NAME(threads_init_user);
PLAIT_GASPI_NAME(threads_term);
PLAIT_GASPI_NAME(threads_run);
PLAIT_GASPI_NAME(threads_register);
PLAIT_GASPI_NAME(threads_sync);
PLAIT_GASPI_NAME(threads_sync_all);

#pragma GCC visibility pop
