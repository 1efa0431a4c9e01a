// All processes of a decomposition live in one: messages are carried by hand. The outcome must have the same bits as
// one undivided box.
#include "halo.hpp"

#include <gtest/gtest.h>

#include <memory>

#include "kernel.hpp"
#include "reference.hpp"

namespace plait::lbm {
namespace {

struct Process {
  Subdomain box;
  std::unique_ptr<Lattice> lattice;
  std::unique_ptr<Halo> halo;
};

std::vector<Process> processes_of(const Deck& deck, const Int3& grid) {
  std::vector<Process> all;
  for (int p = 0; p < grid[0] * grid[1] * grid[2]; ++p) {
    Process& q = all.emplace_back();
    q.box = subdomain(deck, grid, p);
    q.lattice = std::make_unique<Lattice>(q.box, mark_solids(deck, q.box, "", {}), 1);
    q.halo = std::make_unique<Halo>(*q.lattice);
  }
  return all;
}

void exchange(std::vector<Process>& all, Direction d, int pieces) {
  for (auto& p : all) {
    for (Link& link : p.halo->links()) {
      for (int k = pieces - 1; k >= 0; --k) link.pack(d, k, pieces);
    }
  }
  for (std::size_t p = 0; p < all.size(); ++p) {
    for (Link& to : all[p].halo->links()) {
      for (Link& from : all[to.neighbor()].halo->links()) {
        if (from.neighbor() != static_cast<int>(p) || from.send_tag() != to.receive_tag()) continue;
        for (int k = 0; k < pieces; ++k) {
          const auto sent = from.send_buffer(k, pieces), received = to.receive_buffer(k, pieces);
          ASSERT_EQ(sent.size(), received.size());
          std::copy(sent.begin(), sent.end(), received.begin());
        }
      }
      for (int k = 0; k < pieces; ++k) to.unpack(d, k, pieces);
    }
  }
}

std::vector<Process> flow(const Deck& deck, const Int3& grid, int steps, int pieces) {
  std::vector<Process> all = processes_of(deck, grid);
  Phase phase = Phase::local;
  for (int k = 0; k <= steps; ++k, phase = next(phase)) {
    if (k > 0) exchange(all, before(phase), pieces);
    if (k == steps) break;
    for (auto& p : all) {
      for (const Spans* part : {&p.lattice->interior(), &p.lattice->boundary()}) {
        const auto [begin, end] = part->part(0, 1);
        update(*p.lattice, {deck.viscosity, deck.force}, phase, begin, end);
      }
    }
  }
  return all;
}

class HaloTest : public testing::TestWithParam<Int3> {};

TEST_P(HaloTest, DividedFlowHasTheSameBitsAsUndivided) {
  Deck deck = test::empty_deck({18, 9, 11});
  deck.force = {1e-4, 2e-5, -3e-5};
  deck.walls[1] = {Double3{}, Double3{0.03, 0, 0.01}};
  deck.geometry.spheres = {{{1, 4, 10}, 3.2, {}}, {{9, 2, 5}, 2.5, {0.01, 0, 0}}};
  for (int steps : {6, 7}) {
    const Phase phase = steps % 2 ? Phase::crossing : Phase::local;
    const auto whole = flow(deck, {1, 1, 1}, steps, 1);
    const auto divided = flow(deck, GetParam(), steps, 3);
    for (const auto& p : divided) {
      for (int z = 0; z < p.box.size[2]; ++z) {
        for (int y = 0; y < p.box.size[1]; ++y) {
          for (int x = 0; x < p.box.size[0]; ++x) {
            for (int i = 0; i < kVelocities && p.lattice->fluid(x, y, z); ++i) {
              const auto& o = p.box.offset;
              ASSERT_EQ(p.lattice->population(i, x, y, z, phase), whole[0].lattice->population(i, o[0] + x, o[1] + y, o[2] + z, phase));
            }
          }
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Grids, HaloTest,
                         testing::Values(Int3{1, 1, 2}, Int3{1, 2, 1}, Int3{2, 1, 1}, Int3{2, 2, 1}, Int3{3, 1, 2}, Int3{2, 3, 2},
                                         Int3{18, 1, 1}, Int3{1, 9, 1}, Int3{4, 3, 11}),
                         [](const auto& info) {
                           return std::to_string(info.param[0]) + "x" + std::to_string(info.param[1]) + "x" + std::to_string(info.param[2]);
                         });

TEST(Halo, OnlyFiveOfNineteenPopulationsCrossAFace) {
  const Deck deck = test::empty_deck({16, 16, 16});
  const auto all = processes_of(deck, {1, 1, 2});
  EXPECT_EQ(all[0].halo->links().size(), 2U);
  EXPECT_EQ(all[0].halo->bytes(), 2L * 5 * 16 * 16 * 8);
}

TEST_P(HaloTest, BytesAreKnownBeforeThereIsALattice) {
  Deck deck = test::empty_deck({18, 9, 11});
  deck.walls[1] = {Double3{}, Double3{}};
  for (const auto& p : processes_of(deck, GetParam())) {
    const std::vector<Int3> sides = shared_sides(p.box);
    ASSERT_EQ(sides.size(), p.halo->links().size());
    long places = 0;
    for (std::size_t k = 0; k < sides.size(); ++k) {
      EXPECT_EQ(p.halo->links()[k].neighbor(), p.box.neighbor(sides[k]));
      EXPECT_EQ(places_across(p.box, sides[k]), static_cast<long>(p.halo->links()[k].extent().count));
      places += places_across(p.box, sides[k]);
    }
    EXPECT_EQ(p.halo->bytes(), places * static_cast<long>(sizeof(double)));
  }
}

}  // namespace
}  // namespace plait::lbm
