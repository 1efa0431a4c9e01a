// What a process of GASPI's shows the others of its node. It lies in its region (base/shared_memory.hpp), zeroed at first.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <type_traits>

#include "base/event_count.hpp"
#include "base/shared_heap.hpp"
#include "gaspi/config.hpp"

namespace plait::gaspi {

/// Where a segment lies.
struct SegmentPlace {
  enum class Kind : std::uint32_t {
    allocated,  ///< in the file, behind the board
    heap,       ///< the program's memory, in a heap that others can map
    elsewhere,  ///< in memory of the process alone
  };
  RegionName file;  ///< of its board
  Kind kind = Kind::allocated;
  std::uint64_t bytes = 0;
  std::uint64_t address = 0;  ///< in its process
  SharedHeap::Place heap;
};
static_assert(std::is_trivially_copyable_v<SegmentPlace>);

/// A segment of the process's by its number.
class alignas(64) SegmentEntry {  // NOLINT(clang-analyzer-optin.performance.Padding): users write a line of their own
 public:
  /// Changes whenever a segment comes or goes; odd while there is one.
  [[nodiscard]] std::uint32_t version() const noexcept {
    // acquire: its place, and the pages.
    return version_.load(std::memory_order_acquire);
  }
  void publish(const SegmentPlace& place) noexcept {
    place_ = place;
    version_.fetch_add(1, std::memory_order_release);
  }
  void withdraw() noexcept { version_.fetch_add(1, std::memory_order_seq_cst); }
  /// False where there is none, or it has changed meanwhile.
  [[nodiscard]] bool read(SegmentPlace& place, std::uint32_t& version) const noexcept {
    version = this->version();
    if (version % 2 == 0) return false;
    place = place_;
    // The copy comes before the second look.
    std::atomic_thread_fence(std::memory_order_acquire);
    return version_.load(std::memory_order_relaxed) == version;
  }

  /// Those that write into memory of the program's are counted, so that it is the program's again when the segment is deleted. seq_cst, as
  /// withdraw() is: either the owner sees the count or the writer the new version.
  [[nodiscard]] bool enter(std::uint32_t version) noexcept {
    inside_.fetch_add(1, std::memory_order_seq_cst);
    if (version_.load(std::memory_order_seq_cst) == version) return true;
    leave();
    return false;
  }
  void leave() noexcept { inside_.fetch_sub(1, std::memory_order_release); }
  [[nodiscard]] bool has_users() const noexcept { return inside_.load(std::memory_order_seq_cst) > 0; }
  /// Before the next segment: one that was killed inside has never left.
  void forget_users() noexcept { inside_.store(0, std::memory_order_relaxed); }

 private:
  std::atomic<std::uint32_t> version_;
  SegmentPlace place_;
  alignas(64) std::atomic<std::int32_t> inside_;
};

/// Where a group's collective calls find the mailbox of this process.
struct GroupEntry {
  std::atomic<std::uint64_t> key;  ///< 0: none
  std::atomic<std::uint64_t> offset;
};

/// A passive message of one sender's process to this one.
struct alignas(64) PassiveSlot {
  enum State : std::uint32_t { kFree, kOffered, kTaken };
  std::atomic<std::uint32_t> state;
  std::uint32_t rank;           ///< of the sender
  std::uint64_t offset, bytes;  ///< of the message, in the sender's region
};

struct Control {
  EventCount bell;  ///< of all that this process waits for, but notifications
  std::atomic<std::uint32_t> ended;
  std::array<SegmentEntry, kSegments> segments;
  std::array<GroupEntry, kGroups> groups;
  /// Of the processes of the node, by their number in it: what is registered with them, a byte a segment; and their passive messages.
  [[nodiscard]] std::atomic<std::uint8_t>& registered(std::size_t local, std::uint32_t segment) noexcept {
    return reinterpret_cast<std::atomic<std::uint8_t>*>(this + 1)[local * kSegments + segment];
  }
  [[nodiscard]] PassiveSlot& passive(std::size_t local, std::size_t locals) noexcept {
    return reinterpret_cast<PassiveSlot*>(reinterpret_cast<std::byte*>(this + 1) + locals * kSegments)[local];
  }
  [[nodiscard]] static constexpr std::size_t bytes(std::size_t locals) noexcept {
    return sizeof(Control) + locals * (kSegments + sizeof(PassiveSlot));
  }
};
static_assert(kSegments % 64 == 0 && sizeof(Control) % 64 == 0);

}  // namespace plait::gaspi
