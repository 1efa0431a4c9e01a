#include "topology/graph.hpp"

#include <gtest/gtest.h>

#include "grids.hpp"

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
  const Graph part = graph.part(chosen);
  EXPECT_EQ(part.vertices(), 2);
  ASSERT_EQ(part.edges(0).size(), 1u);
  EXPECT_EQ(part.edges(0)[0].to, 1);
  EXPECT_EQ(all_bytes(part), 5);
}

}  // namespace
}  // namespace plait::topology::test
