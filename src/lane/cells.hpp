// What is written into cells and read from them: envelopes, and the small records of a rendezvous. Private to lane/.
#pragma once

#include <cstdint>
#include <cstring>

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

}  // namespace plait::lane
