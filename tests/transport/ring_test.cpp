// The ring: what goes in comes out once, in order and whole, and a full ring takes nothing.
#include "transport/ring.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <deque>
#include <limits>
#include <memory>
#include <random>
#include <thread>
#include <vector>

namespace plait::transport {
namespace {

/// A lap before the positions come to 2^32, and not at a lap's begin. By then every cell has been written, as in a ring that has
/// come so far.
constexpr std::uint32_t kLate = std::numeric_limits<std::uint32_t>::max() - 2 * kCells + 5;

struct Taken {
  Kind kind;
  std::uint32_t bytes, context, source;
  std::int32_t tag;
  std::uint64_t value;
  bool operator==(const Taken&) const = default;
};

/// A message that is known by its number.
Taken message(std::uint64_t number) {
  const auto low = static_cast<std::uint32_t>(number);
  const Kind kinds[] = {Kind::kInline, Kind::kBlock, Kind::kRts, Kind::kChunk};
  return {kinds[number % 4], low % 70000, low * 3, low * 5, static_cast<std::int32_t>(low * 7), number * 0x9E3779B97F4A7C15u};
}

/// Both ends in memory that is a new lane's.
class Ring {
 public:
  explicit Ring(std::uint32_t first = 0) {
    event_count_begin();
    memory_->consumed.store(first, std::memory_order_relaxed);
    sender = RingSender(*memory_, receivers_, first);
    receiver = RingReceiver(*memory_, senders_, first);
  }

  [[nodiscard]] bool send(std::uint64_t number) {
    Cell* const cell = sender.cell();
    if (!cell) return false;
    const Taken m = message(number);
    cell->context = m.context;
    cell->source = m.source;
    cell->tag = m.tag;
    std::memcpy(cell->payload, &m.value, sizeof m.value);
    sender.publish(*cell, m.kind, m.bytes);
    return true;
  }
  [[nodiscard]] std::vector<Taken> poll(int most) {
    std::vector<Taken> all;
    const bool any = receiver.poll(most, [&](const Cell& cell, Kind kind, std::uint32_t bytes) {
      Taken t{kind, bytes, cell.context, cell.source, cell.tag, 0};
      std::memcpy(&t.value, cell.payload, sizeof t.value);
      all.push_back(t);
    });
    EXPECT_EQ(any, !all.empty());
    return all;
  }

 private:
  std::unique_ptr<LaneMemory> memory_ = std::make_unique<LaneMemory>();
  EventCount receivers_, senders_;

