// Endpoints of two processes that share memory. Both are made by fork() before anything of plait's exists in this one.
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <functional>
#include <span>
#include <string>

#include "party.hpp"

namespace plait::lane::test {
namespace {

/// One of the two: its party, the other's card, and words that go by other ways than plait's.
struct Side {
  std::uint32_t me;
  int line;
  Party party;
  Card there{};

  Side(std::uint32_t number, int socket) : me(number), line(socket), party(number) {
    struct {
      RegionName region;
      Card card;
    } mine{Node::get().region().name(), party.card()}, theirs{};
    tell(mine);
    hear(theirs);
    if (!Node::get().attach(theirs.region)) fail("attach");
    there = theirs.card;
  }

  template <class T>
  void tell(const T& value) const {
    if (write(line, &value, sizeof value) != sizeof value) fail("write");
  }
  template <class T>
  void hear(T& value) const {
    // NOLINTNEXTLINE(clang-analyzer-unix.BlockInCriticalSection): no lock is held
    if (recv(line, &value, sizeof value, MSG_WAITALL) != sizeof value) fail("read");
  }
  /// Waits for the other without a look at any lane.
  void meet() const {
    char word = 'x';
    tell(word);
    hear(word);
  }
  [[noreturn]] void fail(const std::string& what) const {
    std::fprintf(stderr, "process %u: %s\n", me, what.c_str());
    std::fflush(stderr);
    _exit(1);
  }
  void require(bool holds, const std::string& what) const {
    if (!holds) fail(what);
  }

