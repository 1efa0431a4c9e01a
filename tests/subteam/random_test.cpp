// Random programs of constructs on overlapping sub-teams, against the same program run by one thread.
//
// A program is a list of items, each for a sub-team. Every thread does the items that concern it, in their order. An item reads and writes
// the cells of its threads: first a barrier of the sub-team, by which those items are over that had some of these cells; then a loop in
// parts, a loop in chunks that other threads join, a balanced loop, or a single. Cells are plain numbers: TSan sees what is not ordered.
#include <gtest/gtest.h>
#include <plait/subteam.h>

#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <random>
#include <thread>
#include <utility>
#include <vector>

namespace {

using Cells = std::vector<std::uint64_t>;
constexpr long kCellsOfThread = 5;

struct Item {
  enum class Kind : std::uint8_t { parts, chunks, balanced, single, barrier } kind;
  int first, last;
  long chunk;
  std::uint64_t number;

  [[nodiscard]] long low() const { return first * kCellsOfThread; }
  [[nodiscard]] long high() const { return (last + 1) * kCellsOfThread; }
};

struct Program {
  int threads;
  std::vector<Item> items;
};

Program random_program(unsigned seed) {
  std::mt19937 random(seed);
  Program program{static_cast<int>(1 + random() % 6), {}};
  const std::size_t length = 1 + random() % 60;
  while (program.items.size() < length) {
    const auto a = static_cast<int>(random() % static_cast<unsigned>(program.threads));
    const auto b = static_cast<int>(random() % static_cast<unsigned>(program.threads));
    program.items.push_back(
        {static_cast<Item::Kind>(random() % 5), std::min(a, b), std::max(a, b), static_cast<long>(1 + random() % 7), random()});
  }
  return program;
}

/// A thread that joins loops of a sub-team joins them all.
bool joins(int thread, const Item& item) { return (thread * 5 + item.first * 3 + item.last) % 2 == 0; }

void work(const Item& item, std::uint64_t& cell) { cell = (cell ^ item.number) * 0x9E3779B97F4A7C15 + 1; }

/// Depends on all cells of the item, and changes one.
void work_alone(const Item& item, Cells& cells) {
  std::uint64_t sum = item.number;
  for (long i = item.low(); i < item.high(); ++i) sum = sum * 31 + cells[static_cast<std::size_t>(i)];
  cells[static_cast<std::size_t>(item.low())] = sum;
}

Cells cells_of(const Program& program) {
  Cells cells(static_cast<std::size_t>(program.threads * kCellsOfThread));
  for (std::size_t i = 0; i < cells.size(); ++i) cells[i] = i;
  return cells;
}

Cells run_alone(const Program& program) {
  Cells cells = cells_of(program);
  for (const Item& item : program.items) {
    if (item.kind == Item::Kind::barrier) continue;
    if (item.kind == Item::Kind::single) {
      work_alone(item, cells);
    } else {
      for (long i = item.low(); i < item.high(); ++i) work(item, cells[static_cast<std::size_t>(i)]);
    }
  }
  return cells;
}

class Execution {
 public:
  explicit Execution(const Program& program) : program_(program), team_(program.threads), cells_(cells_of(program)) {
    for (const Item& item : program.items) {
      if (item.kind == Item::Kind::balanced) balances_.try_emplace({item.first, item.last}, team_, item.first, item.last);
    }
  }

  Cells operator()() {
    std::vector<std::thread> threads;
    for (int me = 1; me < program_.threads; ++me) threads.emplace_back([this, me] { run(me); });
    run(0);
    for (auto& thread : threads) thread.join();
    return cells_;
  }

 private:
  void run(int me) {
    std::minstd_rand random(static_cast<unsigned>(me + 1));
    for (const Item& item : program_.items) {
      if (random() % 16 == 0) std::this_thread::yield();
      if (me >= item.first && me <= item.last) {
        plait_team_barrier(team_, me, item.first, item.last);
        take_part(item, me);
      } else if (item.kind == Item::Kind::chunks && joins(me, item)) {
        PLAIT_FOR_CHUNKS_ONTHREADS(team_, me, item.first, item.last, i, item.low(), item.high(), item.chunk) { work(item, cell(i)); }
      }
    }
  }

  void take_part(const Item& item, int me) {
    switch (item.kind) {
      case Item::Kind::barrier:
        break;
      case Item::Kind::single:
        PLAIT_SINGLE_ONTHREADS(team_, me, item.first, item.last) { work_alone(item, cells_); }
        break;
      case Item::Kind::parts:
        PLAIT_FOR_ONTHREADS(team_, me, item.first, item.last, i, item.low(), item.high()) {
          if (i < 0) continue;
          work(item, cell(i));
        }
        break;
      case Item::Kind::chunks:
        team_.chunks(me, item.first, item.last, item.low(), item.high(), item.chunk, [&](long begin, long end) {
          for (long i = begin; i < end; ++i) work(item, cell(i));
        });
        break;
      case Item::Kind::balanced:
        balances_.at({item.first, item.last})
            .run(
                me, item.low(), item.high(), [] {},
                [&](long begin, long end) {
                  for (long i = begin; i < end; ++i) work(item, cell(i));
                });
        break;
    }
  }

  std::uint64_t& cell(long i) { return cells_[static_cast<std::size_t>(i)]; }

  const Program& program_;
  plait::Team team_;
  std::map<std::pair<int, int>, plait::Balance> balances_;
  Cells cells_;
};

/// From PLAIT_SEED on.
TEST(SubTeam, RandomProgramsAgreeWithOneThread) {  // 1 to 6 threads
  constexpr unsigned kPrograms = 150;
  const char* const given = std::getenv("PLAIT_SEED");
  const auto first = static_cast<unsigned>(given ? std::strtoul(given, nullptr, 10) : 1);
  for (unsigned seed = first; seed < first + kPrograms && !testing::Test::HasFailure(); ++seed) {
    const Program program = random_program(seed);
    EXPECT_EQ(Execution(program)(), run_alone(program)) << "PLAIT_SEED=" << seed;
  }
}

// The two shapes of the manual, many times: thread 0 is late for the loop, or is there first.
TEST(SubTeam, AThreadThatJoinsIsWaitedForOnlyWithAChunk) {  // 3 threads
  constexpr int kThreads = 3, kRounds = 300;
  constexpr long kRows = 40;
  plait::Team team(kThreads);
  std::vector<int> done(kRows);
  int rounds = 0;
  const auto run = [&](int me) {
    for (int round = 0; round < kRounds; ++round) {
      if (me == 0 && round % 3 == 0) std::this_thread::yield();
      PLAIT_FOR_CHUNKS_ONTHREADS(team, me, 1, 2, row, 0, kRows, 3) { ++done[static_cast<std::size_t>(row)]; }
      PLAIT_SINGLE_ONTHREADS(team, me, 1, 2) {
        ++rounds;
        for (const int times : done) EXPECT_EQ(times, rounds);
      }
    }
  };
  std::thread one(run, 1), two(run, 2);
  run(0);
  one.join();
  two.join();
  EXPECT_EQ(rounds, kRounds);
}

}  // namespace
