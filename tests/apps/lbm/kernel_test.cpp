// 1 process, 1 to 3 threads.
#include "kernel.hpp"

#include <gtest/gtest.h>
#include <omp.h>

#include "reference.hpp"

namespace plait::lbm {
namespace {

struct Case {
  const char* name;
  Int3 size;
  bool walls;    // walls in y, the upper one moving; z and x stay periodic
  double solid;  // share of sites that are solid, at random
  int steps;
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

class KernelTest : public testing::TestWithParam<Case> {};

Deck deck_of(const Case& c) {
  Deck d = test::empty_deck(c.size);
  if (c.walls) d.walls[1] = {Double3{0, 0, 0}, Double3{0.05, 0, -0.02}};
  return d;
}

/// Random solid sites, some of which move; the layer around the box is made to agree.
Solids random_solids(const Deck& deck, const Subdomain& box, double share) {
  Solids s = mark_solids(deck, box, "", {});
  s.walls.push_back({0.01, 0.02, 0.03});
  const auto moving = static_cast<std::uint8_t>(s.walls.size());
  std::mt19937 random(7);
  const Int3& n = box.size;
  const auto at = [&](int x, int y, int z) -> std::uint8_t& {
    return s.kind[(x + 1) + (n[0] + 2) * ((y + 1) + static_cast<std::size_t>(n[1] + 2) * (z + 1))];
  };
  for (int z = 0; z < n[2]; ++z) {
    for (int y = 0; y < n[1]; ++y) {
      for (int x = 0; x < n[0]; ++x) {
        if (random() * 0x1p-32 < share) at(x, y, z) = random() % 4 == 0 ? moving : 1;
      }
    }
  }
  for (int z = -1; z <= n[2]; ++z) {
    for (int y = -1; y <= n[1]; ++y) {
      for (int x = -1; x <= n[0]; ++x) {
        if (!deck.periodic(1) && (y < 0 || y == n[1])) continue;
        at(x, y, z) = at((x + n[0]) % n[0], (y + n[1]) % n[1], (z + n[2]) % n[2]);
      }
    }
  }
  return s;
}

TEST_P(KernelTest, InPlaceStepsEqualTheTextbookMethod) {
  const Case& c = GetParam();
  const Deck deck = deck_of(c);
  const Subdomain box = subdomain(deck, {1, 1, 1}, 0);
  Solids solids = random_solids(deck, box, c.solid);
  const Fluid fluid{0.05, {1e-4, -2e-4, 3e-4}};
  test::ReferenceLattice reference(c.size, solids.kind, solids.walls, fluid);
  Lattice lattice(box, std::move(solids), 3);
  std::mt19937 random(11);
  const auto each = [&](auto&& work) {
    for (int z = 0; z < c.size[2]; ++z) {
      for (int y = 0; y < c.size[1]; ++y) {
        for (int x = 0; x < c.size[0]; ++x) {
          for (int i = 0; i < kVelocities && lattice.fluid(x, y, z); ++i) work(i, x, y, z);
        }
      }
    }
  };
  each([&](int i, int x, int y, int z) {
    const double f = weight(i) * 0.2 * (random() * 0x1p-32 - 0.5);
    reference.at(i, x, y, z) = f;
    lattice.places(i)[lattice.index(x, y, z)] = f;
  });
  Phase phase = Phase::local;
  for (int k = 0; k < c.steps; ++k) {
    reference.step();
#pragma omp parallel num_threads(3)
    {
      const auto [begin, end] = lattice.all().part(omp_get_thread_num(), 3);
      update(lattice, fluid, phase, begin, end);
    }
    phase = next(phase);
  }
  each([&](int i, int x, int y, int z) {
    ASSERT_NEAR(lattice.population(i, x, y, z, phase), reference.at(i, x, y, z), 1e-14)
        << "velocity " << i << " at " << x << ' ' << y << ' ' << z;
  });
}

INSTANTIATE_TEST_SUITE_P(Shapes, KernelTest,
                         testing::Values(Case{"Periodic", {16, 8, 8}, false, 0, 6}, Case{"OddSizes", {13, 7, 5}, false, 0, 7},
                                         Case{"OneSiteDeep", {9, 8, 1}, false, 0.1, 5}, Case{"OneSiteWide", {1, 6, 5}, false, 0, 5},
                                         Case{"Walls", {17, 9, 6}, true, 0, 8}, Case{"Solids", {19, 11, 9}, false, 0.3, 9},
                                         Case{"WallsAndSolids", {24, 10, 7}, true, 0.2, 10}),
                         [](const auto& info) { return info.param.name; });

TEST(Kernel, KeepsMassAndGainsTheForcesMomentum) {
  const Int3 size{20, 10, 10};
  const Subdomain box = subdomain(test::empty_deck(size), {1, 1, 1}, 0);
  Lattice lattice(box, mark_solids(test::empty_deck(size), box, "", {}), 1);
  const Fluid fluid{0.1, {1e-5, 0, 0}};
  const auto [begin, end] = lattice.all().part(0, 1);
  Phase phase = Phase::local;
  for (int k = 0; k < 50; ++k, phase = next(phase)) update(lattice, fluid, phase, begin, end);
  double mass = 0, momentum = 0;
  for (int z = 0; z < size[2]; ++z) {
    for (int y = 0; y < size[1]; ++y) {
      for (int x = 0; x < size[0]; ++x) {
        for (int i = 0; i < kVelocities; ++i) {
          mass += lattice.population(i, x, y, z, phase);
          momentum += kVelocity[i][0] * lattice.population(i, x, y, z, phase);
        }
      }
    }
  }
  EXPECT_NEAR(mass, 0, 1e-12);
  EXPECT_NEAR(momentum, 50 * 1e-5 * 2000, 1e-12);
}

TEST(Kernel, TwoMemorySweepsPutEverythingBack) {
  const Int3 size{21, 6, 6};
  const Deck deck = test::empty_deck(size);
  const Subdomain box = subdomain(deck, {1, 1, 1}, 0);
  Lattice lattice(box, random_solids(deck, box, 0.2), 1);
  const auto number = [&](int i, int x, int y, int z) { return 1 + x + 100 * y + 1e4 * z + 1e6 * i; };
  const auto each = [&](auto&& work) {
    for (int z = 0; z < size[2]; ++z) {
      for (int y = 0; y < size[1]; ++y) {
        for (int x = 0; x < size[0]; ++x) {
          for (int i = 0; i < kVelocities; ++i) work(lattice.places(i)[lattice.index(x, y, z)], number(i, x, y, z));
        }
      }
    }
  };
  each([](double& place, double n) { place = n; });
  const auto [begin, end] = lattice.all().part(0, 1);
  for (const Phase phase : {Phase::local, Phase::crossing}) {
    sweep_memory(lattice, phase, begin, end);
    double moved = 0;
    each([&](double& place, double n) { moved += place != n; });
    EXPECT_GT(moved, 0.5 * 18 * static_cast<double>(lattice.fluid_sites())) << "most populations change places";
    sweep_memory(lattice, phase, begin, end);
    each([](double& place, double n) { ASSERT_EQ(place, n); });
  }
}

}  // namespace
}  // namespace plait::lbm
