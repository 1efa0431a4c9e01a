// What is wrong ends the process with a line that says so. Each in a process of its own.
#include <gtest/gtest.h>
#include <plait/subteam.h>

#include <atomic>
#include <cmath>
#include <thread>

namespace {

/// Two threads of a team of three.
template <class One, class Two>
void both(plait_team team, One one, Two two) {
  std::thread other([&] { two(team); });
  one(team);
  other.join();
}

class SubTeamErrors : public testing::Test {
 protected:
  SubTeamErrors() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(SubTeamErrors, Teams) {
  EXPECT_DEATH(plait_team_create(0), "plait: plait_team_create\\(0\\): a team has 1 to 32767 threads");
  EXPECT_DEATH(plait_team_create(32768), "plait_team_create\\(32768\\)");
  EXPECT_DEATH(plait_team_size(PLAIT_TEAM_NULL), "a call on PLAIT_TEAM_NULL: plait_team_create makes a team");
  EXPECT_DEATH(plait_balance_begin(PLAIT_BALANCE_NULL, 0), "a call on PLAIT_BALANCE_NULL");
}

TEST_F(SubTeamErrors, Numbers) {
  plait_team team = plait_team_create(3);
  EXPECT_EQ(plait_team_size(team), 3);
  EXPECT_DEATH(plait_team_barrier(team, 1, 2, 1), "threads 2 to 1 are no sub-team: there are none; the threads of this team are 0 to 2");
  EXPECT_DEATH(plait_team_barrier(team, 1, 1, 3), "threads 1 to 3 are no sub-team: some are not of the team; .* 0 to 2");
  EXPECT_DEATH(plait_team_barrier(team, 1, -1, 1), "threads -1 to 1 are no sub-team: some are not of the team");
  EXPECT_DEATH(plait_team_barrier(team, 3, 0, 2), "a thread says that it is number 3 of a team whose threads are 0 to 2");
  EXPECT_DEATH(plait_single_begin(team, -1, 0, 2), "a thread says that it is number -1");
  EXPECT_DEATH(plait_balance_create(team, 0, 3), "threads 0 to 3 are no sub-team");
  EXPECT_DEATH(plait_loop_begin(team, 0, 0, 2, 0, 10, -4), "a loop in chunks of -4 iterations: at least 1, or 0 for equal parts");
  plait_team_free(&team);
  EXPECT_EQ(team, PLAIT_TEAM_NULL);
  plait_team_free(&team);
}

TEST_F(SubTeamErrors, AThreadOutside) {
  plait_team team = plait_team_create(3);
  EXPECT_DEATH(plait_team_barrier(team, 0, 1, 2), "thread 0 comes to a barrier of threads 1 to 2, and is none of them");
  plait_balance balance = plait_balance_create(team, 1, 2);
  EXPECT_DEATH(plait_balance_begin(balance, 0), "thread 0 comes to a balanced loop of threads 1 to 2, and is none of them");
  EXPECT_DEATH(plait_balance_share(balance, 0), "plait_balance_share of thread 0: the balance is of threads 1 to 2");
  plait_balance_free(&balance);
  plait_team_free(&team);
}

TEST_F(SubTeamErrors, DifferentConstructs) {
  plait_team team = plait_team_create(2);
  const auto loop = [](int me, long high, long chunk) {
    return [=](plait_team t) {
      plait_loop l = plait_loop_begin(t, me, 0, 1, 0, high, chunk);
      while (plait_loop_next(&l)) {
      }
    };
  };
  const auto barrier = [](plait_team t) { plait_team_barrier(t, 1, 0, 1); };
  EXPECT_DEATH(
      both(team, loop(0, 10, 0), barrier),
      "threads 0 to 1 have come to different constructs: thread . to .*(a barrier.*a loop over 0 to 9|a loop over 0 to 9.*a barrier)");
  EXPECT_DEATH(both(team, loop(0, 10, 0), loop(1, 9, 0)), "different constructs: .*a loop over 0 to (9.*0 to 8|8.*0 to 9)");
  EXPECT_DEATH(both(team, loop(0, 10, 2), loop(1, 10, 3)), "different constructs: .*in chunks of (2.*in chunks of 3|3.*in chunks of 2)");
  plait_team_free(&team);
}

TEST_F(SubTeamErrors, ALoopThatIsLeftOrGivenTwice) {
  plait_team team = plait_team_create(1);
  const auto left = [&] {
    PLAIT_FOR_ONTHREADS(team, 0, 0, 0, i, 0, 10) {
      if (i == 3) return;
    }
  };
  const auto twice = [&] {
    PLAIT_FOR_ONTHREADS(team, 0, 0, 0, i, 0, 10) {
      PLAIT_FOR_ONTHREADS(team, 0, 0, 0, k, 0, i) {}
    }
  };
  EXPECT_DEATH(
      {
        left();
        plait_team_barrier(team, 0, 0, 0);
      },
      "thread 0 comes to a barrier of threads 0 to 0 while it is at a loop over 0 to 9 of theirs: either it has left that before its end");
  EXPECT_DEATH(twice(), "thread 0 comes to a loop without iterations of threads 0 to 0 while it is at a loop over 0 to 9 of theirs");
  plait_team_free(&team);
}

TEST_F(SubTeamErrors, ARangeThatIsLeftByBreak) {
  plait_team team = plait_team_create(1);
  const auto left = [&] {
    PLAIT_FOR_ONTHREADS(team, 0, 0, 0, i, 0, 10) {
      if (i == 3) break;
    }
  };
  EXPECT_DEATH(left(), "thread 0 has left iterations 0 to 9 of a loop by break: some are not done");
  plait_team_free(&team);
}

TEST_F(SubTeamErrors, AHelperWithAnotherLoop) {
  plait_team team = plait_team_create(2);
  static std::atomic<int> never_set{0};
  const auto loop = [](int me, long chunk) {
    return [=](plait_team t) {
      PLAIT_FOR_CHUNKS_ONTHREADS(t, me, 0, 0, i, 0, 10, chunk) {
        // Until the helper has come.
        while (me == 0 && never_set == 0) static_cast<void>(i);
      }
    };
  };
  EXPECT_DEATH(both(team, loop(0, 2), loop(1, 3)), "thread 1 joins a loop over 0 to 9 in chunks of 3 of threads 0 to 0, which give other");
  plait_team_free(&team);
}

TEST_F(SubTeamErrors, TwoBalancesAtOnce) {
  plait_team team = plait_team_create(2);
  plait_balance balances[] = {plait_balance_create(team, 0, 1), plait_balance_create(team, 0, 1)};
  const auto loop = [&](int me) {
    return [&, me](plait_team) {
      plait_balance_begin(balances[me], me);
      PLAIT_FOR_BALANCED(balances[me], me, i, 0, 10) static_cast<void>(i);
    };
  };
  EXPECT_DEATH(both(team, loop(0), loop(1)), "different constructs: .*a balanced loop over 0 to 9 of another balance");
  for (plait_balance& balance : balances) plait_balance_free(&balance);
  plait_team_free(&team);
}

TEST_F(SubTeamErrors, TwoThreadsWithOneNumber) {
  plait_team team = plait_team_create(2);
  const auto zero = [](plait_team t) { plait_team_barrier(t, 0, 0, 1); };
  EXPECT_DEATH(both(team, zero, zero), "two threads say that they are thread 0");
  plait_team_free(&team);
}

TEST_F(SubTeamErrors, BalancedLoops) {
  plait_team team = plait_team_create(1);
  plait_balance balance = plait_balance_create(team, 0, 0);
  const auto loop = [&] { PLAIT_FOR_BALANCED(balance, 0, i, 0, 10) static_cast<void>(i); };
  EXPECT_DEATH(loop(), "thread 0 comes to a balanced loop of threads 0 to 0 twice in a round, or before any: .*plait_balance_begin");
  EXPECT_DEATH(
      {
        plait_balance_begin(balance, 0);
        loop();
        loop();
      },
      "twice in a round");
  EXPECT_DEATH(
      {
        plait_balance_begin(balance, 0);
        PLAIT_FOR_BALANCED(balance, 0, i, 0, 10) plait_balance_begin(balance, 0);
      },
      "thread 0 begins a round of a balanced loop of threads 0 to 0 within that loop");
  for (const double share : {-1.0, std::nan(""), HUGE_VAL}) {
    EXPECT_DEATH(plait_balance_fix(balance, &share), "plait_balance_fix: the share of thread 0 is .*: a number of at least 0");
  }
  const double none = 0;
  EXPECT_DEATH(plait_balance_fix(balance, &none), "plait_balance_fix: the shares' sum is 0: some of them must be above 0");
  plait_balance_free(&balance);
  plait_team_free(&team);
}

}  // namespace
