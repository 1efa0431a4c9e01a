// Messages between the processes of a job, over a communicator of its own, and the engine's lock.
//
// Whoever waits looks at the network; while all threads compute, a thread of the carrier's does, often when there was traffic of late and
// rarely when not. Whatever arrives is handled under the engine's lock, so the engine's state has no other.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "cluster/engine.hpp"

namespace plait::cluster {

enum class Kind : std::uint32_t {
  barrier,
  fork,
  end,
  meet,
  fetch,
  pages,
  lock,
  lock_try,
  recall,
  recall_try,
  grant,
  refuse,
  got,
  ask,
  answer,
  tell,
  free,
  operate,
  result,
  leave,
  last,
  kinds
};

struct Head {
  Kind kind{};
  std::uint32_t small = 0;  ///< what they mean depends on the kind
  std::uint64_t stamp = 0;  ///< Lamport's clock of the sender
  std::uint64_t token = 0;
  std::uint64_t more = 0;
};

/// What is sent: a head, and what follows it.
class Message {
 public:
  Message(Kind kind, std::uint32_t small = 0, std::uint64_t token = 0, std::uint64_t more = 0);
  void bytes(const void* from, std::size_t count) {
    const auto* const start = static_cast<const std::byte*>(from);
    bytes_.insert(bytes_.end(), start, start + count);
  }
  template <class T>
  void put(const T& value) {
    bytes(&value, sizeof value);
  }
  [[nodiscard]] Head head() const noexcept {
    Head head;
    std::memcpy(&head, bytes_.data(), sizeof head);
    return head;
  }
  /// Where a value was put, to change it later.
  [[nodiscard]] std::size_t size() const noexcept { return bytes_.size(); }
  template <class T>
  void set(std::size_t at, const T& value) noexcept {
    std::memcpy(bytes_.data() + at, &value, sizeof value);
  }

 private:
  friend void send(int process, Message message);
  std::vector<std::byte> bytes_;
};

/// What was received, read from the front.
class Received {
 public:
  Received(int from, std::vector<std::byte> bytes) : from_(from), bytes_(std::move(bytes)), at_(sizeof(Head)) {}
  [[nodiscard]] int from() const noexcept { return from_; }
  [[nodiscard]] Head head() const noexcept {
    Head head;
    std::memcpy(&head, bytes_.data(), sizeof head);
    return head;
  }
  const std::byte* bytes(std::size_t count) noexcept {
    const std::byte* const start = bytes_.data() + at_;
    at_ += count;
    return start;
  }
  template <class T>
  T get() noexcept {
    T value;
    std::memcpy(&value, bytes(sizeof value), sizeof value);
    return value;
  }
  [[nodiscard]] std::size_t left() const noexcept { return bytes_.size() - at_; }
  [[nodiscard]] std::size_t at() const noexcept { return at_; }
  void go_to(std::size_t at) noexcept { at_ = at; }

 private:
  int from_;
  std::vector<std::byte> bytes_;
  std::size_t at_;
};

/// The engine's lock, which a thread may take again. While a thread has it, what it allocates is private memory.
class Guard {
 public:
  Guard() noexcept;
  ~Guard();
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;
};
/// This thread is in the engine.
bool inside() noexcept;

/// Starts the MPI and the carrier; sets process and processes of the job.
void start_carrier(int* argc, char*** argv);
/// All processes come here, when each knows that the job is over.
void end_carrier();

void on(Kind kind, void (*handler)(Received message));
/// Under the lock, as the two below.
void send(int process, Message message);
/// Handles what has arrived; true if there was something.
bool poll();
/// A round of a thread that waits: lets others have the lock.
void pause(unsigned& rounds);

extern std::atomic<int> waiting_threads;
extern std::uint64_t lamport;
/// There is nobody to ask any more: only destructors of libraries still run, by the thread that has ended it.
extern std::atomic<bool> ended;
extern thread_local bool ended_here;
/// The other threads go no further than here: the program's would go on with zeros, and what the engine has is destroyed.
[[noreturn]] void wait_for_the_end() noexcept;

template <class Done>
void wait_until(Done done) {
  waiting_threads.fetch_add(1, std::memory_order_relaxed);  // relaxed: a hint for the carrier's thread
  for (unsigned rounds = 0; !done();) {
    if (poll()) {
      rounds = 0;
    } else {
      pause(rounds);
    }
  }
  waiting_threads.fetch_sub(1, std::memory_order_relaxed);
}

/// In a child that the program has made by fork(): the job is this process alone, and has no messages.
void end_as_child() noexcept;
/// Ends the whole job with this status.
[[noreturn]] void end_job(int status) noexcept;

}  // namespace plait::cluster
