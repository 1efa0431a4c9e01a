// A lock that costs its usual user next to nothing. The owner, one thread at a time, takes it by a store and a load; others,
// who come rarely, pay for both with a barrier in all running threads of the process (membarrier, as in base/event_count.hpp).
//
// The owner stores that it is inside and then loads `visitor`; these two may be reordered. A visitor stores `visitor`, has the
// barrier run and then loads `uses`: any owner either made its store visible before the barrier, then the visitor sees it and
// leaves; or loads `visitor` after it, then it sees the visitor and steps back. tests/models/biased_lock.pml is the model.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/delay.hpp"
#include "base/event_count.hpp"

namespace plait {

class BiasedLock {
 public:
  /// The owner's. Waits for a visitor, who never stays long.
  [[gnu::always_inline]] void lock() noexcept {
    // relaxed, and no read-modify-write: only the owner writes it.
    uses_.store(uses_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    delay();
    owner_fence();
    // acquire: what the last visitor did.
    if (visitor_.load(std::memory_order_acquire)) [[unlikely]]
      yield_to_visitor();
  }
  /// release: what the owner did, for the next visitor.
  [[gnu::always_inline]] void unlock() noexcept { uses_.store(uses_.load(std::memory_order_relaxed) + 1, std::memory_order_release); }

  /// Anybody else's; false if the owner or another visitor is inside.
  [[nodiscard]] bool visit() noexcept;
  void leave() noexcept;

  /// Changes whenever the owner comes and goes; odd while it is inside. A hint that tells an owner at work from one that is
  /// elsewhere.
  [[nodiscard]] std::uint32_t uses() const noexcept { return uses_.load(std::memory_order_relaxed); }

 private:
  static constexpr bool is_inside(std::uint32_t uses) noexcept { return (uses & 1) != 0; }
  [[gnu::always_inline]] static void owner_fence() noexcept {
    if (event_count_needs_fence) [[unlikely]]
      std::atomic_thread_fence(std::memory_order_seq_cst);
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
  [[gnu::noinline]] void yield_to_visitor() noexcept;

  std::atomic<std::uint32_t> uses_{0};
  std::atomic<bool> visitor_{false};
};

}  // namespace plait
