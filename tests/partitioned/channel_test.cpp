// Threads that ready partitions on one side, one that takes what comes on the other: as two processes of a node have it (pieces in
// the ring or placed in the receiver's buffer, groups opened and fetched), and as two threads of a process. 1 x 2 to 6 threads. Also under
// ThreadSanitizer.
#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <random>
#include <thread>
#include <vector>

#include "partitioned/channel_receiver.hpp"
#include "partitioned/sender.hpp"

namespace plait::partitioned {
namespace {

/// Of the heap, or that other processes can map.
enum class From : bool { heap, shared };

/// Buffers are made from there until that is changed.
From memory_from = From::heap;

template <class T>
struct Allocator {
  using value_type = T;
  Allocator() = default;
  template <class U>
  explicit Allocator(const Allocator<U>&) {}
  static T* allocate(std::size_t n) {
    return static_cast<T*>(memory_from == From::shared ? SharedHeap::get().take(n * sizeof(T)) : std::malloc(n * sizeof(T)));
  }
  static void deallocate(T* p, std::size_t) noexcept {
    if (SharedHeap::get().give(p) == SharedHeap::Given::not_mine) std::free(p);
  }
  bool operator==(const Allocator&) const = default;
};
using Bytes = std::vector<std::byte, Allocator<std::byte>>;
using Random = std::mt19937;

std::byte expected(std::uint32_t round, std::uint64_t i) { return static_cast<std::byte>(i * 7 + i / 251 + round * 31); }

Side side_of(Bytes& buffer, int partitions) {
  Side side;
  side.rank = 0;
  side.partitions = partitions;
  side.memory.at = buffer.data();
  side.memory.bytes = buffer.size();
  return side;
}

/// What stands for the receiver.
class Receiving {
 public:
  Receiving(Sender& sender, std::uint64_t bytes, std::uint64_t part, bool direct) : buffer_(bytes), bytes_(bytes) {
    const ChannelReceiver::Source source{lane::Node::get().region().name(), sender.channel()->address().offset, bytes,
                                         reinterpret_cast<std::uint64_t>(sender.readable().at),
                                         SharedHeap::get().find(sender.readable().at, bytes)};
    channel_ = ChannelReceiver::attach(source);
    memory_.at = buffer_.data();
    memory_.bytes = bytes;
    channel_->match(memory_, part, direct);
  }
  ~Receiving() { channel_->leave(); }
  Receiving(const Receiving&) = delete;
  Receiving& operator=(const Receiving&) = delete;

  /// Takes a whole round; every unit must come once.
  void take(std::uint32_t round) {
    std::vector<char> seen(std::max<std::uint64_t>(bytes_, 1));
    std::uint64_t left = seen.size();
    channel_->begin(round);
    channel_->set_polled(true);
    while (left > 0) {
      const bool moved = channel_->take([&](std::uint64_t begin, std::uint64_t units) {
        for (std::uint64_t i = begin; i < begin + units; ++i) ASSERT_EQ(seen.at(i)++, 0) << i;
        for (std::uint64_t i = begin; i < std::min(begin + units, bytes_); ++i) ASSERT_EQ(buffer_[i], expected(round, i)) << i;
        left -= units;
      });
      if (!moved) sched_yield();
    }
    channel_->set_polled(false);
    std::ranges::fill(buffer_, std::byte{0xEE});
  }

