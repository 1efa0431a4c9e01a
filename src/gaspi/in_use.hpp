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

/// Member of an object that a thread may use for longer than an InUse should last, as that keeps all objects that are given up meanwhile. A
/// thread that waits pins the one object that it waits for and leaves its InUse.
class Pins {
 public:
  /// The caller has found the object inside an InUse, and still is inside.
  void pin() noexcept { count_.fetch_add(2, std::memory_order_relaxed); }
  /// True where the object has been given up and this was the last pin: the caller deletes it.
  // acq_rel, here and below: the deletion comes after all accesses.
  [[nodiscard]] bool unpin() noexcept { return count_.fetch_sub(2, std::memory_order_acq_rel) == 3; }
  /// Called once, when no thread finds the object any more and none is inside. True where nobody pins it: the caller deletes it.
  [[nodiscard]] bool give_up() noexcept { return count_.fetch_add(1, std::memory_order_acq_rel) == 0; }

 private:
  std::atomic<std::uint32_t> count_{0};  ///< two for each pin, one where it has been given up
};

/// Pins an object as long as it lives.
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
