// Memory of an endpoint for payloads that do not fit into a cell, used again when the receiver has copied them; and how it is filled and
// emptied.
#include <algorithm>
#include <new>
#include <utility>

#include "base/clock.hpp"
#include "lane/cells.hpp"
#include "lane/eager.hpp"
#include "lane/endpoint.hpp"
#include "progress/cores.hpp"

namespace plait::lane {

using transport::Block;
using transport::InBlock;

namespace {

/// One more block is used in turn for so many that were taken.
constexpr std::uint32_t kTakenPerBlock = 8;

/// What is known of an empty block's last use.
void take_sample(OwnBlock& own) noexcept {
  if (Choice<kFills>* const of = std::exchange(own.sample.of, nullptr); of && own.block->took != 0)
    of->took(own.sample.way, own.sample.bytes, own.sample.filled + own.block->took);
}

}  // namespace

OwnBlock* Endpoint::take_room(LaneOut& lane, Blocks& from, std::uint64_t bytes) noexcept {
  BlocksOfLane& its = lane.*from.lanes;
  OwnBlock* own = its.current;
  if (own && own->used + bytes <= from.bytes) [[likely]]
    return own;
  if (own && from.in_turn == 0 && own->is_empty()) {
    take_sample(*own);
    own->used = 0;
    return own;
  }
  own = take_block(lane, from);
  if (own) its.current = own;
  return own;
}

OwnBlock* Endpoint::take_block(LaneOut& lane, Blocks& from) noexcept {
  BlocksOfLane& its = lane.*from.lanes;
  OwnBlock* found = nullptr;
  // Pages that are touched for the first time cost more than is gained by them in a short program; and where threads that outnumber cores
  // share a core's caches, nothing is.
  if (its.count < from.in_turn && from.blocks.size() < from.usual && ++from.taken % kTakenPerBlock == 0 && !progress::oversubscribed())
    found = make_block(from);
  for (std::size_t i = 0; i < from.blocks.size() && !found; ++i) {
    OwnBlock& own = from.blocks[from.next];
    from.next = from.next + 1 == from.blocks.size() ? 0 : from.next + 1;
    if (!own.is_empty()) continue;
    take_back(own, from);
    found = &own;
  }
  if (its.count >= from.of_lane) return nullptr;
  if (!found && (from.blocks.size() < from.usual || (from.more && its.count == 0))) found = make_block(from);
  if (!found) return nullptr;
  found->user = &lane;
  ++its.count;
  return found;
}

OwnBlock* Endpoint::make_block(Blocks& of) noexcept {
  try {
    const Region::Place place = Node::get().region().take(sizeof(Block) + of.bytes);
    OwnBlock& made = of.blocks.emplace_back(OwnBlock{static_cast<Block*>(place.memory), place.offset});
    // Some of those that are used in turn say how they are best filled.
    if (of.in_turn > 0 && of.blocks.size() <= kFills) {
      made.timed = true;
      made.place = of.blocks.size() - 1;
    }
    return &made;
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

/// From the lane that has it; it is empty.
void Endpoint::take_back(OwnBlock& own, const Blocks& of) noexcept {
  if (LaneOut* const lane = std::exchange(own.user, nullptr)) {
    BlocksOfLane& its = lane->*of.lanes;
    --its.count;
    if (its.current == &own) its.current = nullptr;
  }
  own.used = 0;
  take_sample(own);
}

void Endpoint::take_first(LaneIn& lane, InBlock where, const Arriving& arriving) noexcept {
  lane.arriving = arriving;
  lane.arriving.block = &block_at(lane, where.block);
  lane.arriving.from = lane.arriving.block->data() + where.position;
  lane.arriving.timed = where.timed;
  take_piece(lane, where.first);
}

void Endpoint::take_piece(LaneIn& lane, std::uint64_t bytes) noexcept {
  Arriving& a = lane.arriving;
  const std::uint64_t start = a.timed ? now() : 0;
  empty(a, bytes);
  a.emptied += bytes;
  if (a.timed) [[unlikely]]
    a.took += now() - start;
  if (a.emptied < a.bytes) return;
  if (a.timed) a.block->took = a.took;
  // release: we have read it. Nobody else writes this as long as the sender has something here.
  a.block->emptied.store(a.block->emptied.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  lane.ring.notify_sender();
  a.block = nullptr;
  a.message = nullptr;
  Operation* const receive = std::exchange(a.receive, nullptr);
  if (!receive) return;
  if (a.chunk) {
    end_chunk(*receive, a.bytes);
  } else {
    receive->received = receive->wanted;
    end(*receive);
  }
}

/// The next piece, of so many bytes.
void Endpoint::empty(Arriving& a, std::uint64_t bytes) noexcept {
  const std::byte* const from = a.from + a.emptied;
  const std::uint64_t at = a.begin + a.emptied;
  if (a.receive) {
    if (at < a.receive->wanted) unpack(from, a.receive->memory, at, std::min(bytes, a.receive->wanted - at));
  } else if (a.message) {
    a.message->keep(from, bytes);
  }
}

}  // namespace plait::lane
