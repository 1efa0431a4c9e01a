#include "base/parking.hpp"

#include <linux/futex.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <ctime>

namespace plait {

constinit bool parking_needs_fence = true;

bool parking_begin() noexcept {
  static const bool ok = [] {
    const long commands = syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0);
    if (commands < 0 || !(commands & MEMBARRIER_CMD_GLOBAL_EXPEDITED)) return false;
    if (syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0) != 0) return false;
    parking_needs_fence = false;  // here: later callers come while others read it
    return true;
  }();
  return ok;
}

void barrier_in_all_threads() noexcept {
  // With the fence on the other side, one of the two sees the other's store.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (!parking_needs_fence) syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0);
}

void ParkingSpot::prepare() noexcept {
  parked.store(1, std::memory_order_relaxed);
  barrier_in_all_threads();
}

void ParkingSpot::sleep(std::chrono::nanoseconds longest) noexcept {
  timespec limit{};
  limit.tv_sec = static_cast<time_t>(longest.count() / 1'000'000'000);
  limit.tv_nsec = static_cast<long>(longest.count() % 1'000'000'000);
  // Not private: the waker may be another process. Returns at once if the word is 0 by now.
  syscall(SYS_futex, &parked, FUTEX_WAIT, 1, &limit, nullptr, 0);
  parked.store(0, std::memory_order_relaxed);
}

void ParkingSpot::wake() noexcept {
  // Whoever takes the 1 away wakes; relaxed, because what the sleeper must see was released before.
  if (parked.exchange(0, std::memory_order_relaxed) != 0) syscall(SYS_futex, &parked, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace plait
