// A lock that costs its usual user next to nothing. The owner, one thread at a time, takes it by a store and a load; others,
// who come rarely, pay for both with a barrier in all running threads (membarrier, as in base/parking.hpp).
//
// The owner stores `inside` and then loads `visitor`; these two may be reordered. A visitor stores `visitor`, has the barrier
// run and then loads `inside`: any owner either made its store visible before the barrier, then the visitor sees it and
// leaves; or loads `visitor` after it, then it sees the visitor and steps back. tests/models/biased_lock.pml is the model.
#pragma once

#include <atomic>
#include <mutex>

#include "base/parking.hpp"

namespace plait {

class BiasedLock {
 public:
  /// The owner's. Waits for a visitor, who never stays long.
  void lock() noexcept {
    inside_.store(true, std::memory_order_relaxed);
    owner_fence();
    // acquire: what the last visitor did.
    if (visitor_.load(std::memory_order_acquire)) [[unlikely]]
      yield_to_visitor();
  }
  /// release: what the owner did, for the next visitor.
  void unlock() noexcept { inside_.store(false, std::memory_order_release); }

  /// Anybody else's; false if the owner or another visitor is inside.
  [[nodiscard]] bool visit() noexcept;
  void leave() noexcept;

 private:
  static void owner_fence() noexcept {
    if (parking_needs_fence) [[unlikely]]
      std::atomic_thread_fence(std::memory_order_seq_cst);
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
  [[gnu::noinline]] void yield_to_visitor() noexcept;

  std::atomic<bool> inside_{false};
  std::atomic<bool> visitor_{false};
};

}  // namespace plait
