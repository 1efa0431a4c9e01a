// What happens to messages where memory is out, and how much they take. The operators here fail while a test wants them to.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdlib>
#include <new>
#include <vector>

#include "lane/unexpected.hpp"
#include "party.hpp"

namespace {

thread_local bool out_of_memory = false;
thread_local int taken = 0;

/// While it lives this thread gets no memory.
class NoMemory {
 public:
  NoMemory() noexcept { out_of_memory = true; }
  ~NoMemory() { out_of_memory = false; }
  NoMemory(const NoMemory&) = delete;
  NoMemory& operator=(const NoMemory&) = delete;
};

void* take(std::size_t bytes) noexcept {
  ++taken;
  return out_of_memory ? nullptr : std::malloc(bytes ? bytes : 1);
}

}  // namespace

[[gnu::noinline]] void* operator new(std::size_t bytes) {
  void* const memory = take(bytes);
  if (!memory) throw std::bad_alloc();
  return memory;
}
[[gnu::noinline]] void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept { return take(bytes); }
[[gnu::noinline]] void* operator new[](std::size_t bytes) { return operator new(bytes); }
[[gnu::noinline]] void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept { return take(bytes); }
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete[](void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }

namespace plait::lane::test {
namespace {

/// Sends to the other one, which has no receive for it, and looks there.
void arrive(Party& from, Party& at, std::int32_t tag, const Bytes& bytes) {
  Operation& send = from.send(at.card(), tag, contiguous(bytes));
  ASSERT_TRUE(done(send));
  from.retire(send);
  EXPECT_TRUE(at.progress());
}

TEST(NoMemory, SmallUnexpectedMessagesTakeNoneOnceTheirsIsThere) {
  Party a(0);
  Party b(1);
  const Bytes bytes = payload(0, 1, 40);
  Bytes in(40);
  const Memory to = contiguous(std::span(in));
  const auto turn = [&](int messages) {
    for (int i = 0; i < messages; ++i) arrive(a, b, i, bytes);
    for (int i = 0; i < messages; ++i) {
      Operation& o = b.receive(0, i, to);
      ASSERT_TRUE(done(o));
      EXPECT_EQ(b.retire(o).error, Error::none);
    }
  };
  turn(10);
  taken = 0;
  for (int i = 0; i < 100; ++i) turn(10);
  EXPECT_EQ(taken, 0);
  EXPECT_EQ(in, bytes);
}

TEST(NoMemory, APoolKeepsSomeAndGivesBackTheRest) {
  UnexpectedPool pool;
  std::vector<Unexpected*> all;
  all.reserve(5000);
  for (int i = 0; i < 5000; ++i) all.push_back(pool.take());
  for (Unexpected* const u : all) {
    ASSERT_NE(u, nullptr);
    u->tag = 3;
    u->bytes = 100;
    u->keep(Bytes(100).data(), 100);
    pool.give(*u);
  }
  taken = 0;
  for (Unexpected*& u : all) {
    u = pool.take();
    ASSERT_EQ(u->tag, 0);
    ASSERT_EQ(u->large, nullptr);
  }
  EXPECT_GT(taken, 0);
  EXPECT_LT(taken, 5000);
  for (Unexpected* const u : all) pool.give(*u);
}

/// The bytes have nowhere to go: the receive is told, whenever it comes, and messages before and after are whole.
TEST(NoMemory, ALostPayloadIsAnErrorOfItsReceive) {
  Party a(0);
  Party b(1);
  const Bytes large = payload(0, 1, 5000);
  arrive(a, b, 1, large);
  arrive(a, b, 0, payload(0, 9, 4));  // one for which all but the payload is there
  Bytes in(5000);
  Operation& small = b.receive(0, 0, contiguous(std::span(in)));
  EXPECT_EQ(b.retire(small).received, 4u);
  for (int i = 0; i < 100; ++i) {  // more than there are blocks: each is free again
    {
      const NoMemory none;
      arrive(a, b, 2, large);
    }
    Operation& lost = b.receive(0, 2, contiguous(std::span(in)));
    ASSERT_TRUE(done(lost));
    const Outcome outcome = b.retire(lost);
    ASSERT_EQ(outcome.error, Error::no_memory);
    ASSERT_EQ(outcome.received, 0u);
    ASSERT_EQ(outcome.from, 0u);
    ASSERT_EQ(outcome.tag, 2);
  }
  arrive(a, b, 3, large);
  for (const std::int32_t tag : {1, 3}) {
    std::fill(in.begin(), in.end(), std::byte{0});
    Operation& o = b.receive(0, tag, contiguous(std::span(in)));
    ASSERT_TRUE(done(o));
    EXPECT_EQ(b.retire(o).error, Error::none);
    EXPECT_EQ(in, large);
  }
}

TEST(NoMemory, AReceiveThatIsPostedNeedsNone) {
  Party a(0);
  Party b(1);
  const Bytes large = payload(0, 1, 5000);
  Bytes in(5000);
  Operation& receive = b.receive(0, 1, contiguous(std::span(in)));
  arrive(a, b, 9, large);  // the lane and a block are there
  {
    const NoMemory none;
    arrive(a, b, 1, large);
  }
  ASSERT_TRUE(done(receive));
  EXPECT_EQ(b.retire(receive).error, Error::none);
  EXPECT_EQ(in, large);
}

TEST(NoMemory, SendsThatFindNoRoomWaitWithoutAny) {
  constexpr int kMessages = 3 * static_cast<int>(transport::kCells);
  Party a(0);
  Party b(1);
  arrive(a, b, kMessages, Bytes(1));  // the lane is there
  const Bytes bytes = payload(0, 1, 40);
  std::vector<Operation*> sends;
  sends.reserve(kMessages);
  {
    const NoMemory none;
    for (int i = 0; i < kMessages; ++i) sends.push_back(&a.send(b.card(), i, contiguous(bytes)));
  }
  EXPECT_FALSE(done(*sends.back()));
  Bytes in(40);
  for (int i = 0; i < kMessages; ++i) {
    Operation& o = b.receive(0, i, contiguous(std::span(in)));
    while (!done(o)) {
      b.progress();
      a.progress();
    }
    EXPECT_EQ(b.retire(o).error, Error::none);
    EXPECT_EQ(in, bytes);
  }
  for (Operation* const send : sends) EXPECT_EQ(a.finish(*send).error, Error::none);
}

TEST(NoMemoryDeathTest, AMessageThatCannotBeKeptAtAllEndsTheJobWithALine) {
  Party a(0);
  Party b(1);
  arrive(a, b, 1, Bytes(1));
  Operation& send = a.send(b.card(), 7, contiguous(Bytes(4)));
  EXPECT_DEATH(
      {
        const NoMemory none;
        b.progress();
      },
      "plait: no memory left for an unexpected message with tag 7");
  EXPECT_TRUE(b.progress());
  a.retire(send);
}

}  // namespace
}  // namespace plait::lane::test
