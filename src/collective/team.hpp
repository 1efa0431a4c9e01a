// The ranks of a communicator within one node, as they meet in memory that all of them see: all of its ranks, or those of one node where
// it spans several. A barrier or a small allreduce takes no more than one cache line handed from each rank to the others. One object for
// each rank, used by its thread alone. Ranks are numbered within the team here, in the communicator's order.
//
//   meeting  one step of the team. All ranks arrive at all meetings, in the same order: each writes what it brings, and waits for the
//            ranks whose data it needs, if any
//   flags    a rank's ArrivalFlags, in its process's memory: what it brings, and to which meeting. It has several slots, taken in
//            turn, so that ranks may run ahead of others by as many meetings
//   bulk     room for more than a slot holds. Filled in two halves in turn
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/event_count.hpp"
#include "base/shared_memory.hpp"
#include "lane/memory.hpp"
#include "p2p/message.hpp"

namespace plait::collective {

struct Rank;

struct ArrivalFlags {
  /// What a slot holds.
  static constexpr std::size_t kBytes = 8192;
  static constexpr std::uint32_t kSlots = 4;

  struct alignas(64) Slot {
    std::atomic<std::uint32_t> meeting;
    std::uint64_t bytes;  ///< that its rank has in this call
    alignas(16) std::byte data[kBytes];
  };

  alignas(64) std::atomic<std::uint32_t> asleep;    ///< of the lowest rank's flags: ranks of the team that may sleep
  alignas(64) std::atomic<std::uint32_t> departed;  ///< other ranks that have no more use for it
  std::array<Slot, kSlots> slots;
};

/// What a rank has of its process's region for as long as it meets others.
struct Room {
  plait::Region::Place flags;
  plait::Region::Place bulk{0, nullptr};
  std::size_t bulk_bytes = 0;
};

class Team {
 public:
  /// A meeting of more ranks is better made in several steps.
  static constexpr std::size_t kRanks = 32;

  /// Of these ranks of the communicator, ascending, with this one. Takes its ArrivalFlags from the region. Throws std::bad_alloc.
  Team(Rank& rank, std::vector<std::uint32_t> ranks);
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  /// Where they lie in the region, for the other ranks.
  [[nodiscard]] std::uint64_t offset() const noexcept { return room_.flags.offset; }
  /// Makes those of all ranks known.
  void connect(const std::vector<std::uint64_t>& offsets);

  [[nodiscard]] std::size_t size() const noexcept { return flags_.size(); }
  [[nodiscard]] std::size_t me() const noexcept { return me_; }

  // ---- a meeting: open, fill the slot, arrive; then wait for whom one likes

  /// Where this rank's news for the next meeting go.
  [[nodiscard]] ArrivalFlags::Slot& open(p2p::Call call);
  void arrive(std::uint64_t bytes = 0) noexcept;
  /// What that rank has brought, once it has. It stays until this rank has come to the next meeting.
  [[nodiscard]] const ArrivalFlags::Slot& of(std::size_t rank, p2p::Call call);
  void wait_for_all(p2p::Call call);
  /// Comes to the next meeting with nothing.
  void pass(p2p::Call call) {
    static_cast<void>(open(call));
    arrive();
  }
  void barrier(p2p::Call call) {
    pass(call);
    wait_for_all(call);
  }

  // ---- bulk

  /// Bytes that a rank can stage at once, and all ranks together of results.
  [[nodiscard]] std::size_t chunk() const noexcept { return chunk_; }
  /// What the others have to know of this rank's.
  struct Bulk {
    std::uint64_t offset;
    const void* mine;  ///< what ranks of the same process may look at
  };
  /// Gets it ready. An offset of 0: there is no memory.
  [[nodiscard]] Bulk begin_bulk(const void* mine);
  /// Room for data that the others read when they have come to the meeting that is open, and before they come to the next;
  /// once they have read what was there.
  [[nodiscard]] std::byte* stage(std::uint64_t chunk, p2p::Call call);
  /// That rank's room; its bulk is known.
  [[nodiscard]] std::byte* staged(std::size_t rank, std::uint64_t chunk) noexcept { return bulk_[rank] + turn(chunk) * chunk_; }
  /// The same for results. They are read as long, and written after a meeting of all.
  [[nodiscard]] std::byte* result(std::size_t rank, std::uint64_t chunk) noexcept {
    return bulk_[rank] + 2 * chunk_ + turn(chunk) * share_;
  }
  /// The call had so many chunks, from 0; on all ranks.
  void end_bulk(std::uint64_t chunks) noexcept { chunks_ += chunks; }
  /// Whether the other's memory is this process's.
  [[nodiscard]] bool is_near(std::size_t rank) const noexcept { return near_[rank] != 0; }
  /// Whether this is so of all.
  [[nodiscard]] bool in_one_process() const noexcept { return one_process_; }
  /// As that rank has said. Throws MPIError where it has none: in all ranks alike.
  void know_bulk(std::size_t rank, const Bulk& bulk);

 private:
  [[nodiscard]] std::size_t turn(std::uint64_t chunk) const noexcept { return (chunks_ + chunk) % 2; }
  [[nodiscard]] bool has_come(std::size_t rank, std::uint32_t meeting) const noexcept {
    // acquire: what it has brought. Meetings wrap around.
    const std::uint32_t seen = flags_[rank]->slots[meeting % ArrivalFlags::kSlots].meeting.load(std::memory_order_acquire);
    return static_cast<std::int32_t>(seen - meeting) >= 0;
  }
  void wait(std::size_t rank, std::uint32_t meeting, p2p::Call call);
  void wait_long(std::size_t rank, std::uint32_t meeting, p2p::Call call);
  void wait_for_all(std::uint32_t meeting, p2p::Call call);

  Rank& rank_;
  std::vector<std::uint32_t> ranks_;  ///< of the communicator
  bool others_;                       ///< it has ranks on other nodes, too
  std::size_t me_;
  Room room_;
  std::uint32_t meeting_ = 0;               ///< the last that this rank has opened
  std::uint32_t all_came_ = 0;              ///< to this one, as far as is known
  std::uint64_t chunks_ = 0;                ///< of earlier calls
  std::array<std::uint32_t, 2> read_by_{};  ///< who has come to this meeting has read what was staged last
  std::vector<ArrivalFlags*> flags_;
  std::vector<EventCount*> events_;  ///< where the ranks sleep
  std::vector<char> near_;
  std::vector<std::byte*> bulk_;
  bool one_process_ = true;
  std::size_t chunk_ = 0, share_ = 0;
};

}  // namespace plait::collective
