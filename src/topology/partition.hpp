// Vertices of a graph to parts of given sizes, so that few bytes go between parts. No MPI.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "topology/graph.hpp"

namespace plait::topology {

/// The part of each vertex.
using Parts = std::vector<int>;

[[nodiscard]] constexpr std::size_t index(int vertex_or_part) noexcept { return static_cast<std::size_t>(vertex_or_part); }

/// The first `sizes[0]` of the order to part 0, and so on.
[[nodiscard]] Parts cut_up(std::span<const int> order, std::span<const int> sizes);

/// Moves vertices until each part has its size, where that costs least.
void even_out(const Graph& graph, Parts& parts, std::span<const int> sizes);

/// Exchanges vertices of two parts as long as fewer bytes go between parts then. Sizes stay. Stops when it has looked at `budget` edges,
/// one as often as it looks at it.
void improve(const Graph& graph, Parts& parts, int count, std::int64_t budget);

/// Grows parts from a corner of the graph, one after the other.
[[nodiscard]] Parts grow(const Graph& graph, std::span<const int> sizes);

/// The best there is, where there are not more than `most` ways; else nothing.
[[nodiscard]] Parts try_all(const Graph& graph, std::span<const int> sizes, std::int64_t most);

}  // namespace plait::topology
