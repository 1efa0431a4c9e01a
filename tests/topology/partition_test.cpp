#include "topology/partition.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "grids.hpp"

namespace plait::topology::test {
namespace {

Graph random_graph(Random& random, int n, int edges) {
  std::vector<Graph::Arrow> arrows;
  arrows.reserve(static_cast<std::size_t>(edges));
  for (int i = 0; i < edges; ++i) arrows.push_back({random.below(n), random.below(n), random.below(9)});
  return {n, arrows};
}

std::vector<int> random_sizes(Random& random, int n) {
  std::vector<int> sizes;
  for (int left = n; left > 0; left -= sizes.back()) sizes.push_back(std::min(left, 1 + random.below(n)));
  return sizes;
}

bool has_sizes(const Parts& parts, const std::vector<int>& sizes) {
  for (std::size_t p = 0; p < sizes.size(); ++p) {
    if (std::ranges::count(parts, static_cast<int>(p)) != sizes[p]) return false;
  }
  return true;
}

TEST(Partition, SizesStay) {
  Random random(2);
  for (int round = 0; round < 300; ++round) {
    const int n = 2 + random.below(60);
    const Graph graph = random_graph(random, n, random.below(5 * n));
    const std::vector<int> sizes = random_sizes(random, n);
    const auto count = static_cast<int>(sizes.size());
    Parts parts = cut_up(count_up(n), sizes);
    ASSERT_TRUE(has_sizes(parts, sizes));
    const std::int64_t before = graph.cut(parts);
    improve(graph, parts, count, 1'000'000);
    ASSERT_TRUE(has_sizes(parts, sizes));
    EXPECT_LE(graph.cut(parts), before);
    ASSERT_TRUE(has_sizes(grow(graph, sizes), sizes));
    for (int& p : parts) p = random.below(count);
    even_out(graph, parts, sizes);
    ASSERT_TRUE(has_sizes(parts, sizes));
  }
}

/// What even_out() should do, one vertex after the other by looking at all.
void even_out_slowly(const Graph& graph, Parts& parts, const std::vector<int>& sizes) {
  const auto count = static_cast<int>(sizes.size());
  const auto room = [&](int p) { return sizes[static_cast<std::size_t>(p)] - std::ranges::count(parts, p); };
  for (int from = 0; from < count; ++from) {
    while (room(from) < 0) {
      std::int64_t least = std::numeric_limits<std::int64_t>::max();
      Parts best;
      for (int v = 0; v < graph.vertices(); ++v) {
        if (parts[static_cast<std::size_t>(v)] != from) continue;
        for (int to = 0; to < count; ++to) {
          if (room(to) <= 0) continue;
          Parts other = parts;
          other[static_cast<std::size_t>(v)] = to;
          if (graph.cut(other) >= least) continue;
          least = graph.cut(other);
          best = std::move(other);
        }
      }
      parts = std::move(best);
    }
  }
}

TEST(Partition, EachMoveCostsLeast) {
  Random random(6);
  for (int round = 0; round < 200; ++round) {
    const int n = 2 + random.below(20);
    const Graph graph = random_graph(random, n, random.below(5 * n));
    std::vector<int> sizes = random_sizes(random, n);
    if (random.below(2)) sizes.push_back(0);
    Parts parts(static_cast<std::size_t>(n));
    for (int& p : parts) p = random.below(static_cast<int>(sizes.size()));
    Parts expected = parts;
    even_out_slowly(graph, expected, sizes);
    even_out(graph, parts, sizes);
    ASSERT_EQ(parts, expected);
  }
}

/// What grow() should do, one vertex after the other by looking at all.
Parts grow_slowly(const Graph& graph, const std::vector<int>& sizes) {
  Parts parts(static_cast<std::size_t>(graph.vertices()), -1);
  const auto part_of = [&](int v) -> int& { return parts[static_cast<std::size_t>(v)]; };
  for (int p = 0; p < static_cast<int>(sizes.size()); ++p) {
    for (int left = sizes[static_cast<std::size_t>(p)]; left > 0; --left) {
      int best = -1;
      std::pair<std::int64_t, std::int64_t> most;
      for (int v = 0; v < graph.vertices(); ++v) {
        if (part_of(v) >= 0) continue;
        std::int64_t inside = 0;
        std::int64_t outside = 0;
        for (const Edge& e : graph.edges(v)) {
          inside += part_of(e.to) == p ? e.bytes : 0;
          outside += part_of(e.to) < 0 ? e.bytes : 0;
        }
        const std::pair its{2 * inside - outside, inside};
        if (best < 0 || its > most) {
          best = v;
          most = its;
        }
      }
      part_of(best) = p;
    }
  }
  return parts;
}

TEST(Partition, GrowingTakesWhatIsClosest) {
  Random random(7);
  for (int round = 0; round < 200; ++round) {
    const int n = 1 + random.below(50);
    const Graph graph = random_graph(random, n, random.below(5 * n));
    const std::vector<int> sizes = random_sizes(random, n);
    ASSERT_EQ(grow(graph, sizes), grow_slowly(graph, sizes));
  }
}

TEST(Partition, ImprovingEnds) {
  Random random(3);
  const Graph graph = random_graph(random, 2000, 20'000);
  const std::vector<int> sizes(40, 50);
  Parts parts = cut_up(count_up(2000), sizes);
  const std::int64_t before = graph.cut(parts);
  Parts a_little = parts;
  improve(graph, a_little, 40, 10'000);
  improve(graph, parts, 40, 10'000'000);
  EXPECT_LT(graph.cut(a_little), before);
  EXPECT_LT(graph.cut(parts), graph.cut(a_little));
}

/// Two halves of a ring whose every second vertex is in the wrong one.
TEST(Partition, ImprovingFindsTheHalvesOfARing) {
  const Grid ring = grid_of({64}, true);
  const Graph graph(ring, nearest(ring));
  Parts parts(64);
  for (int i = 0; i < 64; ++i) parts[static_cast<std::size_t>(i)] = i / 4 % 2;
  EXPECT_EQ(graph.cut(parts), 32);
  improve(graph, parts, 2, 1'000'000);
  EXPECT_LT(graph.cut(parts), 32);
  EXPECT_EQ(graph.cut(grow(graph, std::vector{32, 32})), 4);
}

TEST(Partition, AllWaysAreTriedWhereTheyAreFew) {
  Random random(4);
  for (int round = 0; round < 100; ++round) {
    const int n = 2 + random.below(8);
    const Graph graph = random_graph(random, n, 3 * n);
    const std::vector<int> sizes = random_sizes(random, n);
    Parts best = try_all(graph, sizes, 50'000);
    if (best.empty()) continue;  // nine parts of one vertex, say
    ASSERT_TRUE(has_sizes(best, sizes));
    Parts other = cut_up(count_up(n), sizes);
    do {
      ASSERT_LE(graph.cut(best), graph.cut(other));
    } while (std::ranges::next_permutation(other).found);
  }
  const Grid grid = grid_of({8, 8});
  EXPECT_TRUE(try_all(Graph(grid, nearest(grid)), std::vector{32, 32}, 50'000).empty());
}

}  // namespace
}  // namespace plait::topology::test
