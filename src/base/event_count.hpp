// An event count: threads sleep on it until somebody else has done something for them, without a lock or a fence on the side
// of the one that does it.
//
// A sleeper announces itself (`prepare`), looks once more whether there is work, and sleeps (`wait`) if there is none. The other
// side does the work with a release store and then calls `notify`, whose only cost is a load of a word that rarely changes. That
// store and that load may not be reordered, or the wake-up is lost; x86 and others do reorder them. Instead of a fence in every
// message, the sleeper's `prepare` ends with a barrier in all running threads of the processes that take part (membarrier,
// global expedited): each of them either has made its store visible before it, then the sleeper's second look sees the work, or
// loads the word after it, then it sees that it must wake. Where the kernel has no such call, `notify` has the fence.
// tests/models/event_count.pml is the model of this.
//
// Any number of threads may sleep on one; a notification wakes them all. It may lie in memory shared between processes; zeroes
// are a new one.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace plait {

/// Once per process, before any other use: joins those that take part. True if the barrier is the kernel's.
bool event_count_begin() noexcept;

/// Where the kernel has no barrier for others: stores of the notifier need a fence of their own.
extern bool event_count_needs_fence;

/// A full barrier here, and in all threads of the processes that take part, or only in those of this process. Those that have
/// fences of their own are left out.
void barrier_in_all_threads() noexcept;
void barrier_in_this_process() noexcept;

class alignas(64) EventCount {
 public:
  using Key = std::uint32_t;

  /// The caller will sleep unless it finds work now.
  [[nodiscard]] Key prepare() noexcept;
  /// It has found some.
  void cancel(Key key) noexcept;
  /// Sleeps until notified since `prepare`, or for so long. Returns early now and then.
  void wait(Key key, std::chrono::nanoseconds longest) noexcept;

  /// After a release store that the sleepers should see. Any thread.
  [[gnu::always_inline]] void notify() noexcept {
    if (event_count_needs_fence) [[unlikely]]
      std::atomic_thread_fence(std::memory_order_seq_cst);
    // The compiler must not move the load up; the processor's reordering is the sleeper's business, see above.
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if ((word_.load(std::memory_order_relaxed) & kSleepers) != 0) [[unlikely]]
      wake();
  }

 private:
  static constexpr std::uint64_t kSleepers = 0xFFFFFFFF;
  static constexpr unsigned kEpochShift = 32;

  [[gnu::noinline]] void wake() noexcept;
  [[nodiscard]] std::uint32_t* epoch() noexcept;

  /// In the upper half the epoch, which a notification that finds sleepers moves on; in the lower half how many have announced
  /// themselves in this epoch. Whoever moves it on takes them all out, so that one notification makes one system call.
  std::atomic<std::uint64_t> word_{0};
};

}  // namespace plait
