// Balanced loops by a clock of each thread's own, which moves as the test says: what is learnt does not depend on the machine.
#include "subteam/balance.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <random>
#include <thread>
#include <vector>

#include "base/event_count.hpp"
#include "subteam/loops.hpp"
#include "subteam/team.hpp"

namespace plait::subteam::test {
namespace {

thread_local std::uint64_t nanoseconds = 0;
std::uint64_t clock() noexcept { return nanoseconds; }
void spend(double seconds) { nanoseconds += static_cast<std::uint64_t>(seconds * 1e9); }

constexpr int kThreads = 4;
constexpr long kWork = 10000;

struct Job {
  std::function<double(int round, int thread)> beside = [](int, int) { return 0.0; };
  std::function<double(int round, long i)> cost = [](int, long) { return 1e-6; };  // seconds for an iteration
  std::function<double(int thread)> speed = [](int) { return 1.0; };
};

class Loop {
 public:
  Loop() { event_count_begin(); }

  /// Makes rounds, in each of which every iteration has to be done once.
  void run(int rounds, const Job& job, long work = kWork) {
    std::vector<int> done(static_cast<std::size_t>(std::max(work, 0L)));
    std::vector<std::thread> threads;
    threads.reserve(kThreads);
    for (int me = 0; me < kThreads; ++me) {
      threads.emplace_back([&, me] {
        for (int round = 0; round < rounds; ++round) {
          balance.begin_round(me);
          spend(job.beside(round, me));
          plait_loop loop = balance.begin_loop(me, 0, work);
          while (next_range(loop)) {
            for (long i = loop.begin; i < loop.end; ++i) {
              ++done[static_cast<std::size_t>(i)];
              spend(job.cost(round, i) / job.speed(me));
            }
          }
        }
      });
    }
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(done, std::vector<int>(done.size(), rounds));
  }
  [[nodiscard]] std::vector<double> shares() const {
    std::vector<double> shares(kThreads);
    for (int t = 0; t < kThreads; ++t) shares[static_cast<std::size_t>(t)] = balance.share(t);
    return shares;
  }
  void expect(const std::vector<double>& wanted) const {
    for (int t = 0; t < kThreads; ++t) EXPECT_NEAR(shares()[static_cast<std::size_t>(t)], wanted[static_cast<std::size_t>(t)], 0.01) << t;
  }

