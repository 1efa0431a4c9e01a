// What src/base gives the lanes: sleeping and waking, the lock with a preferred user, lists, memory that processes share. Threads are named
// per test.
#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <random>
#include <thread>
#include <vector>

#include "base/biased_lock.hpp"
#include "base/chunked_array.hpp"
#include "base/event_count.hpp"
#include "base/fatal.hpp"
#include "base/handle_table.hpp"
#include "base/list.hpp"
#include "base/mpi_lock.hpp"

namespace plait {
namespace {

using namespace std::chrono_literals;

/// Runs a test by the kernel's barrier, where there is one, and then by fences.
void both_ways(const std::function<void()>& test) {
  event_count_begin();
  const bool needs_fence = event_count_needs_fence;
  test();
  event_count_needs_fence = true;
  test();
  event_count_needs_fence = needs_fence;
}

/// One side of a conversation by two words and two event counts: waits for each number in turn and answers with it.
struct Side {
  EventCount event;
  std::atomic<std::uint32_t> word{0};

  /// A lost wake-up leaves this asleep until the test's time is over.
  void await(std::uint32_t number) {
    while (word.load(std::memory_order_acquire) != number) {
      const EventCount::Key key = event.prepare();
      if (word.load(std::memory_order_acquire) == number) {
        event.cancel(key);
      } else {
        event.wait(key, 1h);
      }
    }
  }
  void tell(std::uint32_t number) {
    word.store(number, std::memory_order_release);
    event.notify();
  }
};

TEST(EventCount, NoWakeUpIsLostWhereBothSidesSleep) {  // 2 threads
  both_ways([] {
    constexpr std::uint32_t kRounds = 10000;
    Side here;
    Side there;
    std::thread other([&] {
      event_count_begin();
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

TEST(EventCount, NoWakeUpIsLostWhereTheNotifierDoesNotWait) {  // 1 notifier, 3 sleepers
  both_ways([] {
    constexpr std::uint32_t kWorks = 100000;
    constexpr int kSleepers = 3;
    EventCount event;
    std::atomic<std::uint32_t> made{0};
    std::vector<std::thread> sleepers;
    sleepers.reserve(kSleepers);
    for (int s = 0; s < kSleepers; ++s) {
      sleepers.emplace_back([&] {
        event_count_begin();
        std::uint32_t seen = 0;
        while (seen < kWorks) {
          const EventCount::Key key = event.prepare();
          const std::uint32_t now = made.load(std::memory_order_acquire);
          EXPECT_GE(now, seen);
          if (now != seen) {
            event.cancel(key);
            seen = now;
          } else {
            event.wait(key, 1h);
          }
        }
      });
    }
    for (std::uint32_t i = 1; i <= kWorks; ++i) {
      made.store(i, std::memory_order_release);
      event.notify();
      // Bursts of all lengths, so that the sleepers are met in all of their states.
      if (i % 64 == i / 64 % 64) sched_yield();
    }
    for (std::thread& s : sleepers) s.join();
  });
}

TEST(EventCount, WaitEndsByItself) {  // 1 thread
  EventCount event;
  event.wait(event.prepare(), 1ms);
  // Nobody is announced any more: the next epoch would begin otherwise.
  const EventCount::Key key = event.prepare();
  event.cancel(key);
  event.notify();
  EXPECT_EQ(event.prepare(), key);
}

TEST(EventCount, CancelTakesBackOnlyItsOwnEpoch) {  // 1 thread
  EventCount event;
  const EventCount::Key early = event.prepare();
  event.notify();
  const EventCount::Key late = event.prepare();
  EXPECT_NE(early, late);
  event.cancel(early);
  event.notify();  // finds the second sleeper
  EXPECT_NE(event.prepare(), late);
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
        event_count_begin();
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
  event_count_begin();
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

TEST(BiasedLock, UsesTellAnOwnerAtWorkFromOneThatIsElsewhere) {  // 1 thread
  event_count_begin();
  BiasedLock lock;
  const std::uint32_t before = lock.uses();
  EXPECT_TRUE(lock.visit());
  lock.leave();
  EXPECT_EQ(lock.uses(), before);  // a visit is no use
  lock.lock();
  lock.unlock();
  EXPECT_NE(lock.uses(), before);
}

TEST(MpiLock, OneThreadIsInAndMayEnterAgain) {  // 4 threads
  constexpr int kRounds = 5000;
  need_mpi_lock();
  int inside = 0;
  long entries = 0;
  std::atomic<int> wrong{0};
  const auto come = [&](int thread) {
    for (int i = 0; i < kRounds;) {
      if ((i + thread) % 3 == 0) {
        // Without waiting: either it is free or another goes first.
        const MpiTryLock lock;
        if (!lock) {
          std::this_thread::yield();
          continue;
        }
        wrong += inside != 0;
        inside = 1;
        const MpiLock again;
        ++entries;
        inside = 0;
      } else {
        const MpiLock lock;
        wrong += inside != 0;
        inside = 1;
        const MpiLock again;
        const MpiTryLock once_more;
        wrong += !once_more;
        ++entries;
        inside = 0;
      }
      ++i;
    }
  };
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (int t = 0; t < 4; ++t) threads.emplace_back(come, t);
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(entries, 4L * kRounds);
}

TEST(ChunkedArray, ElementsStayAndOnesNeverMadeAreNull) {
  static ChunkedArray<int, 4, 8> array;  // as all in the library: nobody destroys it
  EXPECT_EQ(array.find(0), nullptr);
  int prepared = 0;
  int* const fifth = array.make(5, [&](int* chunk) { std::fill_n(chunk, 4, ++prepared); });
  ASSERT_NE(fifth, nullptr);
  EXPECT_EQ(*fifth, 1);
  EXPECT_EQ(array.find(0), nullptr);
  EXPECT_EQ(array.find(4), fifth - 1);
  EXPECT_EQ(array.make(7, [&](int*) { ++prepared; }), fifth + 2);
  EXPECT_EQ(prepared, 1);
  EXPECT_EQ(&array[5], fifth);
  EXPECT_EQ(array.kSize, 32U);
}

TEST(HandleTable, FindsWhatWasPutInAndNotTakenOutWhileItGrows) {  // against a map
  static HandleTable<int> table;
  std::map<std::uint64_t, int> model;
  std::mt19937_64 random(7);
  for (int i = 1; i <= 20000; ++i) {
    const std::uint64_t handle = 2 + random() % 3000;
    if (model.contains(handle)) {
      table.erase(handle);
      model.erase(handle);
    } else {
      table.insert(handle, i);
      model[handle] = i;
    }
    const std::uint64_t asked = 2 + random() % 3000;
    const auto found = model.find(asked);
    ASSERT_EQ(table.find(asked, -1), found == model.end() ? -1 : found->second) << "after " << i;
  }
}

TEST(HandleTable, IsReadWhileItGrows) {  // 2 threads
  constexpr std::uint64_t kHandles = 20000;
  static HandleTable<std::uint64_t> table;
  std::atomic<std::uint64_t> in{1};  // handles up to this are there
  std::thread writer([&] {
    for (std::uint64_t h = 2; h <= kHandles; ++h) {
      table.insert(h, h * 3);
      in.store(h, std::memory_order_release);
    }
  });
  std::mt19937_64 random(11);
  for (std::uint64_t known = 1; known < kHandles; known = in.load(std::memory_order_acquire)) {
    if (known < 2) continue;
    const std::uint64_t handle = 2 + random() % (known - 1);
    ASSERT_EQ(table.find(handle, 0), handle * 3);
    ASSERT_EQ(table.find(kHandles + handle, 0), 0U);
  }
  writer.join();
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

TEST(LastWords, WaitForTheirReader) {
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  ASSERT_EQ(write(ends[1], "why", 3), 3);
  std::atomic<bool> read_it{false};
  std::jthread reader([&] {
    std::this_thread::sleep_for(20ms);
    std::array<char, 3> text{};
    read_it = true;
    EXPECT_EQ(read(ends[0], text.data(), 3), 3);
  });
  wait_until_read(ends[1], 60000);
  EXPECT_TRUE(read_it);
  reader.join();
  ASSERT_EQ(write(ends[1], "why", 3), 3);
  wait_until_read(ends[1], 3);  // nobody reads: it ends
  close(ends[0]);
  close(ends[1]);
}

}  // namespace
}  // namespace plait
