#include "geometry.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <random>

#include "error.hpp"
#include "reference.hpp"

namespace plait::lbm {
namespace {

std::uint8_t kind_at(const Solids& s, const Subdomain& box, int x, int y, int z) {
  const Int3& n = box.size;
  return s.kind[(x + 1) + (n[0] + 2) * ((y + 1) + static_cast<std::size_t>(n[1] + 2) * (z + 1))];
}

TEST(PackSpheres, NoTwoOverlapAndTheFractionIsMet) {
  const Packing packing{5.0, 0.5, 3};
  const Int3 size{60, 50, 40};
  const auto centers = pack_spheres(packing, size);
  EXPECT_NEAR(centers.size() * 4.0 / 3 * M_PI * 125 / (60.0 * 50 * 40), 0.5, 0.005);
  for (std::size_t a = 0; a < centers.size(); ++a) {
    for (std::size_t b = 0; b < a; ++b) {
      double square = 0;
      for (int d = 0; d < 3; ++d) {
        double r = std::abs(centers[a][d] - centers[b][d]);
        r = std::min(r, size[d] - r);
        square += r * r;
      }
      ASSERT_GE(std::sqrt(square), 10.0);
    }
  }
}

TEST(PackSpheres, TheSeedDecides) {
  EXPECT_EQ(pack_spheres({4.0, 0.3, 1}, {32, 32, 32}), pack_spheres({4.0, 0.3, 1}, {32, 32, 32}));
  EXPECT_NE(pack_spheres({4.0, 0.3, 1}, {32, 32, 32}), pack_spheres({4.0, 0.3, 2}, {32, 32, 32}));
}

TEST(MarkSolids, BoxesOfADivisionAgreeWithTheWholeLayerIncluded) {
  Deck deck = test::empty_deck({15, 12, 10});
  deck.geometry.spheres = {{{0, 0, 0}, 4.2, {}}};
  deck.geometry.boxes = {{{10, 3, 8}, {17, 5, 12}, {0.1, 0, 0}}};
  deck.walls[1] = {Double3{}, Double3{0, 0, 0.05}};
  const Subdomain whole = subdomain(deck, {1, 1, 1}, 0);
  const Solids all = mark_solids(deck, whole, "", {});
  for (int p = 0; p < 12; ++p) {
    const Subdomain box = subdomain(deck, {3, 2, 2}, p);
    const Solids part = mark_solids(deck, box, "", {});
    for (int z = -1; z <= box.size[2]; ++z) {
      for (int y = -1; y <= box.size[1]; ++y) {
        for (int x = -1; x <= box.size[0]; ++x) {
          ASSERT_EQ(kind_at(part, box, x, y, z),
                    kind_at(all, whole, (box.offset[0] + x + 15) % 15, box.offset[1] + y, (box.offset[2] + z + 10) % 10));
        }
      }
    }
  }
}

TEST(MarkSolids, SitesWhoseCentresLieInASphereAreSolid) {
  Deck deck = test::empty_deck({40, 40, 40});
  deck.geometry.arrays = {{{1, 1, 1}, 15.0}};
  const Subdomain box = subdomain(deck, {1, 1, 1}, 0);
  const Solids s = mark_solids(deck, box, "", {});
  for (int z = 0; z < 40; ++z) {
    for (int y = 0; y < 40; ++y) {
      for (int x = 0; x < 40; ++x) {
        const int a = 2 * x - 39, b = 2 * y - 39, c = 2 * z - 39;  // twice the distance from the middle
        ASSERT_EQ(kind_at(s, box, x, y, z) != 0, a * a + b * b + c * c <= 900);
      }
    }
  }
}

TEST(MarkSolids, SpheresAreWhereEverySiteAskedOneByOneFindsThem) {
  std::mt19937_64 random(5);
  const auto uniform = [&](double low, double high) { return low + (high - low) * static_cast<double>(random() >> 11) * 0x1p-53; };
  for (int round = 0; round < 200; ++round) {
    Deck deck = test::empty_deck({static_cast<int>(uniform(3, 25)), static_cast<int>(uniform(3, 25)), static_cast<int>(uniform(3, 25))});
    if (round % 2) deck.walls[round / 2 % 3] = {Double3{}, Double3{}};
    const double far = round % 10 == 0 ? 1e6 : 40;
    const Sphere o{{uniform(-far, far), uniform(-40, 40), round % 7 ? uniform(-40, 40) : 4.5}, uniform(0.1, round % 5 ? 6 : 20), {}};
    deck.geometry.spheres = {o};
    for (int p = 0; p < 8; ++p) {
      const Subdomain box = subdomain(deck, {2, 2, 2}, p);
      const Solids s = mark_solids(deck, box, "", {});
      for (int z = 0; z < box.size[2]; ++z) {
        for (int y = 0; y < box.size[1]; ++y) {
          for (int x = 0; x < box.size[0]; ++x) {
            const int at[3] = {x, y, z};
            double r[3];
            for (int d = 0; d < 3; ++d) {
              const double n = deck.size[d];
              r[d] = box.offset[d] + at[d] + 0.5 - o.center[d];
              if (deck.periodic(d)) r[d] -= n * std::floor(r[d] / n + 0.5);
            }
            const double square = r[1] * r[1] + r[2] * r[2];
            ASSERT_EQ(kind_at(s, box, x, y, z) != 0, square + r[0] * r[0] <= o.radius * o.radius) << "round " << round;
          }
        }
      }
    }
  }
}

TEST(MarkSolids, AMillionSpheresTakeAMoment) {
  Deck deck = test::empty_deck({200, 200, 200});
  deck.geometry.arrays = {{{100, 100, 100}, 0.9}};
  const Subdomain box = subdomain(deck, {1, 1, 1}, 0);
  const Solids s = mark_solids(deck, box, "", {});
  EXPECT_EQ(std::count(s.kind.begin(), s.kind.end(), 0), 0) << "each sphere has the eight sites around it";
}

TEST(MarkSolids, WhereWallsMeetThatMoveOtherwiseTheEdgeIsAtRest) {
  Deck deck = test::empty_deck({5, 4, 3});
  deck.walls[0] = {Double3{0, 0.05, 0}, Double3{0, 0, 0}};
  deck.walls[1] = {Double3{0.03, 0, 0}, Double3{0.05, 0, 0}};
  const Subdomain box = subdomain(deck, {1, 1, 1}, 0);
  const Solids s = mark_solids(deck, box, "", {});
  const auto velocity = [&](int x, int y) { return s.walls[kind_at(s, box, x, y, 1) - 1]; };
  EXPECT_EQ(velocity(-1, 2), (Double3{0, 0.05, 0}));
  EXPECT_EQ(velocity(2, 4), (Double3{0.05, 0, 0}));
  for (const int x : {-1, 5}) {
    for (const int y : {-1, 4}) EXPECT_EQ(velocity(x, y), Double3{});
  }
}

/// A .npy file in a folder of its own, gone at the end.
class NumpyFileTest : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/plait-geometry-XXXXXX";
    folder_ = mkdtemp(name);
    deck_ = test::empty_deck({3, 2, 2});
    deck_.geometry.file = "g.npy";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void save(const std::string& type, const std::string& shape, const std::string& bytes, const std::string& order = "False") {
    std::string header = "{'descr': '" + type + "', 'fortran_order': " + order + ", 'shape': (" + shape + "), }";
    while ((header.size() + 11) % 64) header += ' ';
    header += '\n';
    std::ofstream out(folder_ + "/g.npy", std::ios::binary);
    out << "\x93NUMPY" << '\1' << '\0' << static_cast<char>(header.size() & 0xff) << static_cast<char>(header.size() >> 8) << header
        << bytes;
  }
  std::string complaint() {
    try {
      (void)mark_solids(deck_, subdomain(deck_, {1, 1, 1}, 0), folder_, {});
    } catch (const Error& e) {
      return e.what();
    }
    return "nothing";
  }

