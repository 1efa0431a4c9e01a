// A source that nobody notifies: one of the threads that wait polls it, and the others are told.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <thread>
#include <vector>

#include "work.hpp"

namespace plait::progress::test {
namespace {

/// Neither spins nor yields: cores may be scarce.
constexpr Patience kNone{0, 0, 0};

TEST(PolledSource, OneOfThoseThatWaitPolls) {  // 3 threads
  constexpr int kThreads = 3;
  constexpr int kEach = 5;
  Work& work = Work::get(true);
  ASSERT_TRUE(must_poll());
  std::array<Place, kThreads> places;
  std::array<std::atomic<int>, kThreads> done{};
  int next = 0;
  // Each round has something for one of them. Only a thread that waits makes rounds.
  work.begin([&] {
    const auto i = static_cast<std::size_t>(next++ % kThreads);
    done[i].fetch_add(1, std::memory_order_release);
    places[i].event()->notify();
    return true;
  });
  std::vector<std::thread> threads;
  threads.reserve(kThreads);
  for (std::size_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 1; i <= kEach; ++i) {
        await(places[t], kNone, [&] { return done[t].load(std::memory_order_acquire) >= i; });
      }
    });
  }
  for (std::thread& t : threads) t.join();
  for (const auto& d : done) EXPECT_GE(d, kEach);
  work.end();
}

TEST(PolledSource, AWaitThatEndsHandsThePollingOn) {  // 2 threads
  Work& work = Work::get(true);
  Place first;
  Place second;
  std::atomic<int> reached{0};
  // The second's comes only once the first has gone, so that the second has to poll for it.
  std::atomic<bool> first_over{false};
  work.begin([&] {
    if (first_over) {
      reached = 2;
    } else if (work.rounds > 5) {
      reached = 1;
    }
    return false;
  });
  std::thread other([&] { await(second, kNone, [&] { return reached == 2; }); });
  await(first, kNone, [&] { return reached >= 1; });
  first_over = true;
  other.join();
  EXPECT_EQ(reached, 2);
  EXPECT_EQ(second.ended, second.begun);
  work.end();
}

}  // namespace
}  // namespace plait::progress::test
