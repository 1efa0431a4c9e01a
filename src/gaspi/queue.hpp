// Queues: what a program posts to one is counted until it waits for it. In a node all is done when a call returns; what goes to other
// nodes is gathered in the queue and sent with others. Any thread; no two queues share a line or a lock.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/spinlock.hpp"

namespace plait::gaspi {

/// What a queue has for one far rank and has not sent.
struct Outbox {
  static constexpr std::size_t kBytes = 16384;  ///< what a record of the network takes
  std::uint16_t rank = 0;
  std::uint32_t used = 0;
  alignas(8) std::byte bytes[kBytes];
};

struct alignas(128) Queue {  // NOLINT(clang-analyzer-optin.performance.Padding): far ranks' has lines of its own
  std::atomic<bool> exists{false};
  std::atomic<bool> failed{false};          ///< something posted since the last wait
  std::atomic<std::uint64_t> counts{0};     ///< posted ever, and of these waited for, see Counts
  std::atomic<std::uint32_t> under_way{0};  ///< whose local buffers are in use

  // Toward far ranks:
  alignas(128) Spinlock lock;
  std::vector<std::unique_ptr<Outbox>> boxes;  ///< by rank, made at first use
  std::vector<Outbox*> filled;
  std::atomic<bool> holds{false};  ///< some are filled: a hint
  std::uint64_t last_sent = 0;

  /// Both in one word, so that several threads may post and wait. Relaxed: they are counts, and buffers are ordered by `under_way`.
  struct Counts {
    std::uint32_t posted;  ///< wraps around, as the other does
    std::uint32_t waited;  ///< never beyond `posted`
    [[nodiscard]] std::uint32_t left() const noexcept { return posted - waited; }
  };
  [[nodiscard]] Counts count() const noexcept { return std::bit_cast<Counts>(counts.load(std::memory_order_relaxed)); }
  /// Posted since the last wait.
  [[nodiscard]] std::uint32_t size() const noexcept { return count().left(); }
  /// Room for one more.
  [[nodiscard]] bool take(std::uint32_t most) noexcept {
    return change([=](Counts& c) { return c.left() < most && (++c.posted, true); });
  }
  /// It was not posted after all. Another thread may have waited for it already.
  void give_back() noexcept {
    change([](Counts& c) { return c.left() > 0 && (--c.posted, true); });
  }
  /// All up to here, a former `posted`, were waited for; another thread may have waited for more, or some were given back.
  void wait_up_to(std::uint32_t all) noexcept {
    change([=](Counts& c) {
      const std::uint32_t more = all - c.waited;
      if (static_cast<std::int32_t>(more) <= 0) return false;
      c.waited += std::min(more, c.left());
      return true;
    });
  }

 private:
  template <class Step>
  bool change(Step step) noexcept {
    std::uint64_t before = counts.load(std::memory_order_relaxed);
    for (;;) {
      auto c = std::bit_cast<Counts>(before);
      if (!step(c)) return false;
      if (counts.compare_exchange_weak(before, std::bit_cast<std::uint64_t>(c), std::memory_order_relaxed)) return true;
    }
  }
};

}  // namespace plait::gaspi
