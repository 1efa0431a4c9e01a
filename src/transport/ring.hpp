// The memory of a lane inside a node: a ring of cells of one cache line, written by one endpoint and read by one other.
//
// A cell carries an envelope and up to kInline bytes of payload, or says where the payload lies: in a block of the sender's
// endpoint, or in the sender's own buffer. Everything lies in the sender's region and is found by offset.
//
// Who writes what: the sender all cells; the receiver `consumed`, the blocks' `emptied` and `took`, and the fields of a rendezvous that
// say so. No word is written by both without a read-modify-write.
//
// RingSender and RingReceiver are the two ends. Each is used by one thread at a time; the two share only the memory.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/delay.hpp"
#include "base/event_count.hpp"
#include "base/shared_heap.hpp"

namespace plait::transport {

enum class Kind : std::uint32_t {
  kInline,  ///< the payload is in the cell
  kBlock,   ///< the payload is in a block: InBlock
  kRts,     ///< the payload is still in the sender's buffer: Rts
  kChunk,   ///< a part of a payload that was offered before is in a block: Chunk
  kMore,    ///< the next piece of what is in the block before
};

inline constexpr std::size_t kInline = 44;
inline constexpr unsigned kKindShift = 28;

struct alignas(64) Cell {
  /// In the upper half the position in the lane plus one, once the rest is there: positions count cells since the lane was
  /// made, modulo 2^32, so a cell's value differs from lap to lap. In the lower half the kind (from kKindShift on) and the
  /// bytes in the cell or block. One store hands over a cell.
  std::atomic<std::uint64_t> head;
  std::uint32_t context;  ///< which communicator, by the receiver's number for it
  std::uint32_t source;   ///< which endpoint of it has sent
  std::int32_t tag;
  std::byte payload[kInline];
};
static_assert(sizeof(Cell) == 64);

/// Payload of Kind::kBlock. The first piece of it is there, others follow as Kind::kMore, so that it is emptied while it is filled.
struct InBlock {
  std::uint64_t block;     ///< offset
  std::uint32_t position;  ///< in the block
  std::uint32_t first;     ///< bytes in the first piece
  bool timed;              ///< the receiver says how long it takes to empty it
};

/// A message too large to be sent eagerly, or whose sender wants to know when it is matched.
struct Rts {
  std::uint64_t bytes;
  std::uint64_t address;     ///< of the buffer in the sender's process; 0: it is not contiguous
  std::uint64_t rendezvous;  ///< offset
  std::uint64_t operation;   ///< the sender's, for a receiver in the same process
  bool mappable;             ///< others can map the buffer: Rendezvous::from
};

/// Payload of Kind::kChunk; the envelope's source is the receive's slot.
struct Chunk {
  InBlock in;
  std::uint64_t position;  ///< in the message
};
static_assert(sizeof(Rts) <= kInline && sizeof(Chunk) <= kInline);

inline constexpr std::uint32_t kCells = 128;
/// Lines so far ahead are asked for beforehand, by the side that will write or read them.
inline constexpr std::uint32_t kAhead = 8;
/// The receiver tells how far it is every so many cells.
inline constexpr std::uint32_t kReportEvery = kCells / 4;

/// Blocks of the sender's endpoint take messages, one behind the other, and parts of larger ones.
inline constexpr std::size_t kSmallBlock = 8192;
inline constexpr std::size_t kLargeBlock = 32768;

/// Followed by its bytes. The sender may use it again when all that it has put there is emptied; until then it does not look at this line.
struct alignas(64) Block {
  std::atomic<std::uint32_t> emptied;  ///< how many the receiver has copied, since the block was made
  std::uint64_t took;                  ///< how long one of them took, in ns, where the sender wants to know; 0: not known

