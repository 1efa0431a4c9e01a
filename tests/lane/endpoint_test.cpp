// Endpoints of one process: on two threads, and on one where the order of things matters.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <deque>
#include <functional>
#include <random>
#include <thread>

#include "party.hpp"

namespace plait::lane::test {
namespace {

constexpr std::array<std::size_t, 18> kSizes = {0,    1,    7,    8,    43,   44,    45,    64,    100,
                                                1000, 4096, 8191, 8192, 8193, 16384, 65536, 65537, 200'000};

/// Both sides of a conversation, each on its own thread.
void together(const std::function<void()>& one, const std::function<void()>& other) {
  std::thread thread(other);
  one();
  thread.join();
}

void expect_message(Party& to, std::uint32_t from, std::uint32_t number, std::int32_t tag, std::size_t bytes) {
  Bytes got(bytes + 1, std::byte{0x77});
  const Outcome o = to.finish(to.receive(from, tag, contiguous(got)));
  ASSERT_EQ(o.error, Error::none);
  ASSERT_EQ(o.received, bytes);
  ASSERT_EQ(got.back(), std::byte{0x77});
  got.pop_back();
  ASSERT_EQ(got, payload(from, number, bytes)) << "message " << number << " of " << bytes << " bytes";
}

TEST(Endpoint, EverySizeArrivesWholeBothWays) {  // 2 threads
  Party a(0);
  Party b(1);
  const auto side = [](Party& here, std::uint32_t me, const Card& there) {
    for (std::uint32_t round = 0; round < 20; ++round) {
      for (std::uint32_t s = 0; s < kSizes.size(); ++s) {
        const Bytes out = payload(me, round * 100 + s, kSizes[s]);
        Operation& sent = here.send(there, static_cast<std::int32_t>(s), contiguous(out), round % 3 == 2);
        ASSERT_NO_FATAL_FAILURE(expect_message(here, 1 - me, round * 100 + s, static_cast<std::int32_t>(s), kSizes[s]));
        here.finish(sent);
      }
    }
  };
  const Card to_a = a.card();
  const Card to_b = b.card();
  together([&] { side(a, 0, to_b); }, [&] { side(b, 1, to_a); });
}

TEST(Endpoint, RingWrapsManyTimesInOrder) {  // 2 threads
  Party a(0);
  Party b(1);
  constexpr std::uint32_t kMessages = 100 * transport::kCells + 5;
  const Card to = b.card();
  together(
      [&] {
        for (std::uint32_t i = 0; i < kMessages; ++i) {
          Bytes out(sizeof i);
          std::memcpy(out.data(), &i, sizeof i);
          a.finish(a.send(to, 3, contiguous(out)));
        }
      },
      [&] {
        for (std::uint32_t i = 0; i < kMessages; ++i) {
          std::uint32_t got = 0;
          const Outcome o = b.finish(b.receive(0, kAnyTag, contiguous(std::as_writable_bytes(std::span(&got, 1)))));
          ASSERT_EQ(o.tag, 3);
          ASSERT_EQ(got, i);
        }
      });
}

TEST(Endpoint, FullRingKeepsSendsWaitingInOrder) {  // 1 thread
  Party a(0);
  Party b(1);
  std::deque<Bytes> out;
  std::deque<Operation*> sent;
  constexpr std::uint32_t kMessages = 3 * transport::kCells;
  for (std::uint32_t i = 0; i < kMessages; ++i) {
    out.push_back(payload(0, i, kSizes[i % 12]));  // in cells and in blocks
    sent.push_back(&a.send(b.card(), static_cast<std::int32_t>(i), contiguous(out.back())));
  }
  EXPECT_TRUE(done(*sent.front()));
  EXPECT_FALSE(done(*sent.back()));
  EXPECT_TRUE(a.endpoint->busy());
  const std::uint64_t small = 1;
  EXPECT_FALSE(Endpoint::send_inline(a.endpoint->lane_to(b.card().address), b.card().context, 0, 0, &small, sizeof small))
      << "a small message would overtake those that wait";
  for (std::uint32_t i = 0; i < kMessages; ++i) {
    // By any tag: the order of sending shows in what comes.
    Bytes got(kSizes[i % 12]);
    Operation& r = b.receive(0, kAnyTag, contiguous(got));
    while (!done(r)) {
      a.progress();
      b.progress();
    }
    const Outcome o = b.retire(r);
    ASSERT_EQ(o.tag, static_cast<std::int32_t>(i));
    ASSERT_EQ(got, out[i]);
  }
  a.progress();
  for (Operation* const o : sent) {
    ASSERT_TRUE(done(*o));
    a.retire(*o);
  }
  EXPECT_FALSE(a.endpoint->busy());
}

TEST(Endpoint, ReceiverThatDoesNotComeStopsNoOther) {  // 1 thread
  Party a(0);
  Party absent(1);
  Party b(2);
  const Bytes out = payload(0, 0, 5000);
  std::deque<Operation*> stuck;
  for (int i = 0; i < 500; ++i) stuck.push_back(&a.send(absent.card(), 0, contiguous(out)));
  EXPECT_FALSE(done(*stuck.back()));
  for (std::uint32_t i = 0; i < 50; ++i) {
    Bytes got(out.size());
    Operation& s = a.send(b.card(), 0, contiguous(out));
    Operation& r = b.receive(0, 0, contiguous(got));
    for (int round = 0; round < 10; ++round) {
      a.progress();
      b.progress();
    }
    ASSERT_TRUE(done(s) && done(r));
    a.retire(s);
    b.retire(r);
    ASSERT_EQ(got, out);
  }
  absent.free_context();  // its messages are thrown away, which frees the senders
  while (!stuck.empty()) {
    absent.progress();
    a.progress();
    while (!stuck.empty() && done(*stuck.front())) {
      a.retire(*stuck.front());
      stuck.pop_front();
    }
  }
}

TEST(Endpoint, WindowsOfMixedSizesBothWays) {  // 2 threads
  Party a(0);
  Party b(1);
  constexpr std::uint32_t kWindow = 64;
  const auto side = [](Party& here, std::uint32_t me, const Card& there) {
    for (std::uint32_t round = 0; round < 30; ++round) {
      std::vector<Bytes> out(kWindow);
      std::vector<Bytes> in(kWindow);
      std::vector<Operation*> all;
      for (std::uint32_t i = 0; i < kWindow; ++i) {
        const std::size_t bytes = kSizes[(i * 7 + round) % kSizes.size()];
        in[i].resize(bytes);
        out[i] = payload(me, round * kWindow + i, bytes);
        if (round % 2) all.push_back(&here.receive(1 - me, static_cast<std::int32_t>(i), contiguous(in[i])));
        all.push_back(&here.send(there, static_cast<std::int32_t>(i), contiguous(out[i]), i % 9 == 0));
        if (round % 2 == 0) all.push_back(&here.receive(1 - me, static_cast<std::int32_t>(i), contiguous(in[i])));
      }
      for (Operation* const o : all) ASSERT_EQ(here.finish(*o).error, Error::none);
      for (std::uint32_t i = 0; i < kWindow; ++i) ASSERT_EQ(in[i], payload(1 - me, round * kWindow + i, in[i].size()));
    }
  };
  const Card to_a = a.card();
  const Card to_b = b.card();
  together([&] { side(a, 0, to_b); }, [&] { side(b, 1, to_a); });
}

TEST(Endpoint, GappedBuffersOnEitherSide) {  // 2 threads
  Party a(0);
  Party b(1);
  const std::vector<std::size_t> sizes = {0, 24, 48, 960, 8160, 9600, 196'800};
  const Card to = b.card();
  together(
      [&] {
        for (std::uint32_t i = 0; i < 4 * sizes.size(); ++i) {
          const Bytes bytes = payload(0, i, sizes[i % sizes.size()]);
          const Gapped gapped(bytes.size());
          gapped.fill(bytes);
          a.finish(a.send(to, 0, i % 2 ? gapped.memory : contiguous(bytes)));
        }
      },
      [&] {
        for (std::uint32_t i = 0; i < 4 * sizes.size(); ++i) {
          const Bytes expected = payload(0, i, sizes[i % sizes.size()]);
          const Gapped gapped(expected.size());
          ASSERT_EQ(b.finish(b.receive(0, 0, gapped.memory)).received, expected.size());
          ASSERT_EQ(gapped.packed(), expected);
          ASSERT_TRUE(gapped.gaps_untouched());
        }
      });
}

TEST(Endpoint, TruncatedMessageFillsTheRoomAndTheNextIsIntact) {  // 1 thread
  Party a(0);
  Party b(1);
  for (const bool expected : {false, true}) {
    for (const std::size_t bytes : {std::size_t{40}, std::size_t{5000}, std::size_t{100'000}}) {
      for (const std::size_t room : {std::size_t{0}, std::size_t{10}, bytes - 1}) {
        const Bytes out = payload(0, 1, bytes);
        const Bytes after = payload(0, 2, bytes);
        Bytes got(bytes, std::byte{0x77});
        Bytes next(bytes);
        Operation* r = nullptr;
        if (expected) r = &b.receive(0, 0, contiguous(std::span(got).first(room)));
        Operation& s = a.send(b.card(), 0, contiguous(out));
        Operation& t = a.send(b.card(), 0, contiguous(after));
        if (!expected) {
          b.progress();
          r = &b.receive(0, 0, contiguous(std::span(got).first(room)));
        }
        const Outcome o = b.finish(*r);
        EXPECT_EQ(o.error, Error::truncated);
        EXPECT_EQ(o.received, room);
        EXPECT_TRUE(std::equal(got.begin(), got.begin() + static_cast<std::ptrdiff_t>(room), out.begin()));
        for (std::size_t i = room; i < bytes; ++i) ASSERT_EQ(got[i], std::byte{0x77}) << i;
        EXPECT_EQ(b.finish(b.receive(0, 0, contiguous(next))).error, Error::none);
        EXPECT_EQ(next, after);
        a.finish(s);
        a.finish(t);
      }
    }
  }
}

/// A receiver takes 64 cells at a time: of a message in four pieces it has the first ones, and then something happens.
TEST(Endpoint, MessageOfWhichAPartHasCome) {  // 1 thread
  constexpr std::size_t kBytes = 8000;
  const Bytes out = payload(0, 1, kBytes);
  const Bytes after = payload(0, 2, kBytes);
  for (const int before : {61, 62, 63}) {
    for (const bool expected : {false, true}) {
      for (const std::size_t room : {std::size_t{0}, std::size_t{1000}, std::size_t{5000}, kBytes}) {
        Party a(0);
        Party b(1);
        Bytes got(kBytes, std::byte{0x77});
        Bytes next(kBytes);
        const Memory to = contiguous(std::span(got).first(room));
        Operation* r = expected ? &b.receive(0, 1, to) : nullptr;
        for (int i = 0; i < before; ++i) a.finish(a.send(b.card(), 0, Memory{}));
        a.finish(a.send(b.card(), 1, contiguous(out)));
        a.finish(a.send(b.card(), 2, contiguous(after)));
        b.progress();
        if (!r) r = &b.receive(0, 1, to);
        EXPECT_FALSE(done(*r));
        b.endpoint->cancel(*r);
        EXPECT_FALSE(done(*r));
        const Outcome o = b.finish(*r);
        EXPECT_EQ(o.error, room < kBytes ? Error::truncated : Error::none);
        EXPECT_EQ(o.received, room);
        EXPECT_TRUE(std::equal(got.begin(), got.begin() + static_cast<std::ptrdiff_t>(room), out.begin()));
        for (std::size_t i = room; i < kBytes; ++i) ASSERT_EQ(got[i], std::byte{0x77}) << i;
        EXPECT_EQ(b.finish(b.receive(0, 2, contiguous(next))).error, Error::none);
        EXPECT_EQ(next, after);
      }
    }
    // Nobody will receive it.
    Party a(0);
    Party b(1);
    for (int i = 0; i < before; ++i) a.finish(a.send(b.card(), 0, Memory{}));
    a.finish(a.send(b.card(), 1, contiguous(out)));
    b.progress();
    b.free_context();
    b.context = &make_context(*b.endpoint);
    a.finish(a.send(b.card(), 1, contiguous(after)));
    Bytes next(kBytes);
    EXPECT_EQ(b.finish(b.receive(0, 1, contiguous(next))).error, Error::none);
    EXPECT_EQ(next, after);
  }
}

TEST(Endpoint, CancelledReceiveTakesNoMessage) {  // 1 thread
  Party a(0);
  Party b(1);
  Bytes first(8);
  Bytes second(8);
  Operation& cancelled = b.receive(0, kAnyTag, contiguous(first));
  Operation& stays = b.receive(0, 2, kAnyTag, contiguous(second));
  b.endpoint->cancel(cancelled);
  ASSERT_TRUE(done(cancelled));
  EXPECT_EQ(b.retire(cancelled).error, Error::cancelled);
  const Bytes out = payload(0, 0, 8);
  a.finish(a.send(b.card(), 5, contiguous(out)));
  const Outcome o = b.finish(stays);
  EXPECT_EQ(o.error, Error::none);
  EXPECT_EQ(o.tag, 5);
  EXPECT_EQ(second, out);
  EXPECT_EQ(first, Bytes(8));
}

TEST(Endpoint, ReceiveThatHasItsMessageIsNotCancelled) {  // 1 thread
  Party a(0);
  Party b(1);
  Bytes got(8);
  const Bytes out = payload(0, 0, 8);
  Operation& r = b.receive(0, 0, contiguous(got));
  a.finish(a.send(b.card(), 0, contiguous(out)));
  b.progress();
  b.endpoint->cancel(r);
  EXPECT_EQ(b.finish(r).error, Error::none);
  EXPECT_EQ(got, out);
}

TEST(Endpoint, SynchronousSendWaitsForItsMatch) {  // 1 thread
  Party a(0);
  Party b(1);
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{8}, std::size_t{5000}, std::size_t{100'000}}) {
    const Bytes out = payload(0, 0, bytes);
    Bytes got(bytes);
    Operation& s = a.send(b.card(), 0, contiguous(out), true);
    for (int i = 0; i < 10; ++i) {
      a.progress();
      b.progress();
    }
    EXPECT_FALSE(done(s));
    EXPECT_EQ(b.finish(b.receive(0, 0, contiguous(got))).error, Error::none);
    a.finish(s);
    EXPECT_EQ(got, out);
  }
}

TEST(Endpoint, FreedContextThrowsItsMessagesAwayAndFreesTheirSenders) {  // 1 thread
  Party a(0);
  Party b(1);
  const Card gone = b.card();
  std::deque<Bytes> out;
  std::deque<Operation*> sent;
  const auto send_some = [&] {
    for (std::uint32_t i = 0; i < kSizes.size(); ++i) {
      out.push_back(payload(0, i, kSizes[i]));
      sent.push_back(&a.send(gone, 0, contiguous(out.back()), i % 2 == 0));
    }
  };
  send_some();
  b.progress();
  EXPECT_TRUE(b.context->has_unexpected());
  send_some();  // these come when the context is gone
  b.free_context();
  send_some();
  for (int i = 0; i < 10; ++i) {
    b.progress();
    a.progress();
  }
  for (Operation* const o : sent) {
    ASSERT_TRUE(done(*o));
    a.retire(*o);
  }
  // A new context on the same endpoint gets none of them.
  MatchContext fresh;
  fresh.endpoint = b.endpoint;
  ASSERT_TRUE(add_context(fresh));
  EXPECT_NE(fresh.id, gone.context);
  b.progress();
  EXPECT_FALSE(fresh.has_unexpected());
  remove_context(fresh);
}

TEST(Endpoint, IsMovedByOthersWhileItsThreadIsAway) {  // 1 thread that never enters either endpoint
  Party a(0);
  Party b(1);
  const Bytes out = payload(0, 0, 200'000);
  Bytes got(out.size());
  Operation& s = a.send(b.card(), 0, contiguous(out));
  Operation& r = b.receive(0, 0, contiguous(got));
  EXPECT_TRUE(progress::any_pending());
  for (int i = 0; i < 100 && !(done(s) && done(r)); ++i) progress::drive();
  ASSERT_TRUE(done(s) && done(r));
  EXPECT_EQ(got, out);
  a.retire(s);
  b.retire(r);
  EXPECT_FALSE(progress::any_pending());
}

TEST(Endpoint, OfManyOnlyThoseInUseAreLookedAt) {  // 1 thread
  const std::size_t before = active_endpoints;
  Party a(0);
  std::vector<std::unique_ptr<Party>> others;
  others.reserve(3 * kFewEndpoints);
  for (std::uint32_t i = 1; i <= 3 * kFewEndpoints; ++i) others.push_back(std::make_unique<Party>(i));
  EXPECT_EQ(active_endpoints, before);
  for (const int round : {0, 1}) {
    std::vector<Operation*> receives;
    receives.reserve(others.size());
    std::vector<std::uint32_t> got(others.size());
    for (std::size_t i = 0; i < others.size(); ++i) {
      receives.push_back(&others[i]->receive(0, round, {reinterpret_cast<std::byte*>(&got[i]), sizeof got[i], 0, nullptr}));
    }
    EXPECT_GE(active_endpoints, others.size());
    for (std::size_t i = 0; i < others.size(); ++i) {
      const auto number = static_cast<std::uint32_t>(i);
      Bytes out(sizeof number);
      std::memcpy(out.data(), &number, sizeof number);
      Operation& s = a.send(others[i]->card(), round, contiguous(out));
      for (int tries = 0; tries < 100 && !(done(s) && done(*receives[i])); ++tries) progress::drive();
      ASSERT_TRUE(done(s) && done(*receives[i])) << i;
      EXPECT_EQ(got[i], number);
      a.retire(s);
      others[i]->retire(*receives[i]);
    }
    EXPECT_LE(active_endpoints, before + kFewEndpoints + 1);
  }
}

TEST(Endpoint, VisitorsDoNotDisturbItsThread) {  // 3 threads
#ifdef __SANITIZE_THREAD__
  constexpr std::uint32_t kMessages = 1000;  // so many take 5 s
#else
  constexpr std::uint32_t kMessages = 5000;
#endif
  Party a(0);
  Party b(1);
  const Card to_a = a.card();
  const Card to_b = b.card();
  std::atomic<bool> over{false};
  std::thread visitor([&] {
    event_count_begin();
    while (!over.load()) {
      a.endpoint->try_progress();
      b.endpoint->try_progress();
      std::this_thread::yield();
    }
  });
  const auto side = [](Party& here, std::uint32_t me, const Card& there) {
    for (std::uint32_t i = 0; i < kMessages; ++i) {
      const Bytes out = payload(me, i, kSizes[i % kSizes.size()]);
      Operation& sent = here.send(there, 0, contiguous(out));
      ASSERT_NO_FATAL_FAILURE(expect_message(here, 1 - me, i, 0, out.size()));
      here.finish(sent);
    }
  };
  together([&] { side(a, 0, to_b); }, [&] { side(b, 1, to_a); });
  over.store(true);
  visitor.join();
}

/// Two threads at each of two endpoints, and their tags.
void exchange_by_two_each(Party& a, Party& b, std::uint32_t messages) {
  const Card to_a = a.card();
  const Card to_b = b.card();
  const auto side = [messages](Party& here, std::uint32_t me, const Card& there, std::int32_t tag) {
    for (std::uint32_t i = 0; i < messages; ++i) {
      const Bytes out = payload(me, i, kSizes[i % kSizes.size()]);
      Operation& sent = here.send(there, tag, contiguous(out));
      ASSERT_NO_FATAL_FAILURE(expect_message(here, 1 - me, i, tag, out.size()));
      here.finish(sent);
    }
  };
  std::vector<std::thread> threads;
  for (const std::int32_t tag : {1, 2}) {
    threads.emplace_back([&, tag] { side(a, 0, to_b, tag); });
    threads.emplace_back([&, tag] { side(b, 1, to_a, tag); });
  }
  for (std::thread& t : threads) t.join();
}

TEST(Endpoint, SharedByThreads) {  // 4 threads, two at each endpoint
  Party a(0);
  Party b(1);
  a.endpoint->set_use(Use::shared);
  b.endpoint->set_use(Use::shared);
  exchange_by_two_each(a, b, 1000);
}

TEST(Endpoint, BiasedIsSharedFromTheSecondThreadOn) {  // 4 threads, two at each endpoint, and one that visits both
  Party a(0);
  Party b(1);
  std::atomic<bool> over{false};
  std::thread visitor([&] {
    while (!over) static_cast<void>(a.endpoint->try_progress() || b.endpoint->try_progress());
  });
  for (int user = 0; user < 20; ++user) {  // the threads meet at another moment each time
    a.endpoint->set_use(Use::biased);
    b.endpoint->set_use(Use::biased);
    exchange_by_two_each(a, b, 20);
    EXPECT_EQ(a.endpoint->use(), Use::shared);
    EXPECT_EQ(b.endpoint->use(), Use::shared);
  }
  over = true;
  visitor.join();
}

TEST(Endpoint, BiasedStaysSoWithOneThread) {  // 2 threads, each at its endpoint
  Party a(0);
  Party b(1);
  a.endpoint->set_use(Use::biased);
  b.endpoint->set_use(Use::biased);
  const Card to_b = b.card();
  std::thread sender([&] {
    for (std::uint32_t i = 0; i < 1000; ++i) {
      const Bytes out = payload(0, i, kSizes[i % kSizes.size()]);
      a.finish(a.send(to_b, 1, contiguous(out)));
    }
  });
  for (std::uint32_t i = 0; i < 1000; ++i) ASSERT_NO_FATAL_FAILURE(expect_message(b, 0, i, 1, kSizes[i % kSizes.size()]));
  sender.join();
  EXPECT_EQ(a.endpoint->use(), Use::biased);
  EXPECT_EQ(b.endpoint->use(), Use::biased);
}

TEST(Endpoint, AnySourceKeepsEachSendersOrder) {  // 4 threads
  constexpr std::uint32_t kSenders = 3;
  constexpr std::uint32_t kMessages = 3000;
  const std::uint32_t seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  Party receiver(kSenders);
  std::deque<Party> senders;
  for (std::uint32_t s = 0; s < kSenders; ++s) senders.emplace_back(s);
  const Card to = receiver.card();
  std::vector<std::thread> threads;
  threads.reserve(kSenders);
  for (std::uint32_t s = 0; s < kSenders; ++s) {
    threads.emplace_back([&, s] {
      std::mt19937 random(seed + s);
      for (std::uint32_t i = 0; i < kMessages; ++i) {
        Bytes out = payload(s, i, sizeof i + kSizes[random() % 12]);
        std::memcpy(out.data(), &i, sizeof i);
        senders[s].finish(senders[s].send(to, static_cast<std::int32_t>(random() % 3), contiguous(out)));
      }
    });
  }
  std::mt19937 random(seed + kSenders);
  std::array<std::uint32_t, kSenders> next{};
  Bytes got(10000);
  for (std::uint32_t n = 0; n < kSenders * kMessages; ++n) {
    const std::uint32_t wanted = static_cast<std::uint32_t>(random() % (kSenders + 2));
    // A source that has sent all is not asked for.
    const bool one = wanted < kSenders && next[wanted] < kMessages;
    Operation& r = one ? receiver.receive(wanted, kAnyTag, contiguous(got)) : receiver.receive(0, kSenders, kAnyTag, contiguous(got));
    const Outcome o = receiver.finish(r);
    std::uint32_t i = 0;
    std::memcpy(&i, got.data(), sizeof i);
    EXPECT_EQ(i, next[o.from]) << "from " << o.from;
    next[o.from] = i + 1;
    Bytes expected = payload(o.from, i, o.received);
    std::memcpy(expected.data(), &i, sizeof i);
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), got.begin()));
  }
  for (std::thread& t : threads) t.join();
}

}  // namespace
}  // namespace plait::lane::test
