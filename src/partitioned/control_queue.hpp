// A queue in shared memory into which any thread of any process of the node puts, and of which one takes. No MPI here.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "base/delay.hpp"

namespace plait::partitioned {

/// Zeroed memory is an empty one.
template <class T>
class ControlQueue {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  static constexpr std::uint64_t kSlots = 64;

  /// Any thread. False where it is full.
  [[nodiscard]] bool put(const T& value) noexcept {
    std::uint64_t ticket = next_.load(std::memory_order_relaxed);
    for (;;) {
      Slot& slot = slots_[ticket % kSlots];
      // acquire: it has been read.
      const std::uint64_t turn = slot.turn.load(std::memory_order_acquire);
      if (turn < free_for(ticket)) return false;
      if (turn > free_for(ticket)) {  // somebody else's by now
        ticket = next_.load(std::memory_order_relaxed);
      } else if (next_.compare_exchange_weak(ticket, ticket + 1, std::memory_order_relaxed)) {
        slot.value = value;
        delay();
        slot.turn.store(turn + 1, std::memory_order_release);
        return true;
      }
    }
  }

  /// One thread at a time, which keeps how many it has taken. False where there is none.
  [[nodiscard]] bool take(std::uint64_t& taken, T& value) noexcept {
    Slot& slot = slots_[taken % kSlots];
    // acquire: the value.
    const std::uint64_t turn = slot.turn.load(std::memory_order_acquire);
    if (turn != free_for(taken) + 1) return false;
    value = slot.value;
    slot.turn.store(turn + 1, std::memory_order_release);
    ++taken;
    return true;
  }

 private:
  /// Each round through the slots takes two turns of each: it is filled and emptied.
  static constexpr std::uint64_t free_for(std::uint64_t ticket) noexcept { return ticket / kSlots * 2; }

  struct alignas(64) Slot {
    std::atomic<std::uint64_t> turn;
    T value;
  };

  alignas(64) std::atomic<std::uint64_t> next_;
  Slot slots_[kSlots];
};

}  // namespace plait::partitioned
