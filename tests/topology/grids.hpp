// Grids, stencils and machines for the tests.
#pragma once

#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

#include "topology/graph.hpp"
#include "topology/place.hpp"

namespace plait::topology::test {

inline Grid grid_of(std::vector<int> dims, bool periodic = false) {
  const std::size_t n = dims.size();
  return {std::move(dims), std::vector<char>(n, periodic ? 1 : 0)};
}

/// All cells that are at most one away in each dimension: 9 points with two, 27 with three.
inline std::vector<Offset> around(std::size_t dimensions) {
  int all = 1;
  for (std::size_t i = 0; i < dimensions; ++i) all *= 3;
  std::vector<Offset> stencil;
  for (int k = 0; k < all; ++k) {
    if (k == all / 2) continue;
    Offset o{std::vector<int>(dimensions)};
    for (std::size_t i = 0, rest = static_cast<std::size_t>(k); i < dimensions; ++i, rest /= 3) o.by[i] = static_cast<int>(rest % 3) - 1;
    stencil.push_back(std::move(o));
  }
  return stencil;
}

inline std::vector<int> count_up(int n) {
  std::vector<int> all(static_cast<std::size_t>(n));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

/// Ranks in sequence, so many a node; each node is one socket and one cache.
inline std::vector<Where> in_sequence(const std::vector<int>& nodes) {
  std::vector<Where> ranks;
  for (int node = 0; node < static_cast<int>(nodes.size()); ++node) {
    for (int i = 0; i < nodes[static_cast<std::size_t>(node)]; ++i) ranks.push_back({node, node, node});
  }
  return ranks;
}

/// Ranks to nodes in turn, as long as they have room.
inline std::vector<Where> dealt(std::vector<int> room) {
  std::vector<Where> ranks;
  for (int left = std::accumulate(room.begin(), room.end(), 0), node = 0; left > 0; node = (node + 1) % static_cast<int>(room.size())) {
    if (room[static_cast<std::size_t>(node)]-- <= 0) continue;
    ranks.push_back({node, node, node});
    --left;
  }
  return ranks;
}

inline std::vector<Where> round_robin(int ranks, int nodes) {
  std::vector<Where> where;
  where.reserve(static_cast<std::size_t>(ranks));
  for (int r = 0; r < ranks; ++r) where.push_back({r % nodes, r % nodes, r % nodes});
  return where;
}

inline bool is_permutation(const std::vector<int>& all) {
  std::vector<char> seen(all.size(), 0);
  for (const int i : all) {
    if (i < 0 || static_cast<std::size_t>(i) >= all.size() || seen[static_cast<std::size_t>(i)]++) return false;
  }
  return true;
}

class Random {
 public:
  explicit Random(unsigned seed) : engine_(seed) {}
  /// From 0 to n - 1.
  int below(int n) { return static_cast<int>(engine_() % static_cast<unsigned>(n)); }

 private:
  std::mt19937 engine_;
};

}  // namespace plait::topology::test
