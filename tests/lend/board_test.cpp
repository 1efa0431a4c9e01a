// The board: what each call does, and processes, played by threads, that lend, take back and borrow at random. Plain numbers say who has a
// CPU as a borrower: TSan sees two at a time.
#include "lend/board.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <random>
#include <thread>
#include <vector>

namespace {

using plait::lend::Board;
using plait::lend::Words;

std::unique_ptr<Words> none_lent() { return std::make_unique<Words>(); }

std::vector<int> borrow(Board& board, const std::vector<int>& cpus, std::size_t most) {
  std::vector<int> taken(most);
  taken.resize(board.borrow(cpus, taken));
  return taken;
}

TEST(Board, NothingIsLentAtFirst) {
  const auto words = none_lent();
  Board board(*words, 1);
  EXPECT_EQ(board.count_free(std::vector{0, 1, 1023}), 0u);
  EXPECT_TRUE(borrow(board, {0, 1, 1023}, 3).empty());
}

TEST(Board, WhatIsLentIsBorrowedOnce) {
  const auto words = none_lent();
  Board owner(*words, 0);
  Board one(*words, 1);
  Board other(*words, 2);
  owner.lend(std::vector{3, 4, 5});
  EXPECT_EQ(borrow(one, {3, 4, 5}, 2), (std::vector{3, 4}));
  EXPECT_EQ(other.count_free(std::vector{3, 4, 5}), 1u);
  EXPECT_EQ(borrow(other, {3, 4, 5}, 3), (std::vector{5}));
  one.give_back(std::vector{3, 4});
  EXPECT_EQ(borrow(other, {3, 4, 5}, 3), (std::vector{3, 4}));
  EXPECT_EQ(owner.times_borrowed(std::vector{3, 4, 5}), 5u);
}

TEST(Board, WhatIsTakenBackIsNotBorrowedAgain) {
  const auto words = none_lent();
  Board owner(*words, 0);
  Board one(*words, 1);
  owner.lend(std::vector{7, 8});
  EXPECT_EQ(borrow(one, {7, 8}, 1), (std::vector{7}));
  owner.reclaim(std::vector{7, 8});
  EXPECT_TRUE(borrow(one, {7, 8}, 2).empty());
  one.give_back(std::vector{7});
  EXPECT_TRUE(borrow(one, {7, 8}, 2).empty());
}

TEST(Board, WhoLendsAgainLeavesTheBorrowerAlone) {
  const auto words = none_lent();
  Board owner(*words, 0);
  Board one(*words, 1);
  Board other(*words, 2);
  owner.lend(std::vector{7});
  EXPECT_EQ(borrow(one, {7}, 1), (std::vector{7}));
  owner.reclaim(std::vector{7});
  owner.lend(std::vector{7});
  EXPECT_TRUE(borrow(other, {7}, 1).empty());
  one.give_back(std::vector{7});
  EXPECT_EQ(borrow(other, {7}, 1), (std::vector{7}));
}

TEST(Board, ABorrowerThatIsGoneTakesNothingFromTheOwner) {
  const auto words = none_lent();
  Board owner(*words, 0);
  owner.lend(std::vector{1, 2});
  {
    Board gone(*words, 1);
    EXPECT_EQ(borrow(gone, {1}, 1), (std::vector{1}));
  }
  owner.reclaim(std::vector{1, 2});
  owner.lend(std::vector{1, 2});
  Board other(*words, 2);
  EXPECT_EQ(borrow(other, {1, 2}, 2), (std::vector{2}));
}

TEST(Board, OnlyTheBorrowerGivesBack) {
  const auto words = none_lent();
  Board owner(*words, 0);
  Board one(*words, 1);
  Board other(*words, 2);
  owner.lend(std::vector{0, 1023});
  EXPECT_EQ(borrow(one, {0, 1023}, 2), (std::vector{0, 1023}));
  other.give_back(std::vector{-1, 0, 1023, 1024, 1 << 30});
  EXPECT_EQ(other.count_free(std::vector{0, 1023}), 0u);
  one.give_back(std::vector{-1, 0, 0, 1023, 1024});
  EXPECT_EQ(other.count_free(std::vector{0, 1023}), 2u);
}

TEST(Board, WhoLendsIsToldWhatIsNew) {
  const auto words = none_lent();
  Board owner(*words, 0);
  EXPECT_FALSE(owner.any_to_ask());
  EXPECT_TRUE(owner.lend(std::vector{1, 2}));
  EXPECT_FALSE(owner.lend(std::vector{1, 2}));
  EXPECT_TRUE(owner.any_to_ask());
  owner.reclaim(std::vector{2});
  EXPECT_TRUE(owner.lend(std::vector{1, 2}));
  Board one(*words, 1);
  one.ask(std::vector{1, 2});
  EXPECT_FALSE(one.any_to_ask());
  EXPECT_TRUE(owner.lend(std::vector{1, 2}));
  EXPECT_TRUE(one.any_to_ask());
}

TEST(Board, WhoIsAskedLendsNothingUntilItSaysSoAgain) {
  const auto words = none_lent();
  Board owner(*words, 0);
  Board one(*words, 1);
  const std::uint32_t before = owner.times_asked();
  one.ask(std::vector{3});  // nobody lends it
  EXPECT_EQ(owner.times_asked(), before);
  owner.lend(std::vector{3});
  one.ask(std::vector{3});
  EXPECT_NE(owner.times_asked(), before);
  owner.sleep(before, std::chrono::milliseconds(999));  // does not
  EXPECT_TRUE(borrow(one, {3}, 1).empty());
  owner.lend(std::vector{3});
  EXPECT_EQ(borrow(one, {3}, 1), (std::vector{3}));
  one.ask(std::vector{3});  // its own, too
  one.give_back(std::vector{3});
  EXPECT_TRUE(borrow(one, {3}, 1).empty());
}

// ---- at random

constexpr int kProcesses = 4;
constexpr int kEach = 3;
constexpr int kSteps = 20000;

/// One that lends its own while it "waits" and borrows for "regions".
class Player {
 public:
  Player(Words& words, int number, std::vector<long>& users)
      : board_(words, number), random_(seed() + static_cast<unsigned>(number)), users_(users) {
    for (int cpu = 0; cpu < kProcesses * kEach; ++cpu) (cpu / kEach == number ? own_ : others_).push_back(cpu);
  }

