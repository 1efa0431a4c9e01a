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

/// `end` is called when all that are inside now are done: by this thread or, where some are not, by a later one that comes here.
void when_unused(std::function<void()> end);

}  // namespace plait::gaspi
