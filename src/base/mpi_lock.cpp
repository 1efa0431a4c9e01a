#include "base/mpi_lock.hpp"

#include <sched.h>

#include <mutex>

#include "base/delay.hpp"

namespace plait {

constinit std::atomic<bool> MpiLock::needed{false};

namespace {

constinit std::mutex mutex;
/// Whoever waits for the lock holds this. A thread that leaves and comes again at once, as one does that asks in a loop, would
/// otherwise be back before another has woken, again and again.
constinit std::mutex turn;
/// How often this thread is in.
thread_local int depth = 0;

/// For a moment as one that waits: a thread that asks the MPI in a loop has the lock nearly always. One that is blocked in the MPI
/// keeps it.
bool try_as_next() noexcept {
  constexpr int kTries = 50;
  const std::unique_lock guard(turn, std::try_to_lock);
  for (int i = 0; guard && i < kTries; ++i) {
    sched_yield();
    if (mutex.try_lock()) return true;
  }
  return false;
}

}  // namespace

void need_mpi_lock() noexcept { MpiLock::needed.store(true, std::memory_order_relaxed); }
bool mpi_lock_needed() noexcept { return MpiLock::needed.load(std::memory_order_relaxed); }

void MpiLock::lock() noexcept {
  if (depth == 0) {
    const std::lock_guard guard(turn);
    mutex.lock();
  }
  ++depth;
  held_ = true;
}

void MpiLock::unlock() noexcept {
  if (--depth == 0) mutex.unlock();
  delay();
}

MpiTryLock::MpiTryLock() noexcept : may_(true) {
  if (!mpi_lock_needed()) return;
  held_ = may_ = depth > 0 || mutex.try_lock() || try_as_next();
  if (held_) ++depth;
}

}  // namespace plait
