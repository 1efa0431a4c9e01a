#include "topology/graph.hpp"

#include <gtest/gtest.h>

#include "grids.hpp"
#include "topology/orders.hpp"

namespace plait::topology::test {
namespace {

std::int64_t all_bytes(const Graph& graph) {
  const std::vector<int> alone = count_up(graph.vertices());
  return graph.cut(alone);
}

TEST(Graph, OfGrids) {
  const Grid open = grid_of({2, 8});
  EXPECT_EQ(all_bytes(Graph(open, nearest(open))), 2 * (8 + 2 * 7));
  // Of two in a ring each is the other's neighbour twice.
  const Grid ring = grid_of({2, 8}, true);
  EXPECT_EQ(all_bytes(Graph(ring, nearest(ring))), 2 * (16 + 16));
  const Grid cube = grid_of({4, 4, 4}, true);
  EXPECT_EQ(all_bytes(Graph(cube, around(3))), 64 * 26);
  EXPECT_EQ(all_bytes(Graph(grid_of({3, 3}), around(2))), 2 * (12 + 8));
  const Grid point = grid_of({});
  EXPECT_EQ(Graph(point, nearest(point)).vertices(), 1);
}

TEST(Graph, OfArrows) {
  const std::vector<Graph::Arrow> arrows{{0, 1, 3}, {1, 0, 4}, {2, 2, 100}, {0, 1, 1}, {2, 1, 5}, {3, 0, 0}};
  const Graph graph(5, arrows);
  EXPECT_EQ(graph.vertices(), 5);
  ASSERT_EQ(graph.edges(0).size(), 1u);
  EXPECT_EQ(graph.edges(0)[0].to, 1);
  EXPECT_EQ(graph.edges(0)[0].bytes, 8);
  ASSERT_EQ(graph.edges(1).size(), 2u);
  EXPECT_EQ(graph.edges(1)[1].to, 2);
  EXPECT_TRUE(graph.edges(3).empty() && graph.edges(4).empty());
  EXPECT_EQ(graph.cut(std::vector{0, 0, 1, 1, 0}), 5);
  const std::vector chosen{2, 1};
  std::vector<int> number(5, -1);
  const Graph part = graph.part(chosen, number);
  EXPECT_EQ(number, std::vector<int>(5, -1));
  EXPECT_EQ(part.vertices(), 2);
  ASSERT_EQ(part.edges(0).size(), 1u);
  EXPECT_EQ(part.edges(0)[0].to, 1);
  EXPECT_EQ(all_bytes(part), 5);
}

TEST(Orders, EachCellOnce) {
  Random random(1);
  for (int round = 0; round < 400; ++round) {
    std::vector<int> dims;
    int cells = 1;
    for (int d = 1 + random.below(4); d > 0; --d) cells *= dims.emplace_back(1 + random.below(7));
    Grid grid = grid_of(dims);
    for (char& p : grid.periodic) p = static_cast<char>(random.below(2));
    std::vector<int> nodes;
    for (int left = cells; left > 0; left -= nodes.back()) nodes.push_back(std::min(left, 1 + random.below(cells)));
    const std::vector<Offset> stencil = random.below(2) ? nearest(grid) : around(dims.size());
    for (const Method& m : methods()) {
      const Order order = m.order(grid, stencil, nodes);
      if (order.empty() && m.name == "nodecart") continue;
      EXPECT_EQ(order.size(), static_cast<std::size_t>(cells)) << m.name;
      EXPECT_TRUE(is_permutation(order)) << m.name;
    }
  }
}

/// The blocks that W. Gropp's paper has for such: as near to squares as divisors allow.
TEST(Orders, NodecartTakesTheBlockWithTheLeastSurface) {
  const Grid grid = grid_of({16, 16});
  const std::vector<Offset> stencil = nearest(grid);
  const Graph graph(grid, stencil);
  const std::vector<int> nodes(16, 16);
  const Method& nodecart = methods().front();
  ASSERT_EQ(nodecart.name, "nodecart");
  const Order order = nodecart.order(grid, stencil, nodes);
  std::vector<int> node_of(256);
  for (int i = 0; i < 256; ++i) node_of[static_cast<std::size_t>(order[static_cast<std::size_t>(i)])] = i / 16;
  EXPECT_EQ(graph.cut(node_of), 2 * 6 * 16);
  for (int cell = 0; cell < 256; ++cell) EXPECT_EQ(node_of[static_cast<std::size_t>(cell)], cell / 64 * 4 + cell % 16 / 4);
  // Rows of four have as much surface, but less of it at the grid's open ends.
  const Grid small = grid_of({4, 4});
  EXPECT_EQ(nodecart.order(small, nearest(small), std::vector<int>(4, 4)), (Order{0, 1, 4, 5, 2, 3, 6, 7, 8, 9, 12, 13, 10, 11, 14, 15}));
  EXPECT_TRUE(nodecart.order(grid, stencil, std::vector<int>{128, 64, 64}).empty());
  EXPECT_TRUE(nodecart.order(grid_of({3, 3}), stencil, std::vector<int>(1, 2)).empty());
}

}  // namespace
}  // namespace plait::topology::test
