// What is written into cells and read from them: envelopes, and the small records of a rendezvous. Private to lane/.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "base/clock.hpp"
#include "lane/eager.hpp"
#include "lane/endpoint.hpp"
#include "lane/node.hpp"
#include "transport/ring.hpp"

namespace plait::lane {

template <class T>
[[nodiscard]] T read_payload(const transport::Cell& cell) noexcept {
  T value;
  std::memcpy(&value, cell.payload, sizeof value);
  return value;
}

template <class T>
void write_payload(transport::Cell& cell, const T& value) noexcept {
  static_assert(sizeof value <= transport::kInline);
  std::memcpy(cell.payload, &value, sizeof value);
}

/// The sender's, by its offset.
[[nodiscard]] inline transport::Block& block_at(const LaneIn& lane, std::uint64_t offset) noexcept {
  return *static_cast<transport::Block*>(lane.region->at(offset));
}

inline void write_envelope(transport::Cell& c, std::uint32_t context, std::uint32_t source, std::int32_t tag) noexcept {
  c.context = context;
  c.source = source;
  c.tag = tag;
}

/// There is room for the bytes, and for the cells of all pieces.
///
/// Through the caches each line has to be taken back from the core that has read what was there before; past them the receiver has to
/// fetch it from memory; and each piece has a cell, which both cores look at. What costs more depends on whether the two share a cache, and
/// on how the block was filled before. So one block always goes the fastest way, another the second, a third the last one. They are timed
/// when they went the same way before, too.
template <class Write>
void Endpoint::publish_block(LaneOut& lane, OwnBlock& own, const Memory& from, Part part, transport::Kind kind, Write write) noexcept {
  const bool chosen = kCanPassCaches && !from.layout && part.bytes > kSmallMessage;
  Choice<kFills>& choice = lane.fills[part.bytes <= kMediumMessage ? 0 : 1];
  const std::size_t way = chosen ? choice.at(own.place) : 0;
  const bool timed = chosen && own.timed && own.used == 0 && own.way == way;
  if (own.used == 0) own.way = chosen ? way : kFills;
  const std::uint64_t piece = piece_of(part.bytes, Fill{way});
  if (timed) [[unlikely]] {
    own.block->took = 0;
    own.sample = {&choice, way, part.bytes, 0};
  }
  const transport::InBlock where{own.offset, static_cast<std::uint32_t>(own.used), static_cast<std::uint32_t>(std::min(piece, part.bytes)),
                                 timed};
  std::byte* const to = own.block->data() + own.used;
  own.used += (part.bytes + sizeof(transport::Cell) - 1) / sizeof(transport::Cell) * sizeof(transport::Cell);  // whole lines
  ++own.filled;
  for (std::uint64_t at = 0; at < part.bytes; at += piece) {
    transport::Cell& cell = *lane.ring.cell();
    const std::uint64_t bytes = std::min(piece, part.bytes - at);
    const std::uint64_t start = timed ? now() : 0;
    (Fill{way} == Fill::past_caches ? pack_past_caches : pack)(from, part.begin + at, to + at, bytes);
    if (timed) [[unlikely]]
      own.sample.filled += now() - start;
    if (at == 0) write(cell, where);
    lane.ring.publish(cell, at == 0 ? kind : transport::Kind::kMore, at == 0 ? part.bytes : bytes);
  }
}

}  // namespace plait::lane
