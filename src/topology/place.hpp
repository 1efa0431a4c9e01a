// Which rank takes which place in a grid or graph, so that few bytes leave a node, then a socket, then a shared cache. No MPI. One process
// decides for all: the answer depends on whether the machine has METIS.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "topology/graph.hpp"

namespace plait::topology {

enum Level : std::uint8_t { node, socket, cache };
constexpr std::size_t kLevels = 3;

/// Where a rank runs. Sockets and caches have numbers of their own on the whole machine.
using Where = std::array<int, kLevels>;

/// Bytes that leave each. An earlier level counts before all later ones.
using Cost = std::array<std::int64_t, kLevels>;

/// `rank_of[v]` takes vertex v.
[[nodiscard]] Cost cost(const Graph& graph, std::span<const int> rank_of, std::span<const Where> ranks);

struct Answer {
  std::vector<int> rank_of;  ///< of each vertex: a permutation
  Cost cost{};
  std::string_view method;  ///< that nodes were chosen by
};

struct Shape {
  Grid grid;
  std::vector<Offset> stencil;
};

/// Never worse than vertex v at rank v. There are as many vertices as ranks: where the program wants fewer, the last ones have no edges,
/// and the ranks that take them are left over. `shape` where the graph is one of a grid. Throws std::bad_alloc.
[[nodiscard]] Answer place(const Graph& graph, const std::optional<Shape>& shape, std::span<const Where> ranks);

}  // namespace plait::topology
