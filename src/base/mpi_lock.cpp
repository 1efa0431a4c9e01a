#include "base/mpi_lock.hpp"

#include <mutex>

namespace plait {

constinit std::atomic<bool> MpiLock::needed{false};

namespace {

constinit std::recursive_mutex mutex;

}  // namespace

void need_mpi_lock() noexcept { MpiLock::needed.store(true, std::memory_order_relaxed); }
bool mpi_lock_needed() noexcept { return MpiLock::needed.load(std::memory_order_relaxed); }

void MpiLock::lock() noexcept {
  mutex.lock();
  held_ = true;
}

void MpiLock::unlock() noexcept { mutex.unlock(); }

MpiTryLock::MpiTryLock() noexcept : may_(true) {
  if (mpi_lock_needed()) held_ = may_ = mutex.try_lock();
}

}  // namespace plait
