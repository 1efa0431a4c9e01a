// Memory of an endpoint for payloads that do not fit into a cell, used again when the receiver has copied them.
#include <new>

#include "lane/endpoint.hpp"

namespace plait::lane {

using transport::Block;

Endpoint::OwnBlock* Endpoint::take_block(LaneOut& lane, Blocks& from) noexcept {
  OwnBlock* found = nullptr;
  for (std::size_t i = 0; i < from.blocks.size() && !found; ++i) {
    OwnBlock& own = from.blocks[from.next];
    from.next = from.next + 1 == from.blocks.size() ? 0 : from.next + 1;
    // acquire: the receiver has copied what was in it.
    if (own.block->busy.load(std::memory_order_acquire)) continue;
    give_back(own, from);
    found = &own;
  }
  if (lane.*from.used >= from.of_lane) return nullptr;
  if (!found && (from.blocks.size() < from.usual || (from.more && lane.*from.used == 0))) found = make_block(from);
  if (!found) return nullptr;
  found->user = &lane;
  ++(lane.*from.used);
  // relaxed: only the sender reads it before the cell is published.
  found->block->busy.store(1, std::memory_order_relaxed);
  return found;
}

Endpoint::OwnBlock* Endpoint::make_block(Blocks& of) noexcept {
  try {
    const Region::Place place = Node::get().region().take(sizeof(Block) + of.bytes);
    return &of.blocks.emplace_back(OwnBlock{static_cast<Block*>(place.memory), place.offset, nullptr});
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

void Endpoint::give_back(OwnBlock& own, const Blocks& to) noexcept {
  if (own.user) --(own.user->*to.used);
  own.user = nullptr;
  own.block->busy.store(0, std::memory_order_relaxed);
}

}  // namespace plait::lane
