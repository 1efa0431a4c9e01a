// No processes are launched: the boxes of all processes are looked at from one.
#include "decomposition.hpp"

#include <gtest/gtest.h>

#include <set>

#include "error.hpp"
#include "lattice.hpp"
#include "reference.hpp"

namespace plait::lbm {
namespace {

TEST(ChooseGrid, CutsTheSlowestDirectionsFirst) {
  EXPECT_EQ(choose_grid({128, 128, 128}, 1), (Int3{1, 1, 1}));
  EXPECT_EQ(choose_grid({128, 128, 128}, 2), (Int3{1, 1, 2}));
  EXPECT_EQ(choose_grid({128, 128, 128}, 4), (Int3{1, 1, 4}));
  EXPECT_EQ(choose_grid({128, 128, 128}, 8), (Int3{1, 2, 4}));
  EXPECT_EQ(choose_grid({128, 64, 1}, 4)[2], 1);
}

TEST(ChooseGrid, TakesAPrimeNumberOfProcesses) { EXPECT_EQ(choose_grid({8, 8, 16}, 13), (Int3{1, 1, 13})); }

TEST(ChooseGrid, RefusesMoreProcessesThanPlanes) {
  EXPECT_THROW((void)choose_grid({8, 8, 8}, 11), Error);
  EXPECT_THROW((void)choose_grid({8, 8, 8}, 1024), Error);
  EXPECT_THROW((void)choose_grid({8, 8, 8}, 9, {9, 1, 1}), Error);
  EXPECT_THROW((void)choose_grid({8, 8, 8}, 4, {2, 1, 1}), Error);
}

TEST(ChooseGrid, RefusesGridsWhoseProductIsTooLargeForAWord) {
  EXPECT_THROW((void)choose_grid({70000, 70000, 8}, 1, {65536, 65537, 1}), Error);    // 65536 modulo 2^32
  EXPECT_THROW((void)choose_grid({8, 8, 8}, 1, {2147483647, 2147483647, 1}), Error);  // 1 modulo 2^32
}

TEST(RequireRoom, IsRefusedAtOnceWhateverTheProduct) {
  constexpr double kMemory = 1e10;
  EXPECT_NO_THROW(require_room({256, 256, 256}, {1, 1, 1}, kMemory));
  EXPECT_THROW(require_room({512, 512, 512}, {1, 1, 1}, kMemory), Error);
  EXPECT_THROW(require_room({4194302, 2097150, 2097150}, {1, 1, 1}, kMemory), Error);  // with its layer: 2^64 sites
  EXPECT_THROW(require_room({16777216, 16777216, 16777216}, {1, 1, 4}, kMemory), Error);
  EXPECT_THROW(require_room({2048, 2048, 512}, {1, 1, 1}, 1e13), Error) << "2^31 sites in one process";
  EXPECT_NO_THROW(require_room({2048, 2048, 512}, {1, 1, 2}, 1e13));
}

TEST(Subdomain, BoxesCoverEverySiteOnceWhateverTheSizes) {
  const Deck deck = test::empty_deck({17, 10, 7});
  for (const Int3 grid : {Int3{1, 1, 1}, Int3{3, 1, 2}, Int3{5, 4, 3}, Int3{17, 10, 7}}) {
    std::set<Int3> seen;
    const int processes = grid[0] * grid[1] * grid[2];
    for (int p = 0; p < processes; ++p) {
      const Subdomain s = subdomain(deck, grid, p);
      for (int z = 0; z < s.size[2]; ++z) {
        for (int y = 0; y < s.size[1]; ++y) {
          for (int x = 0; x < s.size[0]; ++x) {
            EXPECT_TRUE(seen.insert({s.offset[0] + x, s.offset[1] + y, s.offset[2] + z}).second);
          }
        }
      }
    }
    EXPECT_EQ(seen.size(), 17U * 10 * 7);
  }
}

TEST(Subdomain, NeighborsAreMutualAndEndAtWalls) {
  Deck deck = test::empty_deck({12, 12, 12});
  deck.walls[2] = {Double3{}, Double3{}};
  const Int3 grid{3, 2, 2};
  for (int p = 0; p < 12; ++p) {
    const Subdomain s = subdomain(deck, grid, p);
    const int east = s.neighbor({1, 0, 0});
    EXPECT_EQ(subdomain(deck, grid, east).neighbor({-1, 0, 0}), p);
    EXPECT_EQ(s.neighbor({0, 0, 1}) == MPI_PROC_NULL, s.coordinates[2] == 1);
  }
}

TEST(Spans, PartsCoverTheBoxOnceInOrder) {
  const Deck deck = test::empty_deck({40, 9, 11});
  const Subdomain box = subdomain(deck, {1, 1, 1}, 0);
  const Lattice lattice(box, mark_solids(deck, box, "", {}), 1);
  for (int threads : {1, 2, 3, 7, 200}) {
    const Span* expected = lattice.all().part(0, 1).first;
    for (int t = 0; t < threads; ++t) {
      const auto [begin, end] = lattice.all().part(t, threads);
      EXPECT_EQ(begin, expected);
      expected = end;
    }
    EXPECT_EQ(expected, lattice.all().part(0, 1).second);
  }
  const long work = lattice.all().work();
  const Span* expected = lattice.all().part(0, 1).first;
  for (long unit = 0; unit < work; unit += 3) {
    const auto [begin, end] = lattice.all().begun_in(unit, std::min(work, unit + 3));
    EXPECT_EQ(begin, expected);
    expected = end;
  }
  EXPECT_EQ(expected, lattice.all().part(0, 1).second);
}

TEST(Spans, InteriorAndBoundaryAreTheWhole) {
  const Deck deck = test::empty_deck({64, 12, 12});
  for (const Int3 grid : {Int3{2, 1, 1}, Int3{2, 2, 3}, Int3{1, 1, 12}}) {
    const Subdomain box = subdomain(deck, grid, 0);
    const Lattice lattice(box, mark_solids(deck, box, "", {}), 1);
    EXPECT_EQ(lattice.interior().work() + lattice.boundary().work(), lattice.all().work());
  }
}

}  // namespace
}  // namespace plait::lbm
