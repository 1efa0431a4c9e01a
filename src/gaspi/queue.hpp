// Queues: what a program posts to one is counted until it waits for it. In a node all is done when a call returns; what goes to other
// nodes is gathered in the queue and sent with others. Any thread; no two queues share a line or a lock.
#pragma once

#include <atomic>
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
  std::atomic<std::uint32_t> posted{0};     ///< since the last wait
  std::atomic<std::uint32_t> under_way{0};  ///< whose local buffers are in use

  // Toward far ranks:
  alignas(128) Spinlock lock;
  std::vector<std::unique_ptr<Outbox>> boxes;  ///< by rank, made at first use
  std::vector<Outbox*> filled;
  std::atomic<bool> holds{false};  ///< some are filled: a hint
  std::uint64_t last_sent = 0;

  /// Room for one more; relaxed, here and below: it is a count, and buffers are ordered by `under_way`.
  [[nodiscard]] bool take(std::uint32_t most) noexcept {
    if (posted.fetch_add(1, std::memory_order_relaxed) < most) return true;
    give_back();
    return false;
  }
  /// It was not posted after all.
  void give_back() noexcept { posted.fetch_sub(1, std::memory_order_relaxed); }
};

}  // namespace plait::gaspi
