#include "subteam/shares.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "subteam/subteam.hpp"

namespace plait::subteam::test {
namespace {

std::vector<double> level(const std::vector<Pace>& paces, double work) {
  std::vector<double> shares(paces.size());
  std::vector<int> order(paces.size());
  subteam::level(paces, work, shares, order);
  return shares;
}

TEST(Level, EqualThreadsGetEqualShares) {
  for (const double share : level({{0, 5}, {0, 5}, {0, 5}, {0, 5}}, 100)) EXPECT_DOUBLE_EQ(share, 0.25);
}

TEST(Level, WhoCommunicatesGetsLess) {
  // 100 units, 1 a second each: all end after (100 + 20) / 4 = 30 seconds.
  const auto shares = level({{20, 1}, {0, 1}, {0, 1}, {0, 1}}, 100);
  EXPECT_DOUBLE_EQ(shares[0], 0.1);
  EXPECT_DOUBLE_EQ(shares[1], 0.3);
}

TEST(Level, WhoIsBusyToTheEndGetsNothing) {
  const auto shares = level({{50, 1}, {0, 1}, {0, 1}}, 80);
  EXPECT_EQ(shares[0], 0);
  EXPECT_DOUBLE_EQ(shares[1], 0.5);
}

TEST(Level, SlowerThreadsGetLess) {
  const auto shares = level({{0, 1}, {0, 3}}, 10);
  EXPECT_DOUBLE_EQ(shares[0], 0.25);
  EXPECT_DOUBLE_EQ(shares[1], 0.75);
}

TEST(Level, OneThreadDoesAll) { EXPECT_EQ(level({{1000, 0.001}}, 1).front(), 1); }

// No other shares end earlier: moving a little from any thread to any other ends later, or at the same time.
TEST(Level, EndsAsEarlyAsCanBe) {
  std::mt19937 random(1);
  std::uniform_real_distribution<double> number(0, 1);
  for (int round = 0; round < 500; ++round) {
    const std::size_t threads = 1 + random() % 8;
    std::vector<Pace> paces(threads);
    for (Pace& p : paces) p = {random() % 3 == 0 ? 0 : number(random), 0.1 + number(random)};
    const double work = 0.01 + number(random);
    const auto shares = level(paces, work);
    double sum = 0;
    for (const double share : shares) {
      EXPECT_GE(share, 0);
      sum += share;
    }
    EXPECT_NEAR(sum, 1, 1e-12);
    // Who is busy beside the work for longer than that ends later with no work at all.
    const double end = time_of(paces, work, shares);
    for (std::size_t from = 0; from < threads; ++from) {
      for (std::size_t to = 0; to < threads; ++to) {
        auto other = shares;
        const double moved = std::min(other[from], 0.01);
        other[from] -= moved;
        other[to] += moved;
        EXPECT_GE(time_of(paces, work, other), end - 1e-9) << "round " << round;
      }
    }
  }
}

TEST(Median, FollowsAChangeInThreeValuesAndNoSingleOne) {
  Median median;
  EXPECT_TRUE(median.empty());
  for (int i = 0; i < 7; ++i) median.add(10);
  median.add(1000);
  EXPECT_EQ(median.value(), 10);
  for (int i = 0; i < 4; ++i) median.add(10);
  median.add(20);
  median.add(20);
  EXPECT_EQ(median.value(), 10);
  median.add(20);
  EXPECT_EQ(median.value(), 20);
}

TEST(Median, OfFewValues) {
  Median median;
  median.add(3);
  EXPECT_EQ(median.value(), 3);
  median.add(1);
  EXPECT_EQ(median.value(), 2);
}

TEST(PartOf, CoversTheLoopOnce) {
  constexpr long kMost = std::numeric_limits<long>::max(), kLeast = std::numeric_limits<long>::min();
  for (const auto& [low, high] : {std::pair{0L, 10L}, {-3L, 4L}, {0L, 0L}, {5L, 2L}, {0L, 3L}, {kLeast, kMost}, {kMost - 1, kMost}}) {
    for (const int parts : {1, 2, 3, 7}) {
      long at = low;
      for (int part = 0; part < parts; ++part) {
        const Range r = part_of(low, high, part, parts);
        EXPECT_EQ(r.begin, at);
        EXPECT_LE(r.begin, r.end);
        at = r.end;
      }
      EXPECT_EQ(at, std::max(low, high > low ? high : low));
    }
  }
}

}  // namespace
}  // namespace plait::subteam::test