  [[nodiscard]] std::byte* data() noexcept { return reinterpret_cast<std::byte*>(this) + sizeof(Block); }
};
static_assert(sizeof(Block) == 64);

/// The meeting of two sides over a payload that stays where it is until it is wanted.
struct alignas(64) Rendezvous {
  enum : std::uint32_t {
    kFree,     ///< unused; set by the receiver when it needs nothing more from the sender
    kRtsSent,  ///< set by the sender
    kCts,      ///< set by the receiver when it has matched: `wanted` and `receive` are there
  };
  std::atomic<std::uint32_t> state;
  std::uint32_t receive;                ///< the receive's slot, by which the receiver knows its chunks
  std::uint64_t wanted;                 ///< bytes the receiver has room for
  std::atomic<std::uint64_t> position;  ///< bytes that one of the sides has taken on itself to move, from the front
  std::uint64_t address;                ///< of the receiver's buffer; 0 if only chunks may come
  std::atomic<std::uint64_t> written;   ///< bytes that the sender has put there
  /// Where a part begins, plus one, that the receiver could not read: the sender puts it into chunks. 0: there is none.
  std::atomic<std::uint64_t> returned;
  bool reads;     ///< the receiver has mapped the sender's buffer, and moves whatever the sender does not
  bool mappable;  ///< the sender can map the receiver's buffer
  /// Where the buffers lie that the other side can map, as Rts::mappable and the word above say.
  alignas(64) SharedHeap::Place from;
  SharedHeap::Place to;
};
static_assert(sizeof(Rendezvous) == 128);

/// What others of the node see of an endpoint.
struct alignas(64) EndpointMemory {
  /// Lanes made toward this endpoint that it does not know yet: a stack. An entry is the maker's region (upper
  /// half) and the offset of its lane there divided by 64, plus one; 0 is the end.
  std::atomic<std::uint64_t> new_lanes;
  EventCount event;
};

struct alignas(64) LaneMemory {
  std::atomic<std::uint32_t> consumed;  ///< cells that the receiver has emptied
  std::uint64_t next_new;               ///< the next in EndpointMemory::new_lanes
  std::uint64_t sender;                 ///< offset of the sender's EndpointMemory
  Cell cells[kCells];
};

/// The sending end. Without memory it is always full, and there is nobody to notify.
class RingSender {
 public:
  RingSender() = default;
  /// Positions begin at `first`, `memory.consumed` with them. `receiver` is notified of each cell.
  RingSender(LaneMemory& memory, EventCount& receiver, std::uint32_t first = 0) noexcept
      : memory_(&memory), receiver_(&receiver), position_(first), limit_(first) {}

  /// The next cell to write, or null where the ring is full. It stays the next until it is published.
  [[nodiscard, gnu::always_inline]] Cell* cell() noexcept {
    if (position_ == limit_) [[unlikely]] {
      if (!memory_) return nullptr;
      // acquire: pairs with the store in RingReceiver::poll. The receiver has read what is overwritten next.
      limit_ = memory_->consumed.load(std::memory_order_acquire) + kCells;
      if (position_ == limit_) return nullptr;
    }
    return &memory_->cells[position_ % kCells];
  }
  /// Can so many cells be written?
  [[nodiscard]] bool has_room(std::uint32_t cells) noexcept {
    if (limit_ - position_ >= cells) return true;
    if (memory_) limit_ = memory_->consumed.load(std::memory_order_acquire) + kCells;  // acquire: as in cell()
    return limit_ - position_ >= cells;
  }
  /// Hands over the cell, once all but its head is written.
  [[gnu::always_inline]] void publish(Cell& c, Kind kind, std::size_t bytes) noexcept {
    ++position_;
    delay();
    // release: pairs with the load in RingReceiver::poll. Envelope, payload, and what they point to.
    c.head.store(std::uint64_t{position_} << 32 | static_cast<std::uint32_t>(kind) << kKindShift | static_cast<std::uint32_t>(bytes),
                 std::memory_order_release);
    __builtin_prefetch(&memory_->cells[(position_ + kAhead) % kCells], 1);
    delay();
    receiver_->notify();
  }
  /// Something else has changed that the receiver may wait for.
  void notify_receiver() const noexcept { receiver_->notify(); }

 private:
  LaneMemory* memory_ = nullptr;
  EventCount* receiver_ = nullptr;
  std::uint32_t position_ = 0;  ///< cells written
  std::uint32_t limit_ = 0;     ///< cells that may be written until `consumed` is looked at again
};

/// The receiving end.
class RingReceiver {
 public:
  /// `sender` is notified where there is room again, and by notify_sender().
  RingReceiver(LaneMemory& memory, EventCount& sender, std::uint32_t first = 0) noexcept
      : memory_(&memory), sender_(&sender), position_(first) {}

  /// Up to `most` cells, in order: take(cell, kind, bytes). A cell is the receiver's only for the length of that call. True if
  /// there was any.
  template <class Take>
  [[gnu::always_inline]] bool poll(int most, Take take) noexcept {
    bool moved = false;
    for (int i = 0; i < most; ++i) {
      const Cell& cell = memory_->cells[position_ % kCells];
      // acquire: pairs with the store in RingSender::publish.
      const std::uint64_t head = cell.head.load(std::memory_order_acquire);
      if (head >> 32 != position_ + 1) break;
      // Only where cells come in a row: a line that the sender has yet to write had better stay with it.
      if (i > 0) __builtin_prefetch(&memory_->cells[(position_ + kAhead / 2) % kCells]);
      const auto low = static_cast<std::uint32_t>(head);
      take(cell, static_cast<Kind>(low >> kKindShift), low & ((std::uint32_t{1} << kKindShift) - 1));
      moved = true;
      if (++position_ % kReportEvery == 0) {
        // release: pairs with the load in RingSender::cell. The cells have been read.
        memory_->consumed.store(position_, std::memory_order_release);
        delay();
        sender_->notify();
      }
    }
    return moved;
  }
  /// Something else has changed that the sender may wait for.
  void notify_sender() const noexcept { sender_->notify(); }

 private:
  LaneMemory* memory_;
  EventCount* sender_;
  std::uint32_t position_;  ///< cells emptied
};

}  // namespace plait::transport
