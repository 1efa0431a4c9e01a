#include "gaspi/board.hpp"

#include <bit>

namespace plait::gaspi {

/// From now on those that post keep it; what was posted before is found by looking at all words once.
void Board::begin_summary() noexcept {
  // relaxed: the barrier orders it before the look at the words. Several threads may do this at once, in several processes: each makes all
  // of it, and says so only then.
  std::uint32_t none = 0;
  summarized_.compare_exchange_strong(none, 1, std::memory_order_relaxed);
  barrier_in_all_threads();
  for (std::uint32_t i = 0; i < kNotifications; ++i) {
    if (words_[i].load(std::memory_order_acquire) != 0) set_bit(i);
  }
  // release: the bits.
  summarized_.store(2, std::memory_order_release);
}

std::optional<std::uint32_t> Board::find_by_summary(std::uint32_t begin, std::uint32_t count) noexcept {
  if (summarized_.load(std::memory_order_acquire) != 2) begin_summary();
  const std::uint32_t end = begin + count;
  for (std::uint32_t at = begin; at < end; at = (at / kBits + 1) * kBits) {
    std::atomic<std::uint64_t>& bits = summary_[at / kBits];
    // acquire: the words that are told of.
    std::uint64_t seen = bits.load(std::memory_order_acquire);
    seen &= ~std::uint64_t{0} << at % kBits;
    for (; seen != 0; seen &= seen - 1) {
      const auto bit = static_cast<std::uint32_t>(std::countr_zero(seen));
      const std::uint32_t id = at / kBits * kBits + bit;
      if (id >= end) return std::nullopt;
      if (words_[id].load(std::memory_order_acquire) != 0) return id;
      // It was reset. acquire: who has set the bit again since has written its word before, and then the look below sees it.
      bits.fetch_and(~(std::uint64_t{1} << bit), std::memory_order_acq_rel);
      delay();
      if (words_[id].load(std::memory_order_acquire) != 0) {
        set_bit(id);
        event_.notify();  // others may have looked in between
        return id;
      }
    }
  }
  return std::nullopt;
}

}  // namespace plait::gaspi
