// Mappings of other processes' memory are used without a lock and without a count that threads share. One that is no longer found by new
// uses is unmapped when all threads that may have found it are done: each thread says in a word of its own when it is inside. Whoever
// unmaps has a barrier run in all threads of the process first (membarrier), so that being inside costs two plain stores.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>

#include "base/event_count.hpp"

namespace plait::gaspi {

/// What is found while one of these lives stays while it lives. Nested ones cost nothing.
class InUse {
 public:
  InUse() noexcept : word_(mine()) {
    const std::uint64_t n = word_.load(std::memory_order_relaxed);
    if (n % 2 != 0) return;
    outermost_ = true;
    // relaxed: the barrier of who unmaps orders it before what this thread finds, see above.
    word_.store(n + 1, std::memory_order_relaxed);
    if (event_count_needs_fence) [[unlikely]]
      std::atomic_thread_fence(std::memory_order_seq_cst);
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
  ~InUse() {
    // release: all accesses are over.
    if (outermost_) word_.store(word_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }
  InUse(const InUse&) = delete;
  InUse& operator=(const InUse&) = delete;

 private:
  static std::atomic<std::uint64_t>& mine() noexcept {
    if (!word) [[unlikely]]
      word = &add();
    return *word;
  }
  static std::atomic<std::uint64_t>& add() noexcept;
  static thread_local std::atomic<std::uint64_t>* word;

  std::atomic<std::uint64_t>& word_;
  bool outermost_ = false;
};

/// In what a thread may wait in for long: it pins that and leaves its InUse, so that whatever else is given up meanwhile can go.
class Pins {
 public:
  /// Inside an InUse in which the object was found.
  void pin() noexcept { count_.fetch_add(2, std::memory_order_relaxed); }
  /// True: it was given up, and nobody else has it; the caller deletes it.
  // acq_rel, here and below: whoever deletes it does so after all accesses.
  [[nodiscard]] bool unpin() noexcept { return count_.fetch_sub(2, std::memory_order_acq_rel) == 3; }
  /// It is not found any more, and nobody is inside; once. True: the caller deletes it.
  [[nodiscard]] bool give_up() noexcept { return count_.fetch_add(1, std::memory_order_acq_rel) == 0; }

 private:
  std::atomic<std::uint32_t> count_{0};  ///< twice those that have it, and one more when it is given up
};

/// One thread's pin.
template <class T>
class Pinned {
 public:
  explicit Pinned(T& object) noexcept : object_(object) { object_.pins.pin(); }
  ~Pinned() {
    if (object_.pins.unpin()) delete &object_;
  }
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;

 private:
  T& object_;
};

/// `end` is called when all that are inside now are done: by this thread or, where some are not, by a later one that comes here.
void when_unused(std::function<void()> end);

}  // namespace plait::gaspi
