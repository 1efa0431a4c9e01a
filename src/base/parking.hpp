// Sleeping until somebody else has done something for us, without a lock or a fence on the side of the one that does it.
//
// The sleeper says that it will sleep (`prepare`), looks once more whether there is work, and sleeps (`sleep`) if there is
// none. The other side does the work with a release store and then calls `wake_if_parked`, whose only cost is a load of a
// word that rarely changes. That store and that load may not be reordered, or the wake-up is lost; x86 and others do reorder
// them. Instead of a fence in every message, the sleeper's `prepare` ends with a barrier in all running threads of the
// processes that take part (membarrier, global expedited): each of them either has made its store visible before it, then
// the sleeper's second look sees the work, or loads the word after it, then it sees that it must wake. Where the kernel
// has no such call, wake_if_parked has the fence. tests/models/parking.pml is the model of this.
//
// The word may lie in memory shared between processes.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace plait {

/// Once per process, before any other use: joins those that take part. True if the barrier is the kernel's.
bool parking_begin() noexcept;

/// Where the kernel has no barrier for others: stores of the waker need a fence of their own.
extern bool parking_needs_fence;

/// A full barrier here, and in all threads of the processes that take part; but where these have fences of their own.
void barrier_in_all_threads() noexcept;

struct alignas(64) ParkingSpot {
  std::atomic<std::uint32_t> parked{0};

  /// The owner will sleep unless it finds work now.
  void prepare() noexcept;
  /// It found some.
  void cancel() noexcept { parked.store(0, std::memory_order_relaxed); }
  /// Until woken or for so long. Spurious returns are allowed.
  void sleep(std::chrono::nanoseconds longest) noexcept;

  /// After a release store that the owner should see.
  void wake_if_parked() noexcept {
    if (parking_needs_fence) [[unlikely]]
      std::atomic_thread_fence(std::memory_order_seq_cst);
    // The compiler must not move the load up; the processor's reordering is the sleeper's business, see above.
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if (parked.load(std::memory_order_relaxed) != 0) [[unlikely]]
      wake();
  }

 private:
  [[gnu::noinline]] void wake() noexcept;
};

}  // namespace plait
