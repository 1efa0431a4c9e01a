// What src/base gives the lanes: sleeping and waking, the lock with a preferred user, lists, memory that processes share. Threads are named
// per test.
#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <random>
#include <thread>
#include <vector>

#include "base/biased_lock.hpp"
#include "base/gate.hpp"
#include "base/list.hpp"
#include "base/parking.hpp"
#include "base/shared_memory.hpp"

namespace plait {
namespace {

using namespace std::chrono_literals;

/// Runs a test by the kernel's barrier, where there is one, and then by fences.
void both_ways(const std::function<void()>& test) {
  parking_begin();
  const bool needs_fence = parking_needs_fence;
  test();
  parking_needs_fence = true;
  test();
  parking_needs_fence = needs_fence;
}

/// One side of a conversation by two words and two parking spots: waits for each number in turn and answers with it.
struct Side {
  ParkingSpot spot;
  std::atomic<std::uint32_t> word{0};

  /// A lost wake-up leaves this asleep until the test's time is over.
  void await(std::uint32_t number) {
    while (word.load(std::memory_order_acquire) != number) {
      spot.prepare();
      if (word.load(std::memory_order_acquire) == number) {
        spot.cancel();
      } else {
        spot.sleep(1h);
      }
    }
  }
  void tell(std::uint32_t number) {
    word.store(number, std::memory_order_release);
    spot.wake_if_parked();
  }
};

TEST(ParkingSpot, NoWakeUpIsLostWhereBothSidesSleep) {  // 2 threads
  both_ways([] {
    constexpr std::uint32_t kRounds = 10000;
    Side here;
    Side there;
    std::thread other([&] {
      parking_begin();
      for (std::uint32_t i = 1; i <= kRounds; ++i) {
        there.await(i);
        here.tell(i);
      }
    });
    for (std::uint32_t i = 1; i <= kRounds; ++i) {
      there.tell(i);
      here.await(i);
    }
    other.join();
    EXPECT_EQ(here.word.load(), kRounds);
    EXPECT_EQ(there.word.load(), kRounds);
  });
}

TEST(ParkingSpot, NoWakeUpIsLostWhereTheWakerDoesNotWait) {  // 2 threads
  both_ways([] {
    constexpr std::uint32_t kWorks = 200000;
    ParkingSpot spot;
    std::atomic<std::uint32_t> made{0};
    std::thread waker([&] {
      parking_begin();
      for (std::uint32_t i = 1; i <= kWorks; ++i) {
        made.store(i, std::memory_order_release);
        spot.wake_if_parked();
        // Bursts of all lengths, so that the sleeper is met in all of its states.
        if (i % 64 == i / 64 % 64) sched_yield();
      }
    });
    std::uint32_t seen = 0;
    while (seen < kWorks) {
      spot.prepare();
      const std::uint32_t now = made.load(std::memory_order_acquire);
      ASSERT_GE(now, seen);
      if (now != seen) {
        spot.cancel();
        seen = now;
      } else {
        spot.sleep(1h);
      }
    }
    waker.join();
  });
}

TEST(ParkingSpot, SleepEndsByItself) {  // 1 thread
  ParkingSpot spot;
  spot.prepare();
  spot.sleep(1ms);
  EXPECT_EQ(spot.parked.load(), 0U);
}

TEST(BiasedLock, OwnerAndVisitorsNeverMeet) {  // 4 threads
  both_ways([] {
    constexpr int kOwned = 300000;
    constexpr int kVisits = 1000;
    BiasedLock lock;
    std::uint64_t counter = 0;  // plain: two inside at once lose counts
    std::atomic<bool> over{false};
    std::atomic<std::uint64_t> visits{0};
    std::vector<std::thread> visitors;
    visitors.reserve(3);
    for (int v = 0; v < 3; ++v) {
      visitors.emplace_back([&] {
        parking_begin();
        for (int done = 0; done < kVisits || !over.load(); sched_yield()) {
          if (!lock.visit()) continue;
          ++counter;
          lock.leave();
          visits.fetch_add(1);
          ++done;
        }
      });
    }
    std::uint64_t owned = 0;
    for (; owned < kOwned; ++owned) {
      lock.lock();
      ++counter;
      lock.unlock();
    }
    over.store(true);
    for (std::thread& v : visitors) v.join();
    EXPECT_EQ(counter, owned + visits.load());
    EXPECT_GE(visits.load(), 3U * kVisits);
  });
}

TEST(BiasedLock, VisitorIsSentAwayByOwnerAndByVisitor) {  // 1 thread
  parking_begin();
  BiasedLock lock;
  lock.lock();
  EXPECT_FALSE(lock.visit());
  lock.unlock();
  EXPECT_TRUE(lock.visit());
  EXPECT_FALSE(lock.visit());
  lock.leave();
  lock.lock();
  lock.unlock();
  EXPECT_TRUE(lock.visit());
  lock.leave();
}

TEST(Gate, OneThreadIsInAndMayEnterAgain) {  // 4 threads
  constexpr int kRounds = 5000;
  need_gate();
  int inside = 0;
  long entries = 0;
  std::atomic<int> wrong{0};
  const auto come = [&](int thread) {
    for (int i = 0; i < kRounds; ++i) {
      if ((i + thread) % 3 == 0) {
        // Without waiting: either it is free or another goes first.
        while (!Gate::enter_if_free()) std::this_thread::yield();
        wrong += inside != 0;
        inside = 1;
        {
          const Gate again;
          ++entries;
        }
        inside = 0;
        Gate::leave();
      } else {
        const Gate gate;
        wrong += inside != 0;
        inside = 1;
        const Gate again;
        wrong += !Gate::enter_if_free();
        ++entries;
        Gate::leave();
        inside = 0;
      }
    }
  };
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) threads.emplace_back(come, t);
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(entries, 4L * kRounds);
}

struct Item {
  int value = 0;
  Link<Item> link;
};
using Items = List<Item, &Item::link>;

std::vector<int> values(const Items& items) {
  std::vector<int> all;
  for (const Item* i = items.front(); i; i = Items::next(*i)) all.push_back(i->value);
  return all;
}

TEST(List, FirstInFirstOutAndFromBothEnds) {
  Items list;
  EXPECT_TRUE(list.empty());
  EXPECT_EQ(list.pop_front(), nullptr);
  Item a{1, {}};
  Item b{2, {}};
  Item c{3, {}};
  list.push_back(b);
  list.push_back(c);
  list.push_front(a);
  EXPECT_EQ(values(list), (std::vector{1, 2, 3}));
  EXPECT_EQ(list.pop_front(), &a);
  EXPECT_EQ(list.pop_front(), &b);
  EXPECT_EQ(list.pop_front(), &c);
  EXPECT_TRUE(list.empty());
}

TEST(List, LeavesFromAnywhereAndComesBack) {
  for (int gone = 0; gone < 3; ++gone) {
    Items list;
    std::vector<Item> items(3);
    std::vector<int> left;
    for (int i = 0; i < 3; ++i) {
      items[static_cast<std::size_t>(i)].value = i;
      list.push_back(items[static_cast<std::size_t>(i)]);
      if (i != gone) left.push_back(i);
    }
    list.remove(items[static_cast<std::size_t>(gone)]);
    EXPECT_EQ(values(list), left);
    list.push_back(items[static_cast<std::size_t>(gone)]);
    left.push_back(gone);
    EXPECT_EQ(values(list), left);
    for (const int v : left) EXPECT_EQ(list.pop_front()->value, v);
    EXPECT_TRUE(list.empty());
  }
}

/// Random blocks: whole, zeroed, apart from each other, found by every address in them, and used again.
TEST(SharedHeap, BlocksAreApartAndComeBack) {  // 1 thread
  struct Block {
    std::size_t bytes;
    unsigned char mark;
  };
  SharedHeap heap;
  std::mt19937 random(7);
  std::map<unsigned char*, Block> blocks;
  std::uint64_t most = 0;
  for (int i = 0; i < 3000; ++i) {
    if (blocks.size() < 20 || (blocks.size() < 60 && random() % 2)) {
      const std::size_t bytes = 1 + random() % 50'000;
      auto* const at = static_cast<unsigned char*>(heap.take(bytes));
      ASSERT_NE(at, nullptr);
      ASSERT_TRUE(std::all_of(at, at + bytes, [](unsigned char c) { return c == 0; }));
      std::fill_n(at, bytes, static_cast<unsigned char>(i | 1));
      const SharedHeap::Place first = heap.find(at, bytes);
      const SharedHeap::Place last = heap.find(at + bytes - 1, 1);
      ASSERT_GE(first.heap.file, 0);
      ASSERT_EQ(last.offset, first.offset + bytes - 1);
      ASSERT_LT(heap.find(at, bytes + 4096).heap.file, 0);
      if (i % 100 == 0) {  // another view of the same bytes
        const PeerWindow window(first, bytes);
        ASSERT_EQ(window.data()[bytes / 2], static_cast<std::byte>(i | 1));
      }
      most = std::max(most, last.offset);
      blocks[at] = {bytes, static_cast<unsigned char>(i | 1)};
    } else {
      const auto victim = std::next(blocks.begin(), static_cast<long>(random() % blocks.size()));
      const auto [at, block] = *victim;
      ASSERT_TRUE(std::all_of(at, at + block.bytes, [&](unsigned char c) { return c == block.mark; }));
      blocks.erase(victim);
      ASSERT_TRUE(heap.give(at));
      ASSERT_FALSE(heap.give(at));
    }
  }
  EXPECT_LT(most, 60u * 2 * 52'000);  // and not 1,500 blocks
  for (const auto& [at, block] : blocks) EXPECT_TRUE(heap.give(at));
  EXPECT_LT(heap.find(&heap, 1).heap.file, 0);
}

}  // namespace
}  // namespace plait
