// Segments of a node by number, found without walking past the others: the time grows with the depth of the tree
// and, at irregular nodes, with the logarithm of their entries. Any thread.
#pragma once

#include <cstdint>

#include "node.hpp"

namespace plait::layout {

/// A place in the sequence: so many bytes into it, at that address.
struct Place {
  std::int64_t position = 0;
  std::int64_t offset = 0;
};

/// Where segment k starts, 0 <= k <= node.breaks.
[[nodiscard]] Place start_of_segment(const Node& node, std::int64_t k);

/// Segments that end within the first `position` bytes of the sequence.
[[nodiscard]] std::int64_t segments_within(const Node& node, std::int64_t position);

}  // namespace plait::layout
