#include "topology/choice.hpp"

#include <gtest/gtest.h>

#include <new>

#include "grids.hpp"

namespace plait::topology::test {
namespace {

/// A process a core of the node.
std::vector<Spot> dealt(int ranks, int nodes, int sockets = 1) {
  std::vector<Spot> spots;
  spots.reserve(static_cast<std::size_t>(ranks));
  for (int r = 0; r < ranks; ++r) spots.push_back({static_cast<std::uint64_t>(r % nodes), r / nodes % sockets, 0});
  return spots;
}

Wanted grid(std::vector<int> dims) {
  const Grid grid = grid_of(std::move(dims));
  return {Graph(grid, nearest(grid)), Shape{grid, nearest(grid)}};
}

std::string told(const Wanted& wanted, const std::vector<Spot>& spots, bool reordered) {
  const std::vector<Where> ranks = where(spots);
  return report("MPI_Cart_create", reordered, wanted, ranks, place(wanted.graph, wanted.shape, ranks));
}

TEST(Choice, EachRankTakesAVertex) {
  const auto spots = dealt(16, 2);
  const auto vertices = choose("MPI_Cart_create", true, spots, [] { return grid({2, 8}); });
  EXPECT_TRUE(is_permutation(vertices));
  std::vector<int> rank_of(vertices.size());
  for (int r = 0; r < 16; ++r) rank_of[static_cast<std::size_t>(vertices[static_cast<std::size_t>(r)])] = r;
  EXPECT_EQ(cost(grid({2, 8}).graph, rank_of, where(spots))[node], 4);
}

TEST(Choice, RanksStayWhereTheProgramDoesNotLetThemMove) {
  EXPECT_EQ(choose("MPI_Cart_create", false, dealt(16, 2), [] { return grid({2, 8}); }), count_up(16));
}

TEST(Choice, RanksStayWhereMemoryDoesNotSuffice) {
  EXPECT_EQ(choose("MPI_Graph_create", true, dealt(5, 2), []() -> Wanted { throw std::bad_alloc(); }), count_up(5));
}

TEST(Report, WhatReorderingHasBrought) {
  EXPECT_EQ(told(grid({2, 8}), dealt(16, 2), true),
            "plait: MPI_Cart_create of 2 x 8: 28 of 44 messages leave their node, reordered 4 (all ways)");
}

TEST(Report, WhatItWouldBring) {
  EXPECT_EQ(told(grid({2, 8}), dealt(16, 2), false),
            "plait: MPI_Cart_create of 2 x 8: 28 of 44 messages leave their node, and reordered it would be 4 (all ways)");
}

TEST(Report, WeightsOfAGraph) {
  const std::vector<Graph::Arrow> arrows{{0, 1, 7}, {2, 3, 7}, {1, 2, 1}};
  EXPECT_EQ(told({Graph(4, arrows), {}}, dealt(4, 2), true),
            "plait: MPI_Cart_create: weight 15 of 15 leaves its node, reordered 1 (all ways)");
}

TEST(Report, TheFirstLevelThatIsBetter) {
  // One node of two sockets, on which ranks are dealt.
  EXPECT_EQ(told(grid({4}), dealt(4, 1, 2), true), "plait: MPI_Cart_create of 4: 6 of 6 messages leave their socket, reordered 2");
}

TEST(Report, NothingIsBetter) {
  EXPECT_EQ(told(grid({2}), dealt(2, 2), true), "plait: MPI_Cart_create of 2: 2 of 2 messages leave their node, and no order is better");
}

}  // namespace
}  // namespace plait::topology::test
