// The lock around the MPI. Some MPIs let in only one thread at a time; then plait holds the lock in every call of the MPI's that
// may meet another thread's. Where the MPI needs no lock, none is taken.
//
// A thread that is blocked in the MPI keeps the lock, and it may wait for what others have to do meanwhile. So there is one order,
// outermost first: an endpoint's guard, this lock, the partitioned engine's lock, the `busy_` of its senders and receivers. A thread
// that holds one of the latter two, or visits an endpoint that is not its own, only tries this one, and does without if it is not let
// in. One that holds this lock asks for no endpoint. No lock but these is held while this one is asked for, save the helper's, under
// which functions of the program's run, and a channel's, which also only tries. Functions of the program's may run under this lock.
#pragma once

#include <atomic>

namespace plait {

/// From now on there has to be a lock: several threads may want to call an MPI that lets in one. It stays so.
void need_mpi_lock() noexcept;
[[nodiscard]] bool mpi_lock_needed() noexcept;

/// Waits until the lock is free. A thread may hold several of these, nested.
class MpiLock {
 public:
  MpiLock() noexcept {
    // relaxed: it is set while the communicator that needs it is made, and stays.
    if (needed.load(std::memory_order_relaxed)) [[unlikely]]
      lock();
  }
  ~MpiLock() {
    if (held_) [[unlikely]]
      unlock();
  }
  MpiLock(const MpiLock&) = delete;
  MpiLock& operator=(const MpiLock&) = delete;

 private:
  friend class MpiTryLock;
  friend void need_mpi_lock() noexcept;
  friend bool mpi_lock_needed() noexcept;
  [[gnu::noinline]] void lock() noexcept;
  static void unlock() noexcept;
  static std::atomic<bool> needed;
  bool held_ = false;
};

/// The same without waiting: true if the lock was free, or none is needed.
class MpiTryLock {
 public:
  MpiTryLock() noexcept;
  ~MpiTryLock() {
    if (held_) MpiLock::unlock();
  }
  MpiTryLock(const MpiTryLock&) = delete;
  MpiTryLock& operator=(const MpiTryLock&) = delete;
  explicit operator bool() const noexcept { return may_; }

 private:
  bool held_ = false;
  bool may_;
};

}  // namespace plait
