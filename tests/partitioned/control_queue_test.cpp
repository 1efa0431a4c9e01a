// Several threads put, one takes: nothing is lost or comes twice, and what comes from one is in order. 1 x 5 threads. Also under
// ThreadSanitizer.
#include "partitioned/control_queue.hpp"

#include <gtest/gtest.h>
#include <sched.h>

#include <array>
#include <memory>
#include <thread>
#include <vector>

namespace plait::partitioned {
namespace {

struct Letter {
  std::uint32_t from;
  std::uint32_t number;
  std::array<std::uint64_t, 8> text;
};
using Box = ControlQueue<Letter>;

/// As it is in shared memory.
std::unique_ptr<Box> empty_box() { return std::make_unique<Box>(); }

TEST(ControlQueue, RefusesWhatItHasNoRoomFor) {
  const auto box = empty_box();
  std::uint64_t taken = 0;
  Letter letter{};
  EXPECT_FALSE(box->take(taken, letter));
  for (std::uint32_t round = 0; round < 5; ++round) {
    for (std::uint32_t i = 0; i < Box::kSlots; ++i) ASSERT_TRUE(box->put({0, i, {}}));
    ASSERT_FALSE(box->put({0, 999, {}}));
    for (std::uint32_t i = 0; i < Box::kSlots; ++i) {
      ASSERT_TRUE(box->take(taken, letter));
      ASSERT_EQ(letter.number, i);
    }
    ASSERT_FALSE(box->take(taken, letter));
  }
}

TEST(ControlQueue, KeepsTheOrderOfEachThread) {
  constexpr std::uint32_t kThreads = 4;
  constexpr std::uint32_t kLetters = 20000;
  const auto box = empty_box();
  std::vector<std::thread> threads;
  threads.reserve(kThreads);
  for (std::uint32_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&box, t] {
      for (std::uint32_t i = 0; i < kLetters; ++i) {
        Letter letter{t, i, {}};
        letter.text.fill(i * 31 + t);
        while (!box->put(letter)) sched_yield();
      }
    });
  }
  std::array<std::uint32_t, kThreads> next{};
  std::uint64_t taken = 0;
  while (taken < std::uint64_t{kThreads} * kLetters) {
    Letter letter{};
    if (!box->take(taken, letter)) {
      sched_yield();
      continue;
    }
    EXPECT_EQ(letter.number, next.at(letter.from)++);
    for (const std::uint64_t word : letter.text) EXPECT_EQ(word, letter.number * 31 + letter.from);
  }
  for (std::thread& t : threads) t.join();
}

}  // namespace
}  // namespace plait::partitioned