 public:
  RingSender sender;
  RingReceiver receiver{*memory_, senders_};
};

class RingFrom : public testing::TestWithParam<std::uint32_t> {};
INSTANTIATE_TEST_SUITE_P(Positions, RingFrom, testing::Values(0u, kLate));

TEST(RingSender, WithoutMemoryIsFull) {
  RingSender none;
  EXPECT_EQ(none.cell(), nullptr);
  EXPECT_EQ(none.cell(), nullptr);
}

TEST(Ring, ANewOneIsEmpty) {
  Ring ring;
  EXPECT_TRUE(ring.poll(10).empty());
}

TEST(Ring, ACellThatIsNotPublishedIsNotSeen) {
  Ring ring;
  Cell* const cell = ring.sender.cell();
  ASSERT_NE(cell, nullptr);
  cell->tag = 3;
  EXPECT_TRUE(ring.poll(10).empty());
  EXPECT_EQ(ring.sender.cell(), cell) << "it stays the next";
}

TEST_P(RingFrom, KeepsOrderOverManyLaps) {
  Ring ring(GetParam());
  std::uint64_t next = 0;
  for (std::uint64_t i = 0; i < 10 * kCells; ++i) {
    ASSERT_TRUE(ring.send(i));
    if (i % 3 != 0) continue;
    for (const Taken& t : ring.poll(kCells)) ASSERT_EQ(t, message(next++));
  }
  for (const Taken& t : ring.poll(kCells)) ASSERT_EQ(t, message(next++));
  EXPECT_EQ(next, 10 * kCells);
}

TEST_P(RingFrom, TakesNoMoreThanAsked) {
  Ring ring(GetParam());
  for (std::uint64_t i = 0; i < 10; ++i) ASSERT_TRUE(ring.send(i));
  EXPECT_EQ(ring.poll(4).size(), 4u);
  const auto rest = ring.poll(100);
  ASSERT_EQ(rest.size(), 6u);
  EXPECT_EQ(rest.front(), message(4));
}

TEST_P(RingFrom, AFullRingTakesNothingUntilTheReceiverHasReported) {
  Ring ring(GetParam());
  std::uint64_t sent = 0;
  std::uint64_t next = 0;
  for (int lap = 0; lap < 6; ++lap) {
    while (ring.send(sent)) ++sent;
    ASSERT_LE(sent - next, kCells);
    ASSERT_GT(sent - next, kCells - kReportEvery) << "the receiver reports every so many cells";
    ASSERT_EQ(ring.sender.cell(), nullptr);
    for (const Taken& t : ring.poll(kReportEvery + 7)) ASSERT_EQ(t, message(next++));
    ASSERT_NE(ring.sender.cell(), nullptr);
  }
  while (next < sent) {
    for (const Taken& t : ring.poll(5)) ASSERT_EQ(t, message(next++));
  }
  EXPECT_TRUE(ring.poll(1).empty());
}

TEST_P(RingFrom, RandomTurnsAgreeWithAQueue) {
  for (const unsigned seed : {1u, 2u, 3u, 20u}) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    Ring ring(GetParam());
    std::deque<std::uint64_t> queue;
    std::uint64_t next = 0;
    for (int turn = 0; turn < 3000; ++turn) {
      for (auto n = random() % (random() % 8 == 0 ? 200 : 12); n > 0; --n) {
        if (!ring.send(next)) {
          // No room only where less than the receiver keeps to itself is free.
          ASSERT_GT(queue.size(), kCells - kReportEvery);
          break;
        }
        queue.push_back(next++);
        ASSERT_LE(queue.size(), kCells);
      }
      const auto most = static_cast<int>(random() % 20);
      const auto taken = ring.poll(most);
      ASSERT_EQ(taken.size(), std::min<std::size_t>(queue.size(), static_cast<std::size_t>(most)));
      for (const Taken& t : taken) {
        ASSERT_EQ(t, message(queue.front()));
        queue.pop_front();
      }
    }
  }
}

TEST_P(RingFrom, TwoThreads) {
  constexpr std::uint64_t kMessages = 8'000;
  Ring ring(GetParam());
  std::thread sender([&] {
    for (std::uint64_t i = 0; i < kMessages; ++i) {
      while (!ring.send(i)) std::this_thread::yield();
    }
  });
  std::uint64_t next = 0;
  std::uint64_t wrong = 0;
  while (next < kMessages) {
    const auto taken = ring.poll(64);
    for (const Taken& t : taken) wrong += t == message(next++) ? 0 : 1;
    if (taken.empty()) std::this_thread::yield();
  }
  sender.join();
  EXPECT_EQ(wrong, 0u);
  EXPECT_TRUE(ring.poll(1).empty());
}

/// Whoever sleeps is woken: by a cell, and by room.
TEST_P(RingFrom, ThreadsThatSleepAreNotified) {
  using namespace std::chrono_literals;
  constexpr std::uint64_t kMessages = 2000;
  event_count_begin();
  auto memory = std::make_unique<LaneMemory>();
  memory->consumed.store(GetParam(), std::memory_order_relaxed);
  EventCount cells;
  EventCount room;
  RingSender sender(*memory, cells, GetParam());
  RingReceiver receiver(*memory, room, GetParam());
  // Until there is what `look` looks for. The sleep is far longer than the test may take.
  const auto await = [](EventCount& event, auto look) {
    while (!look()) {
      const EventCount::Key key = event.prepare();
      if (look()) {
        event.cancel(key);
        return;
      }
      event.wait(key, 60s);
    }
  };
  std::thread writer([&] {
    for (std::uint64_t i = 0; i < kMessages; ++i) {
      Cell* cell = nullptr;
      await(room, [&] { return (cell = sender.cell()) != nullptr; });
      cell->tag = static_cast<std::int32_t>(i);
      sender.publish(*cell, Kind::kInline, 0);
    }
  });
  std::int32_t next = 0;
  bool in_order = true;
  while (next < static_cast<std::int32_t>(kMessages)) {
    await(cells,
          [&] { return receiver.poll(64, [&](const Cell& cell, Kind, std::uint32_t) { in_order = in_order && cell.tag == next++; }); });
  }
  writer.join();
  EXPECT_TRUE(in_order);
}

}  // namespace
}  // namespace plait::transport
