// Messages whose contents are checked: buffers, marks on messages, and windows of messages, by the MPI's own functions
// or by those that libplait may stand in for.
#pragma once

#include <mpi.h>
#include <sched.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <vector>

#include "native.hpp"
#include "plait/mpix.h"

namespace plait::bench {

/// The MPI without libplait.
struct Native {
  inline static auto* const send = native::Send;
  inline static auto* const recv = native::Recv;
  inline static auto* const isend = native::Isend;
  inline static auto* const irecv = native::Irecv;
  inline static auto* const waitall = native::Waitall;
  inline static auto* const test = native::Test;
};

/// What a program gets by these names: libplait's functions, which hand ordinary communicators on to the MPI or carry them.
struct Interposed {
  static constexpr auto* send = MPI_Send;
  static constexpr auto* recv = MPI_Recv;
  static constexpr auto* isend = MPI_Isend;
  static constexpr auto* irecv = MPI_Irecv;
  static constexpr auto* waitall = MPI_Waitall;
  static constexpr auto* test = MPI_Test;
};

/// Duplicates of MPI_COMM_WORLD, made by libplait and the same for both ways of calling, or communicators of a stream each.
class Communicators {
 public:
  /// hinted: one for all, of which the program promises that it uses no wildcards.
  enum class Kind : std::uint8_t { duplicate, hinted, stream };

  /// Collective.
  Communicators(Kind kind, int count) : comms(static_cast<std::size_t>(count)) {
    if (kind == Kind::stream) streams_.resize(comms.size());
    for (MPIX_Stream& s : streams_) MPIX_Stream_create(MPI_INFO_NULL, &s);
    if (kind == Kind::hinted) {
      MPI_Info hints = MPI_INFO_NULL;
      MPI_Info_create(&hints);
      for (const char* key : {"mpi_assert_no_any_tag", "mpi_assert_no_any_source"}) MPI_Info_set(hints, key, "true");
      MPI_Comm_dup_with_info(MPI_COMM_WORLD, hints, &hinted_);
      MPI_Info_free(&hints);
      comms.assign(comms.size(), hinted_);
      return;
    }
    for (std::size_t i = 0; i < comms.size(); ++i) {
      kind == Kind::stream ? MPIX_Stream_comm_create(MPI_COMM_WORLD, streams_[i], &comms[i]) : MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
    }
  }
  Communicators(const Communicators&) = delete;
  Communicators& operator=(const Communicators&) = delete;
  ~Communicators() {
    if (hinted_ != MPI_COMM_NULL) {
      MPI_Comm_free(&hinted_);
      return;
    }
    for (MPI_Comm& c : comms) MPI_Comm_free(&c);
    for (MPIX_Stream& s : streams_) MPIX_Stream_free(&s);
  }

  std::vector<MPI_Comm> comms;

 private:
  MPI_Comm hinted_ = MPI_COMM_NULL;
  std::vector<MPIX_Stream> streams_;
};

/// Memory of MPI_Alloc_mem, or of the heap, that shares no page with another buffer's. It has been written.
class Buffer {
 public:
  enum class From : bool { mpi, heap };
  static inline From usual = From::mpi;  ///< set before the first one is made

  explicit Buffer(std::size_t bytes, From from = usual) : bytes_(bytes), memory_(take(bytes, from), Free{from}) {
    std::memset(memory_.get(), 0, bytes);
  }

  [[nodiscard]] std::byte* data() const { return memory_.get(); }

  /// Bytes that differ from place to place and from seed to seed.
  void fill(std::uint64_t seed) {
    for (std::size_t i = 0; i < bytes_; ++i) memory_[i] = static_cast<std::byte>(i * 31 + (i >> 8) * 7 + seed);
  }

 private:
  struct Free {
    From from;
    void operator()(std::byte* p) const {
      if (from == From::heap) {
        std::free(p);
      } else {
        MPI_Free_mem(p);
      }
    }
  };
  static std::byte* take(std::size_t bytes, From from) {
    constexpr std::size_t kPage = 4096;
    const std::size_t pages = (bytes / kPage + 1) * kPage;
    void* memory = nullptr;
    if (from == From::heap) {
      memory = std::aligned_alloc(kPage, pages);
    } else {
      MPI_Alloc_mem(static_cast<MPI_Aint>(pages), MPI_INFO_NULL, static_cast<void*>(&memory));
    }
    if (!memory) throw std::bad_alloc();
    return static_cast<std::byte*>(memory);
  }

  std::size_t bytes_;
  std::unique_ptr<std::byte[], Free> memory_;
};

/// What threads write and compare: numbers that differ from place to place and from seed to seed.
using Number = std::int64_t;

inline void fill(Number* to, std::size_t count, Number seed) {
  for (std::size_t i = 0; i < count; ++i) to[i] = seed + static_cast<Number>(i);
}

/// 1 where the numbers are not so, else 0.
inline std::int64_t differs(const Number* from, std::size_t count, Number seed, Number step = 1) {
  for (std::size_t i = 0; i < count; ++i) {
    if (from[i] != seed + step * static_cast<Number>(i)) return 1;
  }
  return 0;
}

/// Numbers in memory of their own pages.
class Numbers {
 public:
  explicit Numbers(std::size_t count, Buffer::From from = Buffer::From::mpi) : buffer_(count * sizeof(Number), from) {}
  [[nodiscard]] Number* at(std::size_t i) const { return reinterpret_cast<Number*>(buffer_.data()) + i; }

