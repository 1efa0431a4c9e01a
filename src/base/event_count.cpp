#include "base/event_count.hpp"

#include <linux/futex.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bit>
#include <climits>
#include <ctime>

#include "base/delay.hpp"

namespace plait {

constinit bool event_count_needs_fence = true;

bool event_count_begin() noexcept {
  static const bool ok = [] {
    constexpr long kNeeded = MEMBARRIER_CMD_GLOBAL_EXPEDITED | MEMBARRIER_CMD_PRIVATE_EXPEDITED;
    const long commands = syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0);
    if (commands < 0 || (commands & kNeeded) != kNeeded) return false;
    if (syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0) != 0) return false;
    if (syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) != 0) return false;
    event_count_needs_fence = false;  // here: later callers come while others read it
    return true;
  }();
  return ok;
}

namespace {

void barrier_by(int command) noexcept {
  // With the fence on the other side, one of the two sees the other's store.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (!event_count_needs_fence) syscall(SYS_membarrier, command, 0, 0);
}

}  // namespace

void barrier_in_all_threads() noexcept { barrier_by(MEMBARRIER_CMD_GLOBAL_EXPEDITED); }
void barrier_in_this_process() noexcept { barrier_by(MEMBARRIER_CMD_PRIVATE_EXPEDITED); }

std::uint32_t* EventCount::epoch() noexcept {
  static_assert(std::endian::native == std::endian::little && std::atomic<std::uint64_t>::is_always_lock_free);
  return reinterpret_cast<std::uint32_t*>(&word_) + 1;
}

EventCount::Key EventCount::prepare() noexcept {
  // relaxed: the barrier orders it before the second look.
  const auto key = static_cast<Key>(word_.fetch_add(1, std::memory_order_relaxed) >> kEpochShift);
  delay();
  barrier_in_all_threads();
  return key;
}

void EventCount::cancel(Key key) noexcept {
  std::uint64_t seen = word_.load(std::memory_order_relaxed);
  // In a later epoch this one has been taken out already. relaxed: it hands nothing over.
  while (seen >> kEpochShift == key && (seen & kSleepers) != 0) {
    if (word_.compare_exchange_weak(seen, seen - 1, std::memory_order_relaxed)) return;
  }
}

void EventCount::wait(Key key, std::chrono::nanoseconds longest) noexcept {
  timespec limit{};
  limit.tv_sec = static_cast<time_t>(longest.count() / 1'000'000'000);
  limit.tv_nsec = static_cast<long>(longest.count() % 1'000'000'000);
  delay();
  // Not private: the notifier may be another process. Returns at once in a later epoch.
  syscall(SYS_futex, epoch(), FUTEX_WAIT, key, &limit, nullptr, 0);
  cancel(key);
}

void EventCount::wake() noexcept {
  std::uint64_t seen = word_.load(std::memory_order_relaxed);
  // relaxed: what the sleepers must see was released before; they find the new epoch by the futex.
  while ((seen & kSleepers) != 0) {
    const std::uint64_t next = ((seen >> kEpochShift) + 1) << kEpochShift;
    if (!word_.compare_exchange_weak(seen, next, std::memory_order_relaxed)) continue;
    syscall(SYS_futex, epoch(), FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
    return;
  }
}

}  // namespace plait
