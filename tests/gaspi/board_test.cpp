// Threads that post, wait for and reset notifications of one board, as processes of a node do; and mappings that go while threads use them.
// 1 x 2 to 6 threads. Also under ThreadSanitizer.
#include "gaspi/board.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "gaspi/in_use.hpp"

namespace plait::gaspi {
namespace {

using namespace std::chrono_literals;

/// Zeroes are a board.
class Memory {
 public:
  Memory() {
    event_count_begin();
    memory_ = std::aligned_alloc(4096, sizeof(Board));
    std::memset(memory_, 0, sizeof(Board));
  }
  ~Memory() { std::free(memory_); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  [[nodiscard]] Board& board() const { return *static_cast<Board*>(memory_); }

 private:
  void* memory_;
};

/// As waitsome does it, without spinning.
std::uint32_t wait(Board& board, std::uint32_t begin, std::uint32_t count) {
  for (;;) {
    if (const auto found = board.find(begin, count)) return *found;
    const EventCount::Key key = board.event().prepare();
    if (const auto found = board.find(begin, count)) {
      board.event().cancel(key);
      return *found;
    }
    board.event().wait(key, 100ms);
  }
}

TEST(Board, FindsTheFirstOfARange) {
  const Memory memory;
  Board& board = memory.board();
  EXPECT_FALSE(board.find(0, kNotifications));
  board.post(70, 5);
  board.post(65535, 6);
  EXPECT_EQ(board.find(0, kNotifications), 70U);
  EXPECT_EQ(board.find(71, kNotifications - 71), 65535U);
  EXPECT_FALSE(board.find(71, 1000));
  EXPECT_FALSE(board.find(0, 70));
  EXPECT_EQ(board.find(70, 1), 70U);
  EXPECT_EQ(board.reset(70), 5U);
  EXPECT_EQ(board.reset(70), 0U);
  EXPECT_EQ(board.find(0, kNotifications), 65535U);
  board.post(64, 7);
  EXPECT_EQ(board.find(0, kNotifications), 64U);
}

/// 1 x 2. What was written before the notification is there.
TEST(Board, DataComesBeforeItsNotification) {
  const Memory memory;
  Board& there = memory.board();
  constexpr int kRounds = 5000;
  long data = 0;
  std::thread writer([&] {
    for (int i = 1; i <= kRounds; ++i) {
      data = i;
      there.post(3, static_cast<std::uint32_t>(i));
      EXPECT_EQ(wait(there, 4, 1), 4U);
      EXPECT_EQ(there.reset(4), 1U);
    }
  });
  for (int i = 1; i <= kRounds; ++i) {
    EXPECT_EQ(wait(there, 3, 1), 3U);
    EXPECT_EQ(there.reset(3), static_cast<std::uint32_t>(i));
    EXPECT_EQ(data, i);
    there.post(4, 1);
  }
  writer.join();
}

/// 1 x 6: three post, three wait over a large range; each value is got by exactly one.
TEST(Board, OneOfSeveralWaitersGetsEach) {
  const Memory memory;
  Board& board = memory.board();
  constexpr int kPosters = 3;
  constexpr int kWaiters = 3;
  constexpr std::uint32_t kEach = 3000;
  std::atomic<std::uint32_t> got{0};
  std::atomic<std::uint64_t> sum{0};
  std::vector<std::thread> threads;
  threads.reserve(kPosters + kWaiters);
  for (std::uint32_t p = 0; p < kPosters; ++p) {
    threads.emplace_back([&, p] {
      for (std::uint32_t i = 0; i < kEach; ++i) board.post((p * kEach + i) * 7 % kNotifications, p * kEach + i + 1);
    });
  }
  constexpr std::uint32_t kAll = kPosters * kEach;
  for (int w = 0; w < kWaiters; ++w) {
    threads.emplace_back([&] {
      while (got.load() < kAll) {
        const auto found = board.find(0, kNotifications);
        if (!found) {
          std::this_thread::yield();
          continue;
        }
        if (const std::uint32_t value = board.reset(*found); value != 0) {
          sum.fetch_add(value);
          got.fetch_add(1);
        }
      }
    });
  }
  for (auto& t : threads) t.join();
  EXPECT_EQ(got.load(), kAll);
  EXPECT_EQ(sum.load(), std::uint64_t{kAll} * (kAll + 1) / 2);
  EXPECT_FALSE(board.find(0, kNotifications));
}

/// 1 x 4. Nothing is freed while a thread uses it.
TEST(InUse, WhatIsFoundStaysWhileItIsUsed) {
  event_count_begin();
  std::atomic<std::atomic<int>*> shared{new std::atomic<int>(1)};
  std::atomic<bool> over{false};
  std::vector<std::thread> users;
  users.reserve(3);
  for (int i = 0; i < 3; ++i) {
    users.emplace_back([&] {
      while (!over.load()) {
        const InUse in_use;
        EXPECT_EQ(shared.load(std::memory_order_acquire)->load(std::memory_order_relaxed), 1);
      }
    });
  }
  int ended = 0;
  for (int i = 0; i < 300; ++i) {
    std::atomic<int>* const gone = shared.exchange(new std::atomic<int>(1), std::memory_order_acq_rel);
    when_unused([gone, &ended] {
      gone->store(0, std::memory_order_relaxed);
      delete gone;
      ++ended;
    });
  }
  over.store(true);
  for (auto& t : users) t.join();
  when_unused([] {});
  EXPECT_EQ(ended, 300);
  delete shared.load();
}

}  // namespace
}  // namespace plait::gaspi
