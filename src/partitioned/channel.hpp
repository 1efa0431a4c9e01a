// The memory of a channel inside a node: what the sender of a partitioned message and its receiver share. It lies in the
// sender's region.
//
// A round of a message moves in pieces. A piece goes through a cell of the ring, which any thread of the sender fills (they
// draw tickets) and the receiver empties; or, where the ring is full, its group is opened: then the receiver fetches it
// from the sender's buffer, or the sender puts it into the ring later, whoever claims it first.
//
// Buffers of MPI_Alloc_mem are mapped by the other side. Into a receiver's the sender puts pieces itself, once the receiver has
// started the round; the cell then only says so. What is opened in a sender's the receiver reads there. Both sides never copy
// at the same time: the cache lines of a buffer that are now one core's, now the other's, cost more than copying them.
//
//   group    some partitions that follow each other, the unit that is opened; how many depends on the round
//   units    bytes of the message, at least one: a message without bytes still has to arrive
//   round    how many times the request has been started; counted by both sides, modulo 2^32
//
// Who writes what: the sender the cells, `opened` and what its section says; the receiver its section; both `claims`, by
// compare-and-exchange. No MPI here.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>

#include "base/event_count.hpp"
#include "base/shared_heap.hpp"
#include "lane/node.hpp"

namespace plait::partitioned {

struct alignas(64) Cell {
  static constexpr std::size_t kSmall = 40;
  static constexpr std::uint32_t kPlaced = std::uint32_t{1} << 31;

  /// A piece that is placed, of a message of such a length: so large that telling of it is little, and that all pieces find a cell even
  /// if the receiver does not come; but not so large that `units` cannot say it.
  static constexpr std::uint64_t placed_piece(std::uint64_t length) noexcept {
    return std::clamp<std::uint64_t>(length / 16, 32768, std::uint64_t{1} << 30);
  }

  std::atomic<std::uint64_t> turn;  ///< the ticket plus one, once the rest is there; tickets are not used twice
  std::uint64_t begin;              ///< in the message
  std::uint32_t round;
  std::uint32_t units;      ///< 0: nothing is in it after all; with kPlaced: the bytes are in the receiver's buffer already
  std::byte small[kSmall];  ///< the bytes, if they are few
};
static_assert(sizeof(Cell) == 64);
static_assert(Cell::placed_piece(UINT64_MAX) < Cell::kPlaced);

/// The size of what follows the ChannelMemory.
struct Shape {
  std::uint32_t groups = 1;  ///< most that may be opened in a round
  std::uint32_t cells = 32;  ///< at most 64
  std::uint32_t rooms = 4;   ///< for the bytes of as many cells that follow each other
  std::uint32_t room_bytes = 64;

  /// For a message of so many bytes.
  static Shape of(std::uint64_t bytes, std::uint32_t groups) noexcept;

  [[nodiscard]] std::size_t words() const noexcept { return (std::size_t{groups} * 8 + 63) / 64 * 64; }
  [[nodiscard]] std::size_t bytes() const noexcept;
};

struct ChannelMemory {  // NOLINT(clang-analyzer-optin.performance.Padding): what one side writes has lines of its own
  enum State : std::uint32_t {
    kOffered,  ///< the receiver does not know it yet
    kMatched,  ///< set by the receiver, once its section is written
    kLeft,     ///< set by the receiver: it does not look here any more
  };

  // ---- the sender's; written before it is offered
  Shape shape;
  lane::Address sender_bell;
  std::uint64_t source;  ///< its lane::Memory, for a receiver in the same process
  // and from round to round
  std::atomic<std::uint32_t> pushing;     ///< a hint: somebody is in a completion call and will fill cells
  std::atomic<std::uint32_t> wants_room;  ///< and has found none for what is open
  // ---- the receiver's; seldom
  alignas(64) std::atomic<std::uint32_t> state;
  std::uint64_t part_bytes;  ///< of each of its partitions
  RegionName receiver;
  lane::Address receiver_bell;
  std::uint32_t direct;      ///< it is in the sender's process and copies from buffer to buffer: nothing goes through cells
  SharedHeap::Place buffer;  ///< its own
  std::uint64_t buffer_bytes;
  // ---- the receiver's, from piece to piece
  alignas(64) std::atomic<std::uint64_t> consumed;  ///< cells emptied, of those from the first on without a gap
  std::atomic<std::uint32_t> taking;                ///< a hint: somebody is in a completion call and will empty cells
  std::atomic<std::uint32_t> started;               ///< the round for which its buffer is free
  alignas(64) std::atomic<std::uint64_t> pulled;    ///< units fetched in all rounds

  /// Groups in the order in which they were opened: the round in the upper half, the group in the lower.
  [[nodiscard]] std::atomic<std::uint64_t>& opened(std::uint32_t at) noexcept { return words(0)[at]; }
  /// Up to where somebody has taken an opened group on himself: the position in the message, below kRoundShift, and the round.
  [[nodiscard]] std::atomic<std::uint64_t>& claims(std::uint32_t group) noexcept { return words(1)[group]; }
  /// Where an opened group ends. Written after its claim, so that who reads the end of a later round fails to claim in this one.
  [[nodiscard]] std::atomic<std::uint64_t>& ends(std::uint32_t group) noexcept { return words(2)[group]; }
  [[nodiscard]] Cell& cell(std::uint64_t ticket) noexcept {
    return reinterpret_cast<Cell*>(end() + 3 * shape.words())[ticket % shape.cells];
  }
  /// Where a cell has its bytes.
  [[nodiscard]] std::byte* data(std::uint64_t ticket, std::uint64_t units) noexcept {
    if (units <= Cell::kSmall) return cell(ticket).small;
    return end() + 3 * shape.words() + shape.cells * sizeof(Cell) + ticket % shape.rooms * std::size_t{shape.room_bytes};
  }

  static constexpr unsigned kRoundShift = 48;
  [[nodiscard]] static constexpr std::uint64_t claim_of(std::uint32_t round, std::uint64_t position) noexcept {
    return std::uint64_t{round} << kRoundShift | position;
  }
  static constexpr std::uint64_t kPosition = (std::uint64_t{1} << kRoundShift) - 1;

 private:
  [[nodiscard]] std::byte* end() noexcept { return reinterpret_cast<std::byte*>(this + 1); }
  [[nodiscard]] std::atomic<std::uint64_t>* words(int which) noexcept {
    return reinterpret_cast<std::atomic<std::uint64_t>*>(end() + static_cast<std::size_t>(which) * shape.words());
  }
};
static_assert(sizeof(ChannelMemory) % 64 == 0);

inline std::size_t Shape::bytes() const noexcept {
  return sizeof(ChannelMemory) + 3 * words() + cells * sizeof(Cell) + std::size_t{rooms} * room_bytes;
}

inline Shape Shape::of(std::uint64_t bytes, std::uint32_t groups) noexcept {
  // A piece this large is copied in about a microsecond, beside which handing it over is little; and what is on its way stays
  // in the cores' own caches.
  constexpr std::uint64_t kMostOfRoom = 16384;
  constexpr std::uint64_t kRooms = std::uint64_t{128} << 10;
  Shape s;
  s.groups = groups;
  s.room_bytes = static_cast<std::uint32_t>(std::clamp<std::uint64_t>((bytes + 63) / 64 * 64, 64, kMostOfRoom));
  s.rooms = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(kRooms / s.room_bytes, 4, s.cells));
  return s;
}

/// Groups that a channel has at most: their words lie in one piece of a region.
inline constexpr std::uint32_t kMostGroups = 16384;

}  // namespace plait::partitioned
