#include "progress/wait.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "work.hpp"

namespace plait::progress::test {
namespace {

constexpr Patience kAll[] = {kForMessage, kForPartition, kForArrival, kForRequests, kForThreads, kForRoom};
/// Neither spins nor yields.
constexpr Patience kNone{0, 0, 0};

TEST(Source, IsDrivenOnlyWhilePending) {  // 1 thread
  Work& work = Work::get();
  ASSERT_TRUE(sources_exist());
  work.begin([] { return true; });
  EXPECT_TRUE(any_pending());
  EXPECT_TRUE(drive());
  EXPECT_EQ(work.rounds, 1);
  work.end();
  EXPECT_FALSE(any_pending());
  EXPECT_FALSE(drive());
  EXPECT_EQ(work.rounds, 1);
}

TEST(Source, DriveTellsWhetherSomethingMoved) {  // 1 thread
  Work& work = Work::get();
  work.begin([] { return false; });
  EXPECT_FALSE(drive());
  EXPECT_EQ(work.rounds, 1);
  work.end();
}

TEST(Source, DriveDoesNotRecurse) {  // 1 thread
  Work& work = Work::get();
  bool inner = true;
  work.begin([&] {
    inner = drive();
    return true;
  });
  EXPECT_TRUE(drive());
  EXPECT_FALSE(inner);
  EXPECT_EQ(work.rounds, 1);
  EXPECT_TRUE(drive()) << "the next round is made";
  work.end();
}

TEST(Source, AWaitInsideARoundDoesNotDriveEither) {  // 1 thread
  Work& work = Work::get();
  int looks = 0;
  work.begin([&] {
    Alone alone;
    await(alone, kNone, [&] { return ++looks > 50; });
    return true;
  });
  EXPECT_TRUE(drive());
  EXPECT_EQ(work.rounds, 1);
  work.end();
}

TEST(Source, IsFlushedPendingOrNot) {  // 1 thread
  Work& work = Work::get();
  work.begin(nullptr);
  work.end();
  flush();
  EXPECT_EQ(work.flushes, 1);
}

TEST(Source, IsDrivenNowAndThenByCallsThatAsk) {  // 1 thread
  Work& work = Work::get();
  work.begin([] { return true; });
  int turns = 0;
  for (int i = 0; i < 64; ++i) turns += drive_sometimes() ? 1 : 0;
  EXPECT_EQ(turns, 4);
  EXPECT_EQ(work.rounds, turns);
  work.end();
}

/// What a wait waits for may come of any source.
TEST(Wait, DrivesWhatIsPendingHoweverPatient) {  // 1 thread
  Work& work = Work::get();
  for (const Patience& patience : kAll) {
    for (const bool notified : {false, true}) {
      Alone alone;
      Place place;
      bool done = false;
      work.begin([&] { return done = work.rounds >= 5; });
      await(notified ? static_cast<Waiter&>(place) : alone, patience, [&] { return done; });
      EXPECT_GE(work.rounds, 5);
      EXPECT_EQ(place.begun, notified ? 1 : 0);
      EXPECT_EQ(place.ended, place.begun);
      work.end();
    }
  }
}

TEST(Wait, ThatIsOverAsksNobody) {  // 1 thread
  Work& work = Work::get();
  work.begin([] { return true; });
  Place place;
  await(place, kNone, [] { return true; });
  EXPECT_EQ(work.rounds, 0);
  EXPECT_EQ(place.begun, 0);
  work.end();
}

TEST(Wait, RoundsThatMoveStartThePatienceAnew) {  // 1 thread
  Work& work = Work::get();
  work.begin([] { return true; });
  Place place;
  int rounds = 0;
  const Patience patience{50, 50, 0};
  wait_until(place, patience, [&] { return ++rounds % 10 == 0; }, [&] { return rounds >= 1000; }, [] { ADD_FAILURE() << "is not long"; });
  EXPECT_EQ(work.rounds, 0);
  EXPECT_EQ(place.begun, 0);
  work.end();
}

/// A wait that is about to sleep looks once more; what it waits for comes after that look and before the sleep. A sleep is longer each
/// time, 100 us: lost notifications add up to more than the test's time limit.
TEST(Wait, DoesNotOversleepWhatComesBeforeItSleeps) {  // 1 thread
  static_cast<void>(Work::get());
  Place place;
  Wait wait(place, kNone);
  int looks = 0;
  for (int i = 0; i < 1500; ++i) {  // 112 s
    wait.pause([&] {
      ++looks;
      place.event()->notify();  // as another thread would
      return false;             // as if it had looked before
    });
  }
  EXPECT_EQ(looks, 1500);
}

TEST(Wait, IsWokenByAnotherThreadThatComesBeforeItSleeps) {  // 2 threads
  constexpr int kTimes = 20;
  Place place;
  Wait wait(place, kNone);
  std::atomic<int> answered{0};
  for (int i = 1; i <= kTimes; ++i) {
    wait.pause([&] {
      std::thread([&] {
        answered.store(i, std::memory_order_release);
        place.event()->notify();
      }).join();
      return false;
    });
    EXPECT_EQ(answered, i);
  }
}

/// The same where the second look finds it.
TEST(Wait, DoesNotSleepWhereTheLastLookFindsSomething) {  // 1 thread
  Place place;
  Wait wait(place, kNone);
  int looks = 0;
  for (int i = 0; i < 1500; ++i) {
    wait.pause([&] {
      ++looks;
      return true;
    });
  }
  EXPECT_EQ(looks, 1500);
}

/// What says that a wait is over may have taken something, as a matched probe does: whether it says so before a sleep or elsewhere.
TEST(Wait, ThatIsOverIsNotAskedAgain) {  // 1 thread
  constexpr Patience kShort{2, 2, 2};
  for (int last = 1; last <= 20; ++last) {
    Place place;
    int asked = 0;
    await(place, kShort, [&] {
      place.event()->notify();
      ++asked;
      return asked == last || asked == 1000;  // a second chance, for a wait that has lost the first
    });
    EXPECT_EQ(asked, last);
  }
}

TEST(Wait, ThreadsHandEachOtherATurn) {  // 2 threads
  constexpr int kTurns = 500;
  Place places[2];
  std::atomic<int> turn{0};
  const auto side = [&](int me) {
    for (int i = me; i < kTurns; i += 2) {
      await(places[me], kNone, [&] { return turn.load(std::memory_order_acquire) == i; });
      turn.store(i + 1, std::memory_order_release);
      places[1 - me].event()->notify();
    }
  };
  std::thread other(side, 1);
  side(0);
  other.join();
  EXPECT_EQ(turn, kTurns);
}

}  // namespace
}  // namespace plait::progress::test
