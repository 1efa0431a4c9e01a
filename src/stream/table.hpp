// Communicators by handle: open addressing, read without a lock. Tables are replaced when they fill and never freed, for a
// reader may still look into an old one; each is twice as large as the one before, so all old ones together are smaller than
// the last.
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "stream/handle_bits.hpp"

namespace plait::stream {

struct Communicator;

struct Slot {
  static constexpr std::uintptr_t kEmpty = 0, kGone = 1;  // no communicator's handle
  std::atomic<std::uintptr_t> handle{kEmpty};
  std::atomic<Communicator*> communicator{nullptr};
};

struct Table {
  explicit Table(std::size_t count) : mask(count - 1), slots(new Slot[count]) {}
  std::size_t mask;
  std::unique_ptr<Slot[]> slots;
  std::size_t used = 0;  ///< slots that are not empty; under the lock

  static std::size_t hash(std::uintptr_t handle) noexcept { return (handle * 0x9E3779B97F4A7C15u) >> 32; }

  [[nodiscard]] Communicator* find(std::uintptr_t handle) const noexcept {
    for (std::size_t at = hash(handle);; ++at) {
      const Slot& slot = slots[at & mask];
      // acquire: the communicator was written before its handle.
      const std::uintptr_t seen = slot.handle.load(std::memory_order_acquire);
      if (seen == handle) return slot.communicator.load(std::memory_order_relaxed);
      if (seen == Slot::kEmpty) return nullptr;
    }
  }
  void insert(std::uintptr_t handle, Communicator* communicator) noexcept {
    std::size_t at = hash(handle);
    while (slots[at & mask].handle.load(std::memory_order_relaxed) > Slot::kGone) ++at;
    Slot& slot = slots[at & mask];
    if (slot.handle.load(std::memory_order_relaxed) == Slot::kEmpty) ++used;
    slot.communicator.store(communicator, std::memory_order_relaxed);
    slot.handle.store(handle, std::memory_order_release);
  }
  void erase(std::uintptr_t handle) noexcept {
    for (std::size_t at = hash(handle);; ++at) {
      Slot& slot = slots[at & mask];
      const std::uintptr_t seen = slot.handle.load(std::memory_order_relaxed);
      if (seen == handle) slot.handle.store(Slot::kGone, std::memory_order_relaxed);
      if (seen == handle || seen == Slot::kEmpty) return;
    }
  }
};

extern std::atomic<Table*> current;
/// How many there are: what every call on a communicator asks first. relaxed: who has a handle was given it after that.
extern std::atomic<int> communicators;

[[nodiscard]] inline bool communicators_exist() noexcept { return communicators.load(std::memory_order_relaxed) != 0; }

/// What stands behind a handle; null for an ordinary communicator. Only where there are some.
[[nodiscard]] inline Communicator* look_up(MPI_Comm handle) noexcept {
  // acquire: the table's slots.
  return current.load(std::memory_order_acquire)->find(to_bits(handle));
}

}  // namespace plait::stream
