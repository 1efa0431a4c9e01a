#include "layout.hpp"

#include <algorithm>

#include "pieces.hpp"

namespace plait::layout {

Layout::Layout(Arena arena, Placed shape, std::int64_t extent) : arena_(std::move(arena)), shape_(shape), extent_(extent) {}

Place Layout::start(std::int64_t k) const {
  if (k >= segments()) return {bytes(), shape_.offset + shape_.node.end};
  const Place place = start_of_segment(shape_.node, k);
  return {place.position, shape_.offset + place.offset};
}

Segment Layout::segment(std::int64_t k) const {
  const Place first = start(k);
  return {first.offset, start(k + 1).position - first.position};
}

std::size_t Layout::segments(std::int64_t k, std::span<Segment> out) const {
  if (k >= segments()) return 0;
  const auto n = std::min(segments() - k, static_cast<std::int64_t>(out.size()));
  if (n == 1) out[0] = segment(k);
  if (n <= 1) return static_cast<std::size_t>(n);
  // The range holds whole segments, so that runs which join are all that is left to put together.
  std::size_t filled = 0;
  const auto add = [&](std::intptr_t at, std::int64_t length) {
    if (filled > 0 && out[filled - 1].offset + out[filled - 1].bytes == at) {
      out[filled - 1].bytes += length;
    } else {
      out[filled++] = {at, length};
    }
  };
  auto sink = [&](const Piece& piece) { for_each_run(piece, add); };
  visit(shape_.node, shape_.offset, start(k).position, start(k + n).position, sink);
  return filled;
}

std::int64_t Layout::segments_within(std::int64_t position) const { return layout::segments_within(shape_.node, position); }

}  // namespace plait::layout