  std::string folder_;
  Deck deck_;
};

TEST_F(NumpyFileTest, IsReadWithXFastest) {
  save("|u1", "2, 2, 3", std::string("\0\1\0\0\0\0\0\0\0\0\0\7", 12));
  const Subdomain box = subdomain(deck_, {1, 1, 1}, 0);
  const Solids s = mark_solids(deck_, box, folder_, {});
  EXPECT_EQ(kind_at(s, box, 1, 0, 0), 1);
  EXPECT_EQ(kind_at(s, box, 2, 1, 1), 1);
  EXPECT_EQ(kind_at(s, box, 0, 0, 0), 0);
  EXPECT_EQ(kind_at(s, box, -1, -1, -1), 1) << "the image of the last site";
}

TEST_F(NumpyFileTest, DamagedHeadersOfAnyLengthAreRefused) {
  const auto write = [&](char version, const std::string& header) {
    const auto byte = [&](int k) { return static_cast<char>(header.size() >> (8 * k)); };
    std::ofstream out(folder_ + "/g.npy", std::ios::binary);
    out << "\x93NUMPY" << version << '\0' << byte(0) << byte(1);
    if (version > 1) out << byte(2) << byte(3);
    out << header << std::string(12, '\0');
  };
  const std::string spaces(900000, ' '), brackets(900000, '('), few(60000, ' ');
  for (const std::string& junk : {spaces, brackets}) {
    write(2, "{'descr': " + junk);
    EXPECT_THAT(complaint(), testing::HasSubstr("damaged header"));
  }
  write(2, "{'descr': '" + few);
  EXPECT_THAT(complaint(), testing::HasSubstr("no plain element type"));
  write(1, "{'descr': '|u1', 'fortran_order': False, 'shape': " + std::string(60000, '('));
  EXPECT_THAT(complaint(), testing::HasSubstr("has no shape"));
  write(1, "{'descr': '|u1', 'fortran_order': False, 'shape': (" + few + ")");
  EXPECT_THAT(complaint(), testing::AllOf(testing::HasSubstr("has the shape"), testing::SizeIs(testing::Lt(500))));
  write(1, "{'descr': '|u1', 'fortran_order': " + few + "False, 'shape': " + "(2, 2, 3)");
  EXPECT_EQ(complaint(), "nothing") << "spaces are no damage";
  write(9, "{'descr': '|u1', 'fortran_order': False, 'shape': (2, 2, 3)");
  EXPECT_THAT(complaint(), testing::HasSubstr("version 9"));
}

TEST_F(NumpyFileTest, APipeIsNotWaitedFor) {
  ASSERT_EQ(mkfifo((folder_ + "/g.npy").c_str(), 0600), 0);
  EXPECT_THAT(complaint(), testing::HasSubstr("not a file"));
}

TEST_F(NumpyFileTest, WrongOnesAreRefused) {
  EXPECT_THAT(complaint(), testing::HasSubstr("cannot be opened"));
  save("|u1", "3, 2, 2", std::string(12, '\0'));
  EXPECT_THAT(complaint(), testing::HasSubstr("has the shape (3, 2, 2); lattice.size needs (nz, ny, nx) = (2, 2, 3)"));
  save("<f8", "2, 2, 3", std::string(96, '\0'));
  EXPECT_THAT(complaint(), testing::HasSubstr("must hold bytes"));
  save("|u1", "2, 2, 3", std::string(12, '\0'), "True");
  EXPECT_THAT(complaint(), testing::HasSubstr("Fortran order"));
  save("|u1", "2, 2, 3", std::string(11, '\0'));
  EXPECT_THAT(complaint(), testing::HasSubstr("cut short: 11 of 12 bytes"));
  std::ofstream(folder_ + "/g.npy") << "hello";
  EXPECT_THAT(complaint(), testing::HasSubstr("not a NumPy"));
}

}  // namespace
}  // namespace plait::lbm
