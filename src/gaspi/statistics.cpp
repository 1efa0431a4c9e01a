#include "gaspi/statistics.hpp"

#include <array>
#include <cstddef>
#include <mutex>
#include <vector>

namespace plait::gaspi::statistics {
namespace {

constexpr auto kCounters = static_cast<std::size_t>(Counter::count);
constexpr std::array<Description, kCounters> kDescriptions{{
    {GASPI_STATISTIC_ARGUMENT_NONE, "writes", "calls that write, lists counted once"},
    {GASPI_STATISTIC_ARGUMENT_NONE, "bytes_written", "bytes that they have written"},
    {GASPI_STATISTIC_ARGUMENT_NONE, "reads", "calls that read, lists counted once"},
    {GASPI_STATISTIC_ARGUMENT_NONE, "bytes_read", "bytes that they have read"},
    {GASPI_STATISTIC_ARGUMENT_NONE, "notifications", "notifications sent, those of writes included"},
    {GASPI_STATISTIC_ARGUMENT_NONE, "atomics", "global atomics"},
    {GASPI_STATISTIC_ARGUMENT_RANK, "bytes_to_rank", "bytes written to a rank"},
    {GASPI_STATISTIC_ARGUMENT_NONE, "queue_waits", "calls of gaspi_wait"},
}};

std::array<std::atomic<std::uint64_t>, kCounters> counts{};
/// Of each rank; made once, and never destroyed.
std::atomic<std::vector<std::atomic<std::uint64_t>>*> by_rank{nullptr};

}  // namespace

constinit std::atomic<bool> counting{false};

const Description& describe(Counter counter) noexcept { return kDescriptions[static_cast<std::size_t>(counter)]; }

void set_level(std::uint32_t level, std::uint32_t ranks) {
  static std::mutex making;
  const std::lock_guard guard(making);
  if (level > 0 && !by_rank.load(std::memory_order_relaxed))
    by_rank.store(new std::vector<std::atomic<std::uint64_t>>(ranks), std::memory_order_release);
  // release: the array.
  counting.store(level > 0, std::memory_order_release);
}

void add(Counter counter, std::uint64_t n, std::uint32_t rank) noexcept {
  if (describe(counter).argument == GASPI_STATISTIC_ARGUMENT_NONE) {
    counts[static_cast<std::size_t>(counter)].fetch_add(n, std::memory_order_relaxed);
  } else if (auto* const all = by_rank.load(std::memory_order_acquire); all && rank < all->size()) {
    (*all)[rank].fetch_add(n, std::memory_order_relaxed);
  }
}

void add_write(std::uint16_t rank, std::uint64_t bytes, bool notified) noexcept {
  if (bytes > 0 || !notified) add(Counter::writes, 1);
  add(Counter::bytes_written, bytes);
  add(Counter::bytes_to_rank, bytes, rank);
  if (notified) add(Counter::notifications, 1);
}

void add_read(std::uint16_t, std::uint64_t bytes) noexcept {
  add(Counter::reads, 1);
  add(Counter::bytes_read, bytes);
}

std::uint64_t get(Counter counter, std::uint32_t argument) noexcept {
  if (describe(counter).argument == GASPI_STATISTIC_ARGUMENT_NONE)
    return counts[static_cast<std::size_t>(counter)].load(std::memory_order_relaxed);
  auto* const all = by_rank.load(std::memory_order_acquire);
  return all && argument < all->size() ? (*all)[argument].load(std::memory_order_relaxed) : 0;
}

void reset(Counter counter) noexcept {
  counts[static_cast<std::size_t>(counter)].store(0, std::memory_order_relaxed);
  if (describe(counter).argument == GASPI_STATISTIC_ARGUMENT_NONE) return;
  if (auto* const all = by_rank.load(std::memory_order_acquire)) {
    for (auto& n : *all) n.store(0, std::memory_order_relaxed);
  }
}

}  // namespace plait::gaspi::statistics