 private:
  Buffer buffer_;
};

/// Waits by polling, and offers the core to others after a moment.
template <class Done>
void until(Done done) {
  for (int i = 0; !done(); ++i) {
    if (i > 100) sched_yield();
  }
}

/// Writes the message's number into its first bytes, so that every message is another.
inline void mark(std::byte* message, std::size_t bytes, std::uint64_t number) {
  if (bytes >= sizeof number) {
    std::memcpy(message, &number, sizeof number);  // without a call, as a program would write it
  } else {
    std::memcpy(message, &number, bytes);
  }
}

/// Whether the message has that number.
[[nodiscard]] inline bool marked(const std::byte* message, std::size_t bytes, std::uint64_t number) {
  if (bytes < sizeof number) return std::memcmp(message, &number, bytes) == 0;
  std::uint64_t seen = 0;
  std::memcpy(&seen, message, sizeof seen);
  return seen == number;
}

/// Windows of messages from one process's thread to another's, each answered by a short message that says how many
/// messages were wrong, as osu_mbw_mr has them. One thread.
template <class Calls>
class Windows {
 public:
  /// The tags of one pair of threads: `tag` for messages, `tag` + 1 for answers.
  Windows(MPI_Comm comm, int peer, int tag, std::size_t bytes, int window)
      : comm_(comm), peer_(peer), tag_(tag), bytes_(bytes), window_(window), slots_(static_cast<std::size_t>(window) * bytes) {
    requests_.resize(static_cast<std::size_t>(window));
  }

  /// Fills the messages; a sender does so before its first window.
  void fill() { slots_.fill(static_cast<std::uint64_t>(tag_)); }

  void send(std::int64_t windows) {
    for (std::int64_t w = 0; w < windows; ++w) {
      for (int i = 0; i < window_; ++i) {
        mark(slot(i), bytes_, ++number_);
        Calls::isend(slot(i), static_cast<int>(bytes_), MPI_BYTE, peer_, tag_, comm_, &requests_[static_cast<std::size_t>(i)]);
      }
      Calls::waitall(window_, requests_.data(), MPI_STATUSES_IGNORE);
      int wrong = 0;
      Calls::recv(&wrong, 1, MPI_INT, peer_, tag_ + 1, comm_, MPI_STATUS_IGNORE);
      wrong_ += wrong;
    }
  }

  /// Compares the marks of all messages, which is where a program would read them.
  void receive(std::int64_t windows) {
    for (std::int64_t w = 0; w < windows; ++w) {
      for (int i = 0; i < window_; ++i) {
        Calls::irecv(slot(i), static_cast<int>(bytes_), MPI_BYTE, peer_, tag_, comm_, &requests_[static_cast<std::size_t>(i)]);
      }
      Calls::waitall(window_, requests_.data(), MPI_STATUSES_IGNORE);
      int wrong = 0;
      for (int i = 0; i < window_; ++i) wrong += marked(slot(i), bytes_, ++number_) ? 0 : 1;
      Calls::send(&wrong, 1, MPI_INT, peer_, tag_ + 1, comm_);
    }
  }

  /// Compares every byte of the last window received, and wipes it, so that the next has to bring them all again.
  void check_all() {
    Buffer expected(static_cast<std::size_t>(window_) * bytes_);
    expected.fill(static_cast<std::uint64_t>(tag_));
    for (int i = 0; i < window_; ++i) {
      std::byte* const want = expected.data() + static_cast<std::size_t>(i) * bytes_;
      mark(want, bytes_, number_ - static_cast<std::uint64_t>(window_ - 1 - i));
      wrong_ += std::memcmp(want, slot(i), bytes_) == 0 ? 0 : 1;
      std::memset(slot(i), 0, bytes_);
    }
  }

  /// Messages with wrong contents so far: at the sender by the answers, at the receiver by check_all.
  [[nodiscard]] std::int64_t wrong() const { return wrong_; }

 private:
  [[nodiscard]] std::byte* slot(int i) { return slots_.data() + static_cast<std::size_t>(i) * bytes_; }

  MPI_Comm comm_;
  int peer_, tag_;
  std::size_t bytes_;
  int window_;
  Buffer slots_;
  std::vector<MPI_Request> requests_;
  std::uint64_t number_ = 0;
  std::int64_t wrong_ = 0;
};

/// Messages with wrong contents on all of a process's threads. A receiver looks at what came last.
template <class Traffic>
[[nodiscard]] std::int64_t count_wrong(const std::vector<std::unique_ptr<Traffic>>& traffic, bool receives) {
  std::int64_t wrong = 0;
  for (const auto& each : traffic) {
    if (receives) each->check_all();
    wrong += each->wrong();
  }
  return wrong;
}

}  // namespace plait::bench
