#include "shan/elements.hpp"

#include <algorithm>
#include <cstring>
#include <string>

#include "layout/pieces.hpp"
#include "shan/failure.hpp"

namespace plait::shan {
namespace {

/// Where element k lies. Throws Failure.
std::byte* place(const Elements& e, std::int64_t k) {
  const auto offset = static_cast<std::uint64_t>(e.offset[k]);  // a negative one is beyond all memory
  const auto length = static_cast<std::uint64_t>(e.length);
  if (length > e.memory_bytes || offset > e.memory_bytes - length) {
    throw Failure("element " + std::to_string(k) + " at offset " + std::to_string(e.offset[k]) + " is not within the segment's " +
                  std::to_string(e.memory_bytes) + " bytes");
  }
  return e.memory + offset;
}

/// Elements as a layout has them. The node's tables live in `arena`.
layout::Placed placed(layout::Arena& arena, const Elements& e) {
  std::vector<layout::Run> runs;
  runs.reserve(static_cast<std::size_t>(e.count));
  for (std::int64_t k = 0; k < e.count; ++k) runs.push_back({place(e, k) - e.memory, e.length});
  return layout::concatenate(arena, std::move(runs));
}

/// Lies all of it within the memory?
void check_reach(const Elements& e) {
  const auto within = [&e](const layout::Piece& piece) {
    const std::intptr_t last = piece.at + (piece.count - 1) * piece.stride + (piece.planes - 1) * piece.plane_stride;
    const auto end = static_cast<std::intptr_t>(e.memory_bytes);
    const auto inside = [&](std::intptr_t at) { return at >= 0 && at <= end && piece.run <= end - at; };
    bool all = inside(piece.at) && (piece.table || inside(last));
    // Strides may be negative in one direction and not in the other: the other two corners.
    if (piece.planes > 1)
      all = all && inside(piece.at + (piece.count - 1) * piece.stride) && inside(last - (piece.count - 1) * piece.stride);
    for (std::int64_t i = 0; piece.table && i < piece.count; ++i) all = all && inside(piece.at + piece.table[i]);
    expect(all, "the datatype reaches beyond the segment");
  };
  layout::visit_node(e.layout->node(), e.layout->offset(), within);
}

layout::Buffer buffer(const Elements& e) { return {*e.layout, e.memory, 1}; }

template <std::size_t kLength>
void copy_elements(const Elements& from, const Elements& to) {
  for (std::int64_t k = 0; k < from.count; ++k) std::memcpy(place(to, k), place(from, k), kLength);
}

/// Both by offsets.
void copy_lists(const Elements& from, const Elements& to) {
  if (from.length == to.length) {
    if (from.length == 8) return copy_elements<8>(from, to);
    for (std::int64_t k = 0; k < from.count; ++k) std::memcpy(place(to, k), place(from, k), static_cast<std::size_t>(from.length));
    return;
  }
  std::int64_t in_from = 0;
  std::int64_t in_to = 0;
  for (std::int64_t k = 0, n = 0; k < from.count && n < to.count;) {
    const std::int64_t bytes = std::min(from.length - in_from, to.length - in_to);
    std::memcpy(place(to, n) + in_to, place(from, k) + in_from, static_cast<std::size_t>(bytes));
    in_from += bytes;
    in_to += bytes;
    if (in_from == from.length) {
      in_from = 0;
      ++k;
    }
    if (in_to == to.length) {
      in_to = 0;
      ++n;
    }
  }
}

void check_same(std::int64_t sent, std::int64_t received) {
  if (sent == received) return;
  throw Failure("the neighbour sends " + std::to_string(sent) + " bytes, and " + std::to_string(received) + " are to be received");
}

/// With the layout of a list where the other side has a datatype.
template <class Do>
void with_layout(const Elements& e, Do act) {
  if (e.layout) {
    act(e);
    return;
  }
  layout::Arena arena;
  const layout::Placed shape = placed(arena, e);
  const layout::Layout made(std::move(arena), shape, e.bytes());
  Elements as_layout = e;
  as_layout.layout = &made;
  act(as_layout);
}

}  // namespace

void copy(const Elements& from, const Elements& to) {
  check_same(from.bytes(), to.bytes());
  if (from.bytes() == 0) return;
  if (!from.layout && !to.layout) return copy_lists(from, to);
  if (from.layout) check_reach(from);
  if (to.layout) check_reach(to);
  with_layout(from, [&to](const Elements& f) {
    with_layout(to, [&f](const Elements& t) { layout::copy(buffer(f), 0, buffer(t), 0, f.bytes()); });
  });
}

void gather(const Elements& from, std::span<std::byte> to) {
  if (from.layout) {
    check_reach(from);
    layout::pack(buffer(from), 0, to);
    return;
  }
  std::byte* at = to.data();
  for (std::int64_t k = 0; k < from.count; ++k, at += from.length) std::memcpy(at, place(from, k), static_cast<std::size_t>(from.length));
}

void scatter(std::span<const std::byte> from, const Elements& to) {
  check_same(static_cast<std::int64_t>(from.size()), to.bytes());
  if (to.layout) {
    check_reach(to);
    layout::unpack(from, buffer(to), 0);
    return;
  }
  const std::byte* at = from.data();
  for (std::int64_t k = 0; k < to.count; ++k, at += to.length) std::memcpy(place(to, k), at, static_cast<std::size_t>(to.length));
}

std::vector<PublishedRun> publish(const layout::Layout& layout) {
  std::vector<PublishedRun> runs;
  auto add = [&runs](const layout::Piece& piece) {
    if (!piece.table) {
      runs.push_back({piece.at, piece.run, piece.count, piece.stride, piece.planes, piece.plane_stride});
      return;
    }
    layout::for_each_run(piece, [&runs](std::intptr_t at, std::int64_t bytes) { runs.push_back({at, bytes, 1, 0, 1, 0}); });
  };
  if (layout.bytes() > 0) layout::visit_node(layout.node(), layout.offset(), add);
  return runs;
}

std::unique_ptr<layout::Layout> rebuild(std::span<const PublishedRun> runs) {
  layout::Arena arena;
  std::vector<layout::Placed> pieces;
  pieces.reserve(runs.size());
  for (const PublishedRun& r : runs) {
    const layout::Placed row = layout::repeat(arena, {r.at, layout::make_run(r.bytes)}, r.count, r.stride);
    pieces.push_back(layout::repeat(arena, row, r.planes, r.plane_stride));
  }
  const layout::Placed shape = layout::concatenate(arena, std::move(pieces));
  const std::int64_t bytes = shape.node.bytes;
  return std::make_unique<layout::Layout>(std::move(arena), shape, bytes);
}

}  // namespace plait::shan
