// The notification board of a segment: a word for each notification, in memory that the processes of the node share. Zeroes are a new
// one. Any thread of any of these processes may post, look and reset.
//
// A notification is posted by one store. Waiters look at the words of their range. Where ranges are large they look at a summary, a bit a
// word, which those that post keep from the first such wait on. A bit may be set while its word is zero, never the other way round for
// longer than it takes to post. tests/models/board.pml is the model of this.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/delay.hpp"
#include "base/event_count.hpp"
#include "gaspi/config.hpp"

namespace plait::gaspi {

class Board {
 public:
  /// What was written before by this thread is seen by whoever sees the value. `value` is not 0.
  void post(std::uint32_t id, std::uint32_t value) noexcept {
    // release: the data that it tells of.
    words_[id].store(value, std::memory_order_release);
    if (event_count_needs_fence) [[unlikely]]
      std::atomic_thread_fence(std::memory_order_seq_cst);
    // The compiler must not move the load up. The processor may: then begin_summary()'s barrier has come in between, and who makes the
    // summary sees the word; see EventCount, which does the same.
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if (summarized_.load(std::memory_order_relaxed) != 0) [[unlikely]]
      set_bit(id);
    event_.notify();
  }

  /// One of them that is not zero. What its value tells of is seen then.
  [[nodiscard]] std::optional<std::uint32_t> find(std::uint32_t begin, std::uint32_t count) noexcept {
    return count <= kScanned ? scan(begin, count) : find_by_summary(begin, count);
  }

  /// Takes the value and clears it, for one caller.
  [[nodiscard]] std::uint32_t reset(std::uint32_t id) noexcept {
    // acquire: the data that it tells of. release: what this thread has read of the data before, so that the next that posts here may
    // write it again once it has been told by other means; it costs nothing more.
    return words_[id].exchange(0, std::memory_order_acq_rel);
  }

  /// Where threads sleep until something is posted.
  [[nodiscard]] EventCount& event() noexcept { return event_; }

 private:
  /// So many words are looked at faster than the summary.
  static constexpr std::uint32_t kScanned = 128;
  static constexpr std::uint32_t kBits = 64;

  [[nodiscard]] std::optional<std::uint32_t> scan(std::uint32_t begin, std::uint32_t count) const noexcept {
    for (std::uint32_t i = begin; i < begin + count; ++i) {
      // acquire: the data that the value tells of.
      if (words_[i].load(std::memory_order_acquire) != 0) return i;
    }
    return std::nullopt;
  }
  [[nodiscard]] std::optional<std::uint32_t> find_by_summary(std::uint32_t begin, std::uint32_t count) noexcept;
  void set_bit(std::uint32_t id) noexcept {
    delay();
    // release: its word, for those that clear the bit and look again.
    summary_[id / kBits].fetch_or(std::uint64_t{1} << id % kBits, std::memory_order_release);
  }
  void begin_summary() noexcept;

  std::uint64_t nonce_;  ///< of the file that begins here
  EventCount event_;
  alignas(64) std::atomic<std::uint32_t> summarized_;  ///< 1: being made, and kept from now on. 2: it is complete
  alignas(4096) std::array<std::atomic<std::uint64_t>, kNotifications / kBits> summary_;
  alignas(4096) std::array<std::atomic<std::uint32_t>, kNotifications> words_;
};
static_assert(sizeof(Board) % 4096 == 0);

}  // namespace plait::gaspi
