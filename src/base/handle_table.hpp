// Values by MPI handle: open addressing, read without a lock. Writers exclude each other. Handles are never 0 or 1.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace plait {

template <class Value>
struct HandleSlot {
  static constexpr std::uint64_t kEmpty = 0, kGone = 1;
  std::atomic<std::uint64_t> handle{kEmpty};
  std::atomic<Value> value{};
};

/// What both tables below do with their slots, of which there are mask + 1, a power of two.
template <class Value>
struct HandleSlots {
  using Slot = HandleSlot<Value>;

  static std::size_t hash(std::uint64_t handle) noexcept { return (handle * 0x9E3779B97F4A7C15u) >> 32; }

  [[nodiscard, gnu::always_inline]] static Value find(const Slot* slots, std::size_t mask, std::uint64_t handle, Value none) noexcept {
    for (std::size_t at = hash(handle);; ++at) {
      const Slot& slot = slots[at & mask];
      // acquire: the value was written before its handle.
      const std::uint64_t seen = slot.handle.load(std::memory_order_acquire);
      if (seen == handle) [[likely]]
        return slot.value.load(std::memory_order_relaxed);
      if (seen == Slot::kEmpty) return none;
    }
  }
  /// One that is not there, or is there with the same value. True if it took a slot that was empty.
  static bool insert(Slot* slots, std::size_t mask, std::uint64_t handle, Value value) noexcept {
    std::size_t at = hash(handle);
    while (slots[at & mask].handle.load(std::memory_order_relaxed) > Slot::kGone) {
      if (slots[at & mask].handle.load(std::memory_order_relaxed) == handle) return false;
      ++at;
    }
    Slot& slot = slots[at & mask];
    const bool was_empty = slot.handle.load(std::memory_order_relaxed) == Slot::kEmpty;
    slot.value.store(value, std::memory_order_relaxed);
    // release: the value.
    slot.handle.store(handle, std::memory_order_release);
    return was_empty;
  }
  static void erase(Slot* slots, std::size_t mask, std::uint64_t handle) noexcept {
    for (std::size_t at = hash(handle);; ++at) {
      Slot& slot = slots[at & mask];
      const std::uint64_t seen = slot.handle.load(std::memory_order_relaxed);
      if (seen == handle) slot.handle.store(Slot::kGone, std::memory_order_relaxed);
      if (seen == handle || seen == Slot::kEmpty) return;
    }
  }
};

/// For fewer values than Slots, of which none is ever taken out.
template <class Value, std::size_t Slots>
class FixedHandleTable {
 public:
  [[nodiscard]] Value find(std::uint64_t handle, Value none) const noexcept {
    return HandleSlots<Value>::find(slots_.data(), Slots - 1, handle, none);
  }
  void insert(std::uint64_t handle, Value value) noexcept { HandleSlots<Value>::insert(slots_.data(), Slots - 1, handle, value); }

 private:
  static_assert((Slots & (Slots - 1)) == 0);
  std::array<HandleSlot<Value>, Slots> slots_{};
};

/// Grows. Its slots are replaced when they fill and never freed, for a reader may still look into old ones; each time there are
/// twice as many, so all old ones together are fewer than the last.
template <class Value>
class HandleTable {
 public:
  constexpr HandleTable() noexcept : current_(&first_) {}
  HandleTable(const HandleTable&) = delete;
  HandleTable& operator=(const HandleTable&) = delete;

  [[nodiscard, gnu::always_inline]] Value find(std::uint64_t handle, Value none) const noexcept {
    // acquire: the slots. There always are some, so that who has found a hint that there are values finds a table, too.
    const Table& table = *current_.load(std::memory_order_acquire);
    return HandleSlots<Value>::find(table.slots, table.mask, handle, none);
  }
  /// Throws std::bad_alloc.
  void insert(std::uint64_t handle, Value value) {
    Table* table = current_.load(std::memory_order_relaxed);
    if (2 * (table->used + 1) > table->mask + 1) table = &grow(*table);
    table->used += HandleSlots<Value>::insert(table->slots, table->mask, handle, value) ? 1 : 0;
  }
  void erase(std::uint64_t handle) noexcept {
    const Table& table = *current_.load(std::memory_order_relaxed);
    HandleSlots<Value>::erase(table.slots, table.mask, handle);
  }

 private:
  struct Table {
    HandleSlot<Value>* slots;
    std::size_t mask;
    const Table* before = nullptr;  ///< the one that it replaces, so that nothing counts as lost
    std::size_t used = 0;           ///< slots that are not empty
  };

  Table& grow(const Table& old) {
    const std::size_t count = 2 * (old.mask + 1);
    auto slots = std::make_unique<HandleSlot<Value>[]>(count);
    auto table = std::make_unique<Table>(Table{slots.get(), count - 1, &old});
    for (std::size_t i = 0; i <= old.mask; ++i) {
      const std::uint64_t handle = old.slots[i].handle.load(std::memory_order_relaxed);
      if (handle <= HandleSlot<Value>::kGone) continue;
      HandleSlots<Value>::insert(table->slots, table->mask, handle, old.slots[i].value.load(std::memory_order_relaxed));
      ++table->used;
    }
    static_cast<void>(slots.release());  // NOLINT(bugprone-unused-return-value): they stay
    current_.store(table.get(), std::memory_order_release);
    return *table.release();
  }

  std::array<HandleSlot<Value>, 64> slots_{};
  Table first_{slots_.data(), slots_.size() - 1};
  std::atomic<Table*> current_;
};

}  // namespace plait
