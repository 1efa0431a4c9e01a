#include "topology/place.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>

#include "grids.hpp"
#include "topology/orders.hpp"
#include "topology/partition.hpp"

namespace plait::topology::test {
namespace {

void check_not_worse(const Graph& graph, const Answer& answer, const std::vector<Where>& ranks) {
  const Cost as_it_is = cost(graph, count_up(graph.vertices()), ranks);
  EXPECT_LE(answer.cost, as_it_is);
  if (answer.method == "as it is") {
    EXPECT_EQ(answer.cost[node], as_it_is[node]);
  }
}

Answer placed(const Grid& grid, const std::vector<Offset>& stencil, const std::vector<Where>& ranks) {
  const Graph graph(grid, stencil, static_cast<int>(ranks.size()));
  Answer answer = place(graph, Shape{grid, stencil}, ranks);
  EXPECT_TRUE(is_permutation(answer.rank_of));
  EXPECT_EQ(answer.cost, cost(graph, answer.rank_of, ranks));
  check_not_worse(graph, answer, ranks);
  return answer;
}

/// Every link counts twice, once each way.
std::int64_t slow_links(const std::vector<int>& rank_of, const Graph& graph, const std::vector<Where>& ranks) {
  return cost(graph, rank_of, ranks)[node] / 2;
}

/// The lecture's case: two nodes of 8 CPUs.
TEST(Place, TwoByEightOnTwoNodes) {
  const Grid grid = grid_of({2, 8});
  const Graph graph(grid, nearest(grid));
  const std::vector<Where> dealt = round_robin(16, 2);
  const std::vector<Where> sequence = in_sequence({8, 8});
  EXPECT_EQ(slow_links(count_up(16), graph, dealt), 14);
  EXPECT_EQ(slow_links(count_up(16), graph, sequence), 8);
  EXPECT_EQ(placed(grid, nearest(grid), dealt).cost[node] / 2, 2);
  EXPECT_EQ(placed(grid, nearest(grid), sequence).cost[node] / 2, 2);
}

/// The least that can leave the first node, the second, ... by looking at all ways.
std::int64_t least(const Graph& graph, std::vector<int> node_of) {
  std::ranges::sort(node_of);
  std::int64_t best = std::numeric_limits<std::int64_t>::max();
  do {
    best = std::min(best, graph.cut(node_of));
  } while (std::ranges::next_permutation(node_of).found);
  return best;
}

void grids_of(int cells, std::vector<int>& dims, std::vector<std::vector<int>>& all) {
  if (dims.size() == 3) {
    if (cells == 1) all.push_back(dims);
    return;
  }
  for (int d = 1; d <= cells; ++d) {
    if (cells % d != 0) continue;
    dims.push_back(d);
    grids_of(cells / d, dims, all);
    dims.pop_back();
  }
}

TEST(Place, AsBruteForceOnEveryGridOfUpTo10Ranks) {
  int cases = 0;
  for (int n = 2; n <= 10; ++n) {
    std::vector<std::vector<int>> grids;
    std::vector<int> dims;
    grids_of(n, dims, grids);
    for (const std::vector<int>& d : grids) {
      for (int periodic = 0; periodic < 8; ++periodic) {
        Grid grid = grid_of(d);
        bool repeats = false;  // of one cell or two in a ring there is nothing new
        for (int i = 0; i < 3; ++i) {
          grid.periodic[static_cast<std::size_t>(i)] = static_cast<char>(periodic >> i & 1);
          repeats |= d[static_cast<std::size_t>(i)] == 1 && (periodic >> i & 1);
        }
        if (repeats) continue;
        const Graph graph(grid, nearest(grid));
        for (int a = 1; a < n; ++a) {
          for (int b = 1; a + b <= n; ++b) {
            std::vector<int> nodes{a, b};
            if (a + b < n) nodes.push_back(n - a - b);
            const std::vector<Where> ranks = in_sequence(nodes);
            std::vector<int> node_of;
            node_of.reserve(ranks.size());
            for (const Where& w : ranks) node_of.push_back(w[node]);
            ASSERT_EQ(placed(grid, nearest(grid), ranks).cost[node], least(graph, node_of));
            ++cases;
          }
        }
      }
    }
  }
  EXPECT_GT(cases, 1000);
}

/// More ranks than the program wants: those that are left over are chosen, too.
TEST(Place, RanksThatAreLeftOver) {
  const Grid grid = grid_of({4, 2});
  const std::vector<Where> ranks = in_sequence({5, 5});
  EXPECT_EQ(placed(grid, nearest(grid), ranks).cost[node], 4);
  const std::vector<Where> large = in_sequence({3, 8});
  EXPECT_EQ(placed(grid, nearest(grid), large).cost[node], 0);
}

TEST(Place, WeightsCount) {
  // A ring of four in which two edges are heavy.
  const std::vector<Graph::Arrow> arrows{{0, 1, 1}, {1, 2, 100}, {2, 3, 1}, {3, 0, 100}};
  const Graph graph(4, arrows);
  const Answer answer = place(graph, {}, in_sequence({2, 2}));
  EXPECT_EQ(answer.cost[node], 2);
}

TEST(Place, SocketsAndCachesAfterNodes) {
  // Two nodes of two sockets of two caches of two cores, dealt so that neighbours are far apart everywhere.
  std::vector<Where> ranks;
  ranks.reserve(16);
  for (int r = 0; r < 16; ++r) ranks.push_back({r % 2, r % 4, r % 8});
  const Grid line = grid_of({16});
  const Answer answer = placed(line, nearest(line), ranks);
  EXPECT_EQ(answer.cost, (Cost{2 * 1, 2 * 3, 2 * 7}));
  // Where nodes are right, sockets are still put right.
  std::vector<Where> one_node;
  one_node.reserve(16);
  for (int r = 0; r < 16; ++r) one_node.push_back({0, r % 2, r % 2});
  EXPECT_EQ(placed(line, nearest(line), one_node).cost, (Cost{0, 2, 2}));
}

TEST(Place, WhatIsRightStays) {
  const Grid line = grid_of({12});
  const Answer answer = placed(line, nearest(line), in_sequence({4, 4, 4}));
  EXPECT_EQ(answer.method, "as it is");
  EXPECT_EQ(answer.rank_of, count_up(12));
  EXPECT_EQ(placed(grid_of({}), {}, in_sequence({1})).rank_of, count_up(1));
}

/// Ranks in sequence, so many a cache.
std::vector<Where> on_sockets(int nodes, int sockets, int caches, int ranks) {
  std::vector<Where> all;
  for (int r = 0; r < nodes * sockets * caches * ranks; ++r) {
    const int c = r / ranks;
    all.push_back({c / caches / sockets, c / caches, c});
  }
  return all;
}

/// Each node of many gets what it would get alone.
TEST(Place, EachNodeAsIfItWereAlone) {
  const Grid one = grid_of({4, 8});
  const std::vector<Offset> stencil = nearest(one);
  const Graph alone(one, stencil);
  constexpr int kNodes = 20;
  std::vector<Graph::Arrow> arrows;
  for (int n = 0; n < kNodes; ++n) {
    for (int v = 0; v < 32; ++v) {
      for (const Edge& e : alone.edges(v)) arrows.push_back({32 * n + v, 32 * n + e.to, 1});
    }
  }
  const Cost each = place(alone, {}, on_sockets(1, 2, 4, 4)).cost;
  const Cost all = place(Graph(32 * kNodes, arrows), {}, on_sockets(kNodes, 2, 4, 4)).cost;
  EXPECT_EQ(all[node], 0);
  EXPECT_EQ(all[socket], kNodes * each[socket]);
  EXPECT_EQ(all[cache], kNodes * each[cache]);
}

/// It ends soon, too, where nodes are many and small. 20,000 ranks.
TEST(Place, ManySmallNodes) {
  const Grid grid = grid_of({100, 200}, true);
  for (const int node_ranks : {1, 2, 8}) {
    std::vector<Where> ranks;
    ranks.reserve(20'000);
    for (int r = 0; r < 20'000; ++r) ranks.push_back({r / node_ranks, r / node_ranks, r});
    static_cast<void>(placed(grid, nearest(grid), ranks));
  }
  // 4 on each of two sockets, of two caches each.
  const std::vector<Where> large = on_sockets(20'000 / 8, 2, 2, 2);
  EXPECT_LT(placed(grid, nearest(grid), large).cost[node], cost(Graph(grid, nearest(grid)), count_up(20'000), large)[node]);
  const std::vector<Graph::Arrow> none;
  EXPECT_EQ(place(Graph(20'000, none), {}, in_sequence(std::vector<int>(100, 200))).method, "as it is");
}

/// A ring of 6,000 in an order of its own, on nodes too small for METIS: at best one link of three leaves a node.
TEST(Place, ManySmallNodesOfAGraph) {
  std::vector<int> order = count_up(6000);
  std::ranges::shuffle(order, std::mt19937(8));
  std::vector<Graph::Arrow> arrows;
  arrows.reserve(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) arrows.push_back({order[i], order[(i + 1) % order.size()], 1});
  const Answer answer = place(Graph(6000, arrows), {}, in_sequence(std::vector<int>(2000, 3)));
  EXPECT_TRUE(is_permutation(answer.rank_of));
  EXPECT_LT(answer.cost[node], 2200);
}

TEST(Place, RandomGridsAndGraphs) {
  Random random(5);
  for (int round = 0; round < 200; ++round) {
    const int n = 1 + random.below(80);
    std::vector<Where> ranks;
    const int nodes = 1 + random.below(4);
    for (int r = 0; r < n; ++r) {
      const int at = random.below(nodes);
      ranks.push_back({at, 2 * at + random.below(2), 0});
      ranks.back()[cache] = 2 * ranks.back()[socket] + random.below(2);
    }
    if (random.below(2)) {
      std::vector<Graph::Arrow> arrows;
      for (int i = random.below(6 * n); i > 0; --i) arrows.push_back({random.below(n), random.below(n), random.below(1000)});
      const Graph graph(n, arrows);
      const Answer answer = place(graph, {}, ranks);
      ASSERT_TRUE(is_permutation(answer.rank_of));
      check_not_worse(graph, answer, ranks);
      EXPECT_EQ(place(graph, {}, ranks).rank_of, answer.rank_of);
      continue;
    }
    std::vector<int> dims{1 + random.below(n)};
    dims.push_back(1 + random.below(n / dims[0]));
    Grid grid = grid_of(dims);
    for (char& p : grid.periodic) p = static_cast<char>(random.below(2));
    static_cast<void>(placed(grid, random.below(2) ? nearest(grid) : around(2), ranks));
  }
}

/// Never worse than the best of the four methods by itself, on grids as the literature has them.
TEST(Place, AtLeastAsGoodAsEachMethod) {
  struct Case {
    std::vector<int> dims;
    int node;
  };
  const std::vector<Case> cases{{{2, 2}, 2},      {{2, 8}, 8},        {{2, 2, 2}, 4},  {{16, 16, 16}, 64}, {{4, 4}, 4},    {{50, 48}, 48},
                                {{32, 32}, 16},   {{30, 40}, 24},     {{75, 64}, 48},  {{11, 13}, 20},     {{64, 16}, 64}, {{8, 8, 8}, 16},
                                {{16, 8, 8}, 32}, {{10, 12, 14}, 24}, {{5, 7, 9}, 10}, {{20, 10, 5}, 40}};
  int round = 0;
  for (const Case& c : cases) {
    for (const bool periodic : {false, true}) {
      for (const bool all_around : {false, true}) {
        for (const bool uneven : {false, true}) {
          Grid grid = grid_of(c.dims, periodic);
          if (++round % 3 == 0) grid.periodic.front() = 0;
          const std::vector<Offset> stencil = all_around ? around(c.dims.size()) : nearest(grid);
          std::vector<int> nodes;
          for (int left = grid.cells(), i = 0; left > 0; left -= nodes.back(), ++i)
            nodes.push_back(std::min(left, uneven ? std::max(1, c.node - 3 * (i % 2)) : c.node));
          const Graph graph(grid, stencil);
          const std::vector<Where> ranks = round % 4 < 2 ? in_sequence(nodes) : dealt(nodes);
          const Answer answer = placed(grid, stencil, ranks);
          for (const Method& m : methods()) {
            const Order order = m.order(grid, stencil, nodes);
            if (order.empty()) continue;
            EXPECT_LE(answer.cost[node], graph.cut(cut_up(order, nodes))) << m.name;
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace plait::topology::test
