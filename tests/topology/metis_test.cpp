#include "topology/metis.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>

#include "grids.hpp"

namespace plait::topology::test {
namespace {

void never(int, siginfo_t*, void*) {}

TEST(Metis, LeavesTheProgramAsItWas) {
  const Grid grid = grid_of({16, 16});
  const Graph graph(grid, nearest(grid));
  const std::vector<int> sizes{100, 60, 96};
  struct sigaction mine{};
  mine.sa_sigaction = never;
  mine.sa_flags = SA_SIGINFO | SA_RESTART;
  for (const int s : {SIGTERM, SIGABRT}) sigaction(s, &mine, nullptr);
  std::srand(7);
  const std::array expected{std::rand(), std::rand(), std::rand()};
  std::srand(7);
  EXPECT_EQ(std::rand(), expected[0]);
  const Parts parts = by_metis(graph, sizes);
  EXPECT_EQ(std::rand(), expected[1]);
  EXPECT_EQ(by_metis(graph, sizes), parts);
  EXPECT_EQ(std::rand(), expected[2]);
  for (const int s : {SIGTERM, SIGABRT}) {
    struct sigaction now{};
    sigaction(s, nullptr, &now);
    EXPECT_EQ(now.sa_sigaction, never);
    EXPECT_EQ(now.sa_flags & (SA_SIGINFO | SA_RESTART), SA_SIGINFO | SA_RESTART);
    std::signal(s, SIG_DFL);
  }
  if (parts.empty()) GTEST_SKIP() << "there is no libmetis.so.5 on this machine";
  ASSERT_EQ(parts.size(), 256u);
  for (int p = 0; p < 3; ++p) EXPECT_NEAR(std::ranges::count(parts, p), sizes[static_cast<std::size_t>(p)], 8);
  EXPECT_LT(graph.cut(parts), 2 * 48);
}

TEST(Metis, TakesLargeWeights) {
  std::vector<Graph::Arrow> arrows;
  arrows.reserve(16);
  constexpr std::int64_t kHuge = std::int64_t{1} << 40;
  for (int i = 0; i < 16; ++i) arrows.push_back({i, (i + 1) % 16, i % 8 == 7 ? 1 : kHuge});
  const Graph graph(16, arrows);
  const Parts parts = by_metis(graph, std::vector{8, 8});
  if (parts.empty()) GTEST_SKIP() << "there is no libmetis.so.5 on this machine";
  EXPECT_EQ(graph.cut(parts), 2);
}

TEST(Metis, IsNotAskedForTinyPartsOrWithoutEdges) {
  const Grid grid = grid_of({4, 4});
  const Graph graph(grid, nearest(grid));
  EXPECT_TRUE(by_metis(graph, std::vector{15, 1}).empty());
  EXPECT_TRUE(by_metis(graph, std::vector{16}).empty());
  EXPECT_TRUE(by_metis(Graph(16, std::span<const Graph::Arrow>()), std::vector{8, 8}).empty());
}

}  // namespace
}  // namespace plait::topology::test