  void send(std::uint32_t number, const Bytes& out) { party.finish(party.send(there, static_cast<std::int32_t>(number), contiguous(out))); }
  void expect(std::uint32_t number, std::size_t bytes) {
    Bytes got(bytes);
    const Outcome o = party.finish(party.receive(1 - me, static_cast<std::int32_t>(number), contiguous(got)));
    check(o, got, number, bytes);
  }
  void check(const Outcome& o, const Bytes& got, std::uint32_t number, std::size_t bytes) const {
    const std::string what = "message " + std::to_string(number) + " of " + std::to_string(bytes) + " bytes";
    require(o.error == Error::none && o.received == bytes, what + " came with an error");
    require(got == payload(1 - me, number, bytes), what + " has other bytes");
  }
};

int status_of(pid_t child) {
  int status = -1;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

/// Runs both; how the two ended.
std::pair<int, int> run(const std::function<void(Side&)>& body) {
  int lines[2];
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, lines) != 0) return {-1, -1};
  pid_t children[2];
  for (std::uint32_t i = 0; i < 2; ++i) {
    children[i] = fork();
    if (children[i] != 0) continue;
    close(lines[1 - i]);
    alarm(100);  // the process ends whatever becomes of the other
    Side side(i, lines[i]);
    body(side);
    side.meet();  // memory may be read by the other until here
    _exit(0);
  }
  close(lines[0]);
  close(lines[1]);
  const int first = status_of(children[0]);
  return {first, status_of(children[1])};
}

void expect_right(const std::function<void(Side&)>& body) { EXPECT_EQ(run(body), std::pair(0, 0)); }

constexpr std::size_t kSizes[] = {0, 1, 8, 44, 45, 1000, 8192, 8193, 32768, 32769, 65536, 65537, 200'000, 3'000'000};

TEST(Processes, EverySizeBothWays) {  // 2 processes x 1 thread
  expect_right([](Side& side) {
    std::uint32_t number = 0;
    for (int round = 0; round < 10; ++round) {
      for (const std::size_t bytes : kSizes) {
        const Bytes out = payload(side.me, ++number, bytes);
        Operation& sent = side.party.send(side.there, static_cast<std::int32_t>(number), contiguous(out), round % 2 == 1);
        side.expect(number, bytes);
        side.party.finish(sent);
      }
    }
  });
}

TEST(Processes, RingOfSmallMessagesWraps) {
  expect_right([](Side& side) {
    for (std::uint32_t i = 0; i < 50 * transport::kCells; ++i) {
      if (side.me == 0) {
        side.send(i, payload(0, i, i % 45));
      } else {
        side.expect(i, i % 45);
      }
    }
  });
}

TEST(Processes, BlocksAreUsedAgain) {
  expect_right([](Side& side) {
    for (std::uint32_t i = 0; i < 2000; ++i) {
      if (side.me == 0) {
        side.send(i, payload(0, i, 4000 + i));
      } else {
        side.expect(i, 4000 + i);
      }
    }
    if (side.me == 0)
      side.require(Node::get().region().taken() < 70 * (sizeof(transport::Block) + transport::kLargeBlock), "blocks are not used again");
  });
}

TEST(Processes, ReceiverFetchesWhatTheSenderDoesNotPush) {
  expect_right([](Side& side) {
    constexpr std::size_t kBytes = 1'000'000;
    if (side.me == 0) {
      const Bytes out = payload(0, 1, kBytes);
      Operation& sent = side.party.send(side.there, 1, contiguous(out));
      side.meet();  // asleep outside of plait until the other has it
      side.party.finish(sent);
    } else {
      side.expect(1, kBytes);
      side.meet();
    }
  });
}

TEST(Processes, GappedPayloadsComeInChunks) {
  expect_right([](Side& side) {
    for (std::uint32_t i = 0; i < 50; ++i) {
      const std::size_t bytes = Gapped::kPiece * (400 + 321 * i);
      const Gapped gapped(bytes);
      if (side.me == 0) {
        gapped.fill(payload(0, i, bytes));
        side.party.finish(side.party.send(side.there, 0, gapped.memory));
      } else {
        const Outcome o = side.party.finish(side.party.receive(0, 0, gapped.memory));
        side.check(o, gapped.packed(), i, bytes);
        side.require(gapped.gaps_untouched(), "gaps were written to");
      }
    }
  });
}

/// A buffer as MPI_Alloc_mem gives it, or another one.
class Buffer {
 public:
  Buffer(std::size_t bytes, bool mappable) : mappable_(mappable), own_(mappable ? 0 : bytes) {
    bytes_ = mappable ? std::span(static_cast<std::byte*>(SharedHeap::get().take(bytes)), bytes) : std::span(own_);
  }
  ~Buffer() {
    if (mappable_) static_cast<void>(SharedHeap::get().give(bytes_.data()));
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  [[nodiscard]] Memory memory() const { return contiguous(bytes_); }
  [[nodiscard]] std::span<std::byte> bytes() const { return bytes_; }

 private:
  bool mappable_;
  Bytes own_;
  std::span<std::byte> bytes_;
};

TEST(Processes, WhatOneSideCanMapIsCopiedOnce) {
  expect_right([](Side& side) {
    std::uint32_t number = 0;
    for (const bool from : {false, true}) {
      for (const bool to : {false, true}) {
        for (const std::size_t bytes : {8193U, 32768U, 32769U, 100'000U, 3'000'000U}) {
          for (int i = 0; i < 5; ++i) {
            const bool in_block = bytes <= kEagerLimit && !from;
            const Buffer buffer(bytes, side.me == 0 ? from : to);
            if (side.me == 0) {
              std::ranges::copy(payload(0, ++number, bytes), buffer.bytes().begin());
              const std::uint64_t before = side.party.context->sent.through_chunks;
              side.party.finish(side.party.send(side.there, static_cast<std::int32_t>(number), buffer.memory()));
              side.require(in_block || !(from || to) || side.party.context->sent.through_chunks == before, "came in chunks");
            } else {
              const Outcome o = side.party.finish(side.party.receive(0, static_cast<std::int32_t>(++number), buffer.memory()));
              side.check(o, Bytes(buffer.bytes().begin(), buffer.bytes().end()), number, bytes);
            }
          }
        }
      }
    }
  });
}

TEST(Processes, AGappedBufferAndAMappedOne) {
  expect_right([](Side& side) {
    constexpr std::size_t kBytes = Gapped::kPiece * 20'000;
    const Gapped gapped(kBytes);
    const Buffer buffer(kBytes, true);
    for (std::uint32_t i = 0; i < 20; ++i) {
      const Memory& memory = side.me == i % 2 ? gapped.memory : buffer.memory();
      if (side.me == 0) {
        unpack(payload(0, i, kBytes).data(), memory, 0, kBytes);
        side.party.finish(side.party.send(side.there, 0, memory));
        continue;
      }
      const Outcome o = side.party.finish(side.party.receive(0, 0, memory));
      Bytes got(kBytes);
      pack(memory, 0, got.data(), kBytes);
      side.check(o, got, i, kBytes);
      side.require(gapped.gaps_untouched(), "gaps were written to");
    }
  });
}

TEST(Processes, TheReceiverAloneCopiesWhatItHasMapped) {
  expect_right([](Side& side) {
    constexpr std::size_t kBytes = 1'000'000;
    const Buffer buffer(kBytes, true);
    if (side.me == 0) {
      std::ranges::copy(payload(0, 1, kBytes), buffer.bytes().begin());
      Operation& sent = side.party.send(side.there, 1, buffer.memory());
      side.meet();  // asleep outside of plait until the other has it
      side.party.finish(sent);
    } else {
      side.check(side.party.finish(side.party.receive(0, 1, buffer.memory())), payload(0, 1, kBytes), 1, kBytes);
      side.require(std::ranges::equal(buffer.bytes(), payload(0, 1, kBytes)), "other bytes");
      side.meet();
    }
  });
}

TEST(Processes, HeapsThatComeAndGoAreToldApart) {
  expect_right([](Side& side) {
    for (std::uint32_t i = 0; i < 12; ++i) {
      const std::size_t bytes = SharedHeap::kKept + 100'000 * i;  // more than stays when it is given back
      const Buffer buffer(bytes, true);
      if (side.me == 0) {
        std::ranges::copy(payload(0, i, 100'000), buffer.bytes().last(100'000).begin());
        side.party.finish(side.party.send(side.there, 0, contiguous(buffer.bytes().last(100'000))));
      } else {
        const auto last = buffer.bytes().last(100'000);
        const Outcome o = side.party.finish(side.party.receive(0, 0, contiguous(last)));
        side.check(o, Bytes(last.begin(), last.end()), i, last.size());
      }
    }
  });
}

TEST(Processes, TruncatedRendezvousLeavesTheNextIntact) {
  expect_right([](Side& side) {
    constexpr std::size_t kBytes = 300'000;
    for (std::uint32_t i = 0; i < 20; i += 2) {
      if (side.me == 0) {
        side.send(i, payload(0, i, kBytes));
        side.send(i + 1, payload(0, i + 1, kBytes));
        continue;
      }
      const std::size_t room = i * 15'000;
      Bytes got(kBytes, std::byte{0x77});
      const Outcome o = side.party.finish(side.party.receive(0, static_cast<std::int32_t>(i), contiguous(std::span(got).first(room))));
      side.require(o.error == Error::truncated && o.received == room, "no truncation");
      const Bytes expected = payload(0, i, kBytes);
      side.require(std::equal(got.begin(), got.begin() + static_cast<std::ptrdiff_t>(room), expected.begin()), "other bytes");
      for (std::size_t at = room; at < kBytes; ++at) side.require(got[at] == std::byte{0x77}, "written beyond the room");
      side.expect(i + 1, kBytes);
    }
  });
}

TEST(Processes, WindowsBothWays) {
  expect_right([](Side& side) {
    for (std::uint32_t round = 0; round < 20; ++round) {
      std::vector<Bytes> out(40);
      std::vector<Bytes> in(40);
      std::vector<Operation*> receives;
      std::vector<Operation*> sends;
      for (std::uint32_t i = 0; i < 40; ++i) {
        const std::size_t bytes = kSizes[(i + round) % 10];
        in[i].resize(bytes);
        out[i] = payload(side.me, i, bytes);
        receives.push_back(&side.party.receive(1 - side.me, static_cast<std::int32_t>(i), contiguous(in[i])));
        sends.push_back(&side.party.send(side.there, static_cast<std::int32_t>(i), contiguous(out[i])));
      }
      for (std::uint32_t i = 0; i < 40; ++i) side.check(side.party.finish(*receives[i]), in[i], i, in[i].size());
      for (Operation* const s : sends) side.party.finish(*s);
    }
  });
}

TEST(Processes, SleepersWakeEachOther) {
  expect_right([](Side& side) {
    std::uint32_t got = 0;
    for (std::uint32_t i = 0; i < 3000; ++i) {
      if (side.me == 0) side.send(i, payload(0, i, 8));
      Bytes in(8);
      Operation& r = side.party.receive(1 - side.me, static_cast<std::int32_t>(i), contiguous(in));
      // Nobody spins here: each look is followed by sleep, as long as it takes.
      EventCount& event = *side.party.endpoint->waiter().event();
      while (!done(r)) {
        const EventCount::Key key = event.prepare();
        if (side.party.progress() || done(r)) {
          event.cancel(key);
        } else {
          event.wait(key, std::chrono::hours(1));
        }
      }
      side.check(side.party.retire(r), in, i, 8);
      if (side.me == 1) side.send(i, payload(1, i, 8));
      ++got;
    }
    side.require(got == 3000, "lost count");
  });
}

TEST(Processes, NoMessageComesFromOneThatWasKilled) {
  const auto [first, second] = run([](Side& side) {
    char ready = 0;
    if (side.me == 0) {
      const Bytes out = payload(0, 1, 500'000);
      // Not before the other has found this one's memory.
      if (recv(side.line, &ready, 1, MSG_WAITALL) != 1) side.fail("the other is gone");
      static_cast<void>(side.party.send(side.there, 1, contiguous(out)));
      kill(getpid(), SIGKILL);
    }
    if (send(side.line, &ready, 1, 0) != 1) side.fail("the other is gone");
    char nothing = 0;
    // NOLINTNEXTLINE(clang-analyzer-unix.BlockInCriticalSection)
    if (recv(side.line, &nothing, 1, MSG_WAITALL) != 0) side.fail("the other lives");
    // Its memory stays mapped: the offer is there, the payload is not.
    Bytes got(500'000);
    Operation& r = side.party.receive(0, 1, contiguous(got));
    while (!done(r)) side.party.progress();
    side.require(r.error == Error::unreachable, "a payload that cannot be");
    _exit(0);
  });
  EXPECT_TRUE(WIFSIGNALED(first) && WTERMSIG(first) == SIGKILL);
  EXPECT_EQ(second, 0);
}

}  // namespace
}  // namespace plait::lane::test
