// Groups of ranks that are threads, and the lanes of a communicator: what holds for many of them. No MPI is started.
#include "threadcomm/group.hpp"

#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <iterator>
#include <random>
#include <vector>

namespace plait::threadcomm {
namespace {

Place place(std::size_t number) { return {static_cast<std::int32_t>(number % 7), static_cast<std::int32_t>(number % 5), number}; }

std::vector<Place> some(std::mt19937& random, std::size_t of, unsigned percent) {
  std::vector<Place> all;
  for (std::size_t i = 0; i < of; ++i) {
    if (random() % 100 < percent) all.push_back(place(i));
  }
  std::ranges::shuffle(all, random);
  return all;
}

bool has(const std::vector<Place>& all, const Place& one) { return std::ranges::find(all, one) != all.end(); }

TEST(Group, CombinesAsTheSlowWayDoes) {
  std::mt19937 random(5);
  for (int i = 0; i < 200; ++i) {
    const std::vector<Place> one = some(random, 1 + random() % 60, 50);
    const std::vector<Place> other = some(random, 1 + random() % 60, 50);
    std::vector<Place> both = one;
    std::vector<Place> common;
    std::vector<Place> rest;
    std::ranges::copy_if(other, std::back_inserter(both), [&](const Place& p) { return !has(one, p); });
    std::ranges::copy_if(one, std::back_inserter(common), [&](const Place& p) { return has(other, p); });
    std::ranges::copy_if(one, std::back_inserter(rest), [&](const Place& p) { return !has(other, p); });
    EXPECT_EQ(unite(one, other), both);
    EXPECT_EQ(intersect(one, other), common);
    EXPECT_EQ(subtract(one, other), rest);
    const Index index(one);
    for (std::size_t r = 0; r < one.size(); ++r) EXPECT_EQ(index.rank_of(one[r]), static_cast<int>(r));
    for (const Place& p : other) EXPECT_EQ(index.has(p), has(one, p));
  }
}

/// The slow way compares 10^12 pairs here, which takes longer than the test may.
TEST(Group, OfAMillionMembers) {
  std::mt19937 random(6);
  const std::vector<Place> all = some(random, 1'000'000, 100);
  const std::vector<Place> half = some(random, 1'000'000, 50);
  EXPECT_EQ(unite(all, half).size(), all.size());
  EXPECT_EQ(intersect(half, all), half);
  EXPECT_EQ(subtract(all, half).size(), all.size() - half.size());
}

/// 64 threads in each of 1,000 processes: a table a thread would take 32 MB for this process's.
TEST(Lanes, TakeMemoryForThoseThatAreUsed) {
  constexpr std::size_t kEndpoints = 64'000;
  lane::LaneOut* const lane = reinterpret_cast<lane::LaneOut*>(std::uintptr_t{64});  // NOLINT(performance-no-int-to-ptr): never looked at
  const std::size_t before = mallinfo2().uordblks;
  std::vector<p2p::Lanes> threads;
  for (std::uint32_t i = 0; i < 64; ++i) {
    p2p::Lanes& lanes = threads.emplace_back(kEndpoints);
    for (const std::uint32_t to : {i, 63'999U}) {
      EXPECT_EQ(lanes.find(to), nullptr);
      lanes.at(to) = lane;
      EXPECT_EQ(lanes.find(to), lane);
      EXPECT_EQ(lanes.at(to), lane);
    }
    EXPECT_EQ(lanes.find(1000), nullptr);
  }
  EXPECT_LT(mallinfo2().uordblks - before, 1'000'000U);
}

}  // namespace
}  // namespace plait::threadcomm