  Team team{kThreads};
  Balance balance{team.threads(0, kThreads - 1), clock};
};

constexpr double kEqual = 1.0 / kThreads;
const std::vector<double> kEqualShares(kThreads, kEqual);

TEST(Balance, WhatIsLevelStays) {  // 4 threads
  Loop loop;
  loop.run(10, {});
  EXPECT_EQ(loop.shares(), kEqualShares);
  // 1% more for one thread is not worth to move work for.
  loop.run(10, {.beside = [](int, int me) { return me == 2 ? 25e-6 : 0; }});
  EXPECT_EQ(loop.shares(), kEqualShares);
}

// 10 ms of work and 3 beside it: all end after 3.25 ms.
TEST(Balance, WhoCommunicatesGetsLess) {  // 4 threads
  Loop loop;
  loop.run(2, {.beside = [](int, int me) { return me == 0 ? 3e-3 : 0; }});
  loop.expect({0.025, 0.325, 0.325, 0.325});
}

TEST(Balance, WhoCommunicatesForLongerGetsNothing) {  // 4 threads
  Loop loop;
  loop.run(3, {.beside = [](int, int me) { return me == 1 ? 0.05 : 0; }});
  loop.expect({1.0 / 3, 0, 1.0 / 3, 1.0 / 3});
  EXPECT_EQ(loop.balance.share(1), 0);
  // ... and gets its part again when it no longer does.
  loop.run(4, {});
  loop.expect(kEqualShares);
}

TEST(Balance, FollowsAChangeInThreeRounds) {  // 4 threads
  Loop loop;
  const auto beside = [](int busy) { return [busy](int, int me) { return me == busy ? 2e-3 : 0.0; }; };
  loop.run(8, {.beside = beside(0)});
  loop.expect({0.1, 0.3, 0.3, 0.3});
  loop.run(3, {.beside = beside(3)});
  loop.expect({0.3, 0.3, 0.3, 0.1});
}

TEST(Balance, AHiccupChangesNothing) {  // 4 threads
  Loop loop;
  const auto beside = [](int round, int me) { return (me == 0 ? 2e-3 : 0.0) + (round == 7 && me == 2 ? 0.5 : 0.0); };
  loop.run(9, {.beside = beside});
  loop.expect({0.1, 0.3, 0.3, 0.3});
}

TEST(Balance, SlowerThreadsGetLess) {  // 4 threads
  Loop loop;
  loop.run(6, {.speed = [](int me) { return me == 3 ? 0.5 : 1.0; }});
  loop.expect({2.0 / 7, 2.0 / 7, 2.0 / 7, 1.0 / 7});
}

TEST(Balance, AHiccupInTheFirstRoundIsForgotten) {  // 4 threads
  Loop loop;
  loop.run(8, {.cost = [](int round, long i) { return round == 0 && i >= kWork / 2 && i < kWork / 2 + 10 ? 4e-3 : 1e-6; }});
  loop.expect(kEqualShares);
}

TEST(Balance, AThreadThatWasSlowForAWhileComesBack) {  // 4 threads
  Loop loop;
  for (int round = 0; round < 60; ++round) loop.run(1, {.speed = [&](int me) { return me == 3 && round < 10 ? 1e-5 : 1.0; }});
  loop.expect(kEqualShares);
}

// Some iterations cost thirty times as much as others: then shares need not be the best, but they are not worse than equal ones, and stay.
TEST(Balance, IterationsThatCostDifferentlyDoNotMakeSharesSwing) {  // 4 threads
  constexpr long kBlocks = 16;
  for (unsigned seed = 1; seed <= 12; ++seed) {
    std::mt19937 random(seed);
    std::vector<double> costs(kBlocks);
    for (double& c : costs) c = random() % 4 == 0 ? 3e-5 : 1e-6;
    const auto cost = [&](int, long i) { return costs[static_cast<std::size_t>(i * kBlocks / kWork)]; };
    Loop loop;
    loop.run(80, {.cost = cost});
    const auto before = loop.shares();
    loop.run(10, {.cost = cost});
    EXPECT_EQ(loop.shares(), before) << "seed " << seed;
    // When the last thread ends.
    const auto end_of = [&](const std::vector<double>& of) {
      double worst = 0, part = 0;
      long at = 0;
      for (const double share : of) {
        part += share;
        double seconds = 0;
        for (const long end = std::lround(part * kWork); at < end; ++at) seconds += cost(0, at);
        worst = std::max(worst, seconds);
      }
      return worst;
    };
    EXPECT_LT(end_of(loop.shares()), 1.06 * end_of(kEqualShares)) << "seed " << seed;
  }
}

// The expensive iterations wander from thread to thread, with what is done beside.
TEST(Balance, WorkThatShiftsIsDoneOnce) {  // 4 threads
  Loop loop;
  loop.run(40, {.beside = [](int round, int me) { return me == round / 5 % kThreads ? 1e-3 : 0; },
                .cost = [](int round, long i) { return i / 500 == round / 2 ? 2e-5 : 1e-6; }});
  const auto shares = loop.shares();
  EXPECT_NEAR(std::accumulate(shares.begin(), shares.end(), 0.0), 1, 1e-12);
}

TEST(Balance, FewIterationsOrNone) {  // 4 threads
  Loop loop;
  for (const long work : {1L, 3L, 0L, -5L, 2L}) loop.run(5, {.beside = [](int, int me) { return me == 0 ? 1e-3 : 0; }}, work);
}

TEST(Balance, FixedSharesStay) {  // 4 threads
  Loop loop;
  const double shares[kThreads] = {0, 2, 1, 1};
  loop.balance.fix(shares);
  loop.run(5, {.beside = [](int, int me) { return me == 1 ? 0.05 : 0; }});
  EXPECT_EQ(loop.shares(), (std::vector<double>{0, 0.5, 0.25, 0.25}));
  loop.balance.fix(nullptr);
  loop.run(4, {.beside = [](int, int me) { return me == 1 ? 0.05 : 0; }});
  loop.expect({1.0 / 3, 0, 1.0 / 3, 1.0 / 3});
}

TEST(Balance, SharesThatNoNumberCanHaveLeaveNothingUndone) {  // 4 threads
  Loop loop;
  const double shares[kThreads] = {1e-300, 1.0 / 3, 0.1, 0};
  loop.balance.fix(shares);
  for (const long work : {1L, 7L, 1000L}) loop.run(1, {}, work);
}

}  // namespace
}  // namespace plait::subteam::test
