#include "progress/helper.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "work.hpp"

namespace plait::progress::test {
namespace {

using namespace std::chrono_literals;

/// By no means of plait's: it drives nothing.
template <class Done>
void sleep_until_so(Done done) {
  while (!done()) std::this_thread::sleep_for(200us);
}

/// The first: there is no source before it.
TEST(Helper, DrivesTheFirstSourceThatIsMadeWhileAThreadIsBlocked) {  // 1 thread, and the helper
  ASSERT_FALSE(sources_exist());
  expect_threads();
  const Blocking blocking;
  Work& work = Work::get();
  work.begin([] { return true; });
  sleep_until_so([&] { return work.rounds >= 3; });
  work.end();
}

TEST(Helper, DrivesWhileAThreadIsBlocked) {  // 1 thread, and the helper
  Work& work = Work::get();
  const auto here = std::this_thread::get_id();
  std::atomic<int> by_another{0};
  work.begin([&] {
    if (std::this_thread::get_id() != here) ++by_another;
    return false;
  });
  {
    const Blocking blocking;
    EXPECT_EQ(work.flushes, 1);
    sleep_until_so([&] { return by_another >= 3; });
  }
  work.end();
}

TEST(Helper, DrivesAgainAfterItHasSlept) {  // 1 thread, and the helper
  Work& work = Work::get();
  for (int i = 0; i < 3; ++i) {
    work.begin([] { return true; });
    {
      const Blocking blocking;
      sleep_until_so([&] { return work.rounds >= 3; });
    }
    work.end();
    std::this_thread::sleep_for(150ms);  // it lingers for less
  }
}

TEST(Helper, DrivesWhatBeginsWhileAThreadIsBlocked) {  // 1 thread, and the helper
  Work& work = Work::get();
  work.begin(nullptr);
  work.end();
  const Blocking blocking;
  work.begin([] { return true; });
  sleep_until_so([&] { return work.rounds >= 3; });
  work.end();
}

std::atomic<bool> in_round{false};
std::atomic<int> rounds_of_key{0};

TEST(ProgressThread, MakesRoundsAndStopWaitsForTheRunningOne) {  // 1 thread, and the helper
  rounds_of_key = 0;
  const auto round = [](int key) {
    in_round = true;
    std::this_thread::sleep_for(20ms);
    rounds_of_key += key;
    in_round = false;
    return false;
  };
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(start_thread(1, round));
    sleep_until_so([] { return in_round.load(); });
    EXPECT_TRUE(stop_thread(1));
    EXPECT_FALSE(in_round);
    const int made = rounds_of_key;
    EXPECT_GE(made, i + 1);
    std::this_thread::sleep_for(50ms);
    EXPECT_EQ(rounds_of_key, made) << "none is made after it";
    EXPECT_FALSE(stop_thread(1)) << "it is stopped already";
  }
}

TEST(ProgressThread, KeysAreApart) {  // 1 thread, and the helper
  static std::atomic<int> rounds[3]{};
  const auto round = [](int key) {
    ++rounds[key];
    return false;
  };
  EXPECT_FALSE(stop_thread(1));
  ASSERT_TRUE(start_thread(1, round));
  ASSERT_TRUE(start_thread(2, round));
  sleep_until_so([] { return rounds[1] > 3 && rounds[2] > 3; });
  EXPECT_TRUE(stop_thread(1));
  const int first = rounds[1];
  const int second = rounds[2];
  sleep_until_so([&] { return rounds[2] > second + 3; });
  EXPECT_EQ(rounds[1], first);
  EXPECT_TRUE(stop_thread(2));
}

TEST(ProgressThread, ARoundMayStopItself) {  // 1 thread, and the helper
  static std::atomic<int> stopped{0};
  const auto round = [](int key) {
    if (stop_thread(key)) ++stopped;
    return true;
  };
  ASSERT_TRUE(start_thread(5, round));
  sleep_until_so([] { return stopped > 0; });
  std::this_thread::sleep_for(20ms);
  EXPECT_EQ(stopped, 1);
  EXPECT_FALSE(stop_thread(5));
}

/// The last: none can be had afterwards.
TEST(HelperEnd, IsNotToBeHadOnceItIsEnded) {  // 1 thread, and the helper
  ASSERT_TRUE(start_thread(7, [](int) { return false; }));
  EXPECT_TRUE(stop_thread(7));
  stop_helper();
  EXPECT_FALSE(start_thread(7, [](int) { return false; }));
  EXPECT_FALSE(engage_helper());
}

}  // namespace
}  // namespace plait::progress::test