  void play() {
    for (int step = 0; step < kSteps; ++step) {
      if (random_() % 2 == 0) {
        wait();
      } else {
        region();
      }
    }
  }

  std::uint64_t borrowed = 0;
  [[nodiscard]] std::uint64_t lent() const { return board_.times_borrowed(own_); }

 private:
  static unsigned seed() {
    const char* const given = std::getenv("PLAIT_SEED");
    static const unsigned chosen = given ? static_cast<unsigned>(std::atoi(given)) : std::random_device()();
    static const bool told = (std::printf("seed %u\n", chosen), true);
    static_cast<void>(told);
    return chosen;
  }

  void wait() {
    board_.lend(own_);
    if (random_() % 4 == 0) board_.sleep(board_.times_asked(), std::chrono::microseconds(20));
    board_.reclaim(own_);
    // Nobody gets what is not lent: of those free now there are none.
    EXPECT_EQ(board_.count_free(own_), 0u);
  }

  void region() {
    if (random_() % 4 == 0) board_.ask(others_);
    const std::vector<int> taken = borrow(board_, others_, random_() % (others_.size() + 1));
    for (const int cpu : taken) ++users_[static_cast<std::size_t>(cpu)];
    if (random_() % 4 == 0) std::this_thread::yield();
    for (const int cpu : taken) EXPECT_EQ(--users_[static_cast<std::size_t>(cpu)], 0);
    borrowed += taken.size();
    board_.give_back(taken);
  }

  Board board_;
  std::mt19937 random_;
  std::vector<long>& users_;
  std::vector<int> own_, others_;
};

TEST(Board, NoCpuHasTwoBorrowersAndAllAreGivenBack) {
  const auto words = none_lent();
  std::vector<long> users(kProcesses * kEach);
  std::vector<std::unique_ptr<Player>> players;
  players.reserve(kProcesses);
  for (int i = 0; i < kProcesses; ++i) players.push_back(std::make_unique<Player>(*words, i, users));
  std::vector<std::thread> threads;
  threads.reserve(kProcesses);
  for (const auto& player : players) threads.emplace_back([&] { player->play(); });
  for (std::thread& t : threads) t.join();
  std::uint64_t lent = 0;
  std::uint64_t borrowed = 0;
  for (const auto& player : players) {
    lent += player->lent();
    borrowed += player->borrowed;
  }
  EXPECT_EQ(lent, borrowed);
  // All of them can be had once more, by one.
  Board last(*words, kProcesses);
  std::vector<int> all(kProcesses * kEach);
  std::iota(all.begin(), all.end(), 0);
  last.lend(all);
  EXPECT_EQ(borrow(last, all, all.size()), all);
}

}  // namespace