 private:
  Bytes buffer_;
  lane::Memory memory_;
  std::uint64_t bytes_;
  std::unique_ptr<ChannelReceiver> channel_;
};

struct Shape3 {
  int partitions;
  std::uint64_t each;
  int threads;
};

/// The threads ready their partitions in random order; the caller has started the sender.
void ready_all(Sender& sender, Bytes& buffer, const Shape3& s, std::uint32_t round, unsigned seed) {
  std::vector<std::thread> team;
  team.reserve(static_cast<std::size_t>(s.threads));
  for (int t = 0; t < s.threads; ++t) {
    team.emplace_back([&, t] {
      Random random(seed + static_cast<unsigned>(t));
      std::vector<int> mine;
      for (int p = t; p < s.partitions; p += s.threads) mine.push_back(p);
      std::ranges::shuffle(mine, random);
      for (const int p : mine) {
        const auto first = static_cast<std::uint64_t>(p) * s.each;
        for (std::uint64_t i = first; i < first + s.each; ++i) buffer[i] = expected(round, i);
        EXPECT_TRUE(sender.ready(p, p));
      }
    });
  }
  for (std::thread& t : team) t.join();
}

void finish(Sender& sender) {
  sender.set_polled(true);
  while (!sender.delivered()) {
    if (!sender.step()) sched_yield();
  }
  sender.set_polled(false);
}

void exchange(const Shape3& s, std::uint64_t receiver_part, bool direct, std::uint32_t rounds, From of_send = From::heap,
              From of_receive = From::heap) {
  memory_from = of_send;
  Bytes buffer(static_cast<std::uint64_t>(s.partitions) * s.each);
  Sender sender(side_of(buffer, s.partitions), std::nullopt);
  memory_from = of_receive;
  Receiving receiving(sender, buffer.size(), receiver_part, direct);
  memory_from = From::heap;
  for (std::uint32_t round = 1; round <= rounds; ++round) {
    sender.start();
    EXPECT_FALSE(sender.done());
    // In turn with the receiver there from the start, or only once all is ready.
    const auto ready = [&] { ready_all(sender, buffer, s, round, round); };
    if (round % 2) {
      std::thread receiver([&] { receiving.take(round); });
      ready();
      finish(sender);
      receiver.join();
    } else {
      ready();
      std::thread receiver([&] { receiving.take(round); });
      finish(sender);
      receiver.join();
    }
    EXPECT_TRUE(sender.done());
  }
}

TEST(Channel, SmallPartitionsGoTogether) { exchange({64, 64, 4}, 0, false, 40); }
TEST(Channel, OnePartition) { exchange({1, 100, 1}, 0, false, 40); }
TEST(Channel, OneLargePartition) { exchange({1, 1 << 20, 1}, 0, false, 10); }
TEST(Channel, ManyPartitionsOverflowTheRing) { exchange({4096, 40, 4}, 40, false, 6); }
TEST(Channel, LargePartitionsOverflowTheRing) { exchange({5, 100'000, 3}, 0, false, 10); }
TEST(Channel, UnevenGroups) { exchange({77, 129, 3}, 129 * 7, false, 30); }
TEST(Channel, BetweenThreadsOfAProcess) { exchange({33, 5000, 4}, 0, true, 20); }

TEST(Channel, PlacedPieces) { exchange({5, 300'000, 3}, 0, false, 20, From::shared, From::shared); }
TEST(Channel, PlacedPiecesOfAnyBuffer) { exchange({3, 300'000, 3}, 0, false, 20, From::heap, From::shared); }
TEST(Channel, PiecesReadInTheSendersBuffer) { exchange({3, 300'000, 3}, 0, false, 20, From::shared, From::heap); }
TEST(Channel, SmallAndPlacedPieces) { exchange({1024, 1500, 4}, 1500 * 3, false, 10, From::shared, From::shared); }

TEST(Channel, MessageWithoutBytesArrives) {
  Bytes buffer;
  Sender sender(side_of(buffer, 3), std::nullopt);
  Receiving receiving(sender, 0, 0, false);
  for (std::uint32_t round = 1; round < 20; ++round) {
    sender.start();
    EXPECT_TRUE(sender.ready(0, 1));
    EXPECT_FALSE(sender.done());
    EXPECT_TRUE(sender.ready(2, 2));
    receiving.take(round);
    finish(sender);
  }
}

TEST(Channel, PartitionIsReadiedOnce) {
  Bytes buffer(300);
  Sender sender(side_of(buffer, 100), std::nullopt);
  sender.start();
  EXPECT_TRUE(sender.ready(10, 70));
  EXPECT_FALSE(sender.ready(70, 70));
  EXPECT_FALSE(sender.ready(0, 10));
  EXPECT_TRUE(sender.ready(71, 99));
  EXPECT_EQ(sender.readied(), 100);
  sender.channel()->leave();
}

TEST(Channel, RangesAreAddedOnce) {
  Bytes buffer(1000 * 8);
  Sender sender(side_of(buffer, 1), Ranges{1000, 1});
  sender.start();
  EXPECT_TRUE(sender.add(100, 800));
  for (const std::uint64_t first : {0, 50, 99, 100, 500, 898}) EXPECT_FALSE(sender.add(first, 102)) << first;
  EXPECT_FALSE(sender.add(0, 1000));
  EXPECT_EQ(sender.readied(), 800);
  EXPECT_TRUE(sender.add(0, 100));
  EXPECT_TRUE(sender.add(900, 100));
  EXPECT_EQ(sender.readied(), 1000);
  sender.channel()->leave();
}

/// Of parts that are rounded down, the call that is the last of the threads' adds what they leave. One that is refused is none of these,
/// but for as long as it takes another one may seem the last.
TEST(Channel, TheLastThreadAddsTheRest) {
  Bytes buffer(10 * 8);
  for (int round = 0; round < 300; ++round) {
    Sender sender(side_of(buffer, 1), Ranges{10, 4});
    sender.start();
    EXPECT_TRUE(sender.add_share(0, 2));
    std::atomic<bool> begun{false};
    std::atomic<bool> over{false};
    std::thread again([&] {
      while (!over) {
        EXPECT_FALSE(sender.add_share(0, 2));
        begun = true;
      }
    });
    while (!begun) sched_yield();
    for (const std::uint64_t first : {6, 2, 4}) EXPECT_TRUE(sender.add_share(first, 2)) << first;
    over = true;
    again.join();
    EXPECT_EQ(sender.readied(), 10);
    EXPECT_TRUE(sender.done());
    sender.channel()->leave();
  }
}

/// All is added before there is a receiver: the buffer is the program's again, and what was in it arrives.
TEST(Channel, WhatIsAddedIsKeptAside) {
  constexpr std::uint64_t kElements = 40'000;
  for (const bool direct : {false, true}) {
    Bytes buffer(kElements * 8);
    Sender sender(side_of(buffer, 1), Ranges{kElements, 1});
    sender.start();
    for (std::uint64_t i = 0; i < buffer.size(); ++i) buffer[i] = expected(1, i);
    EXPECT_TRUE(sender.add(0, kElements));
    EXPECT_TRUE(sender.done());
    EXPECT_FALSE(sender.delivered());
    std::ranges::fill(buffer, std::byte{0});
    Receiving receiving(sender, buffer.size(), 0, direct);
    std::thread receiver([&] { receiving.take(1); });
    finish(sender);
    receiver.join();
  }
}

TEST(Channel, ThreadsAddRangesOfAnyLength) {
  constexpr std::uint64_t kElements = 50'001;
  constexpr int kThreads = 4;
  Bytes buffer(kElements * 8);
  Sender sender(side_of(buffer, 1), Ranges{kElements, kThreads});
  Receiving receiving(sender, buffer.size(), 0, false);
  for (std::uint32_t round = 1; round <= 20; ++round) {
    sender.start();
    std::thread receiver([&] { receiving.take(round); });
    std::vector<std::thread> team;
    team.reserve(kThreads);
    for (std::uint64_t t = 0; t < kThreads; ++t) {
      team.emplace_back([&, t] {
        Random random(round * 10 + static_cast<unsigned>(t));
        const std::uint64_t end = kElements * (t + 1) / kThreads;
        for (std::uint64_t at = kElements * t / kThreads; at < end;) {
          const std::uint64_t n = std::min<std::uint64_t>(std::uniform_int_distribution<std::uint64_t>(1, 3000)(random), end - at);
          for (std::uint64_t i = at * 8; i < (at + n) * 8; ++i) buffer[i] = expected(round, i);
          EXPECT_TRUE(sender.add(at, n));
          at += n;
        }
      });
    }
    for (std::thread& t : team) t.join();
    finish(sender);
    receiver.join();
  }
}

/// Programs that make and free requests for ever do not grow.
TEST(Channel, MemoryIsUsedAgain) {
  Bytes buffer(100'000);
  std::size_t before = 0;
  for (int i = 0; i < 10; ++i) {
    {
      Sender sender(side_of(buffer, 4), std::nullopt);
      const Receiving receiving(sender, buffer.size(), 0, false);
    }
    if (i == 0) before = lane::Node::get().region().taken();
  }
  EXPECT_EQ(lane::Node::get().region().taken(), before);
}

}  // namespace
}  // namespace plait::partitioned
