// What has been done, counted from a verbosity of 1 on. Any thread. Counts are relaxed: figures for people.
#pragma once

#include <atomic>
#include <cstdint>

#include "plait/GASPI.h"

namespace plait::gaspi::statistics {

enum class Counter : std::uint8_t { writes, bytes_written, reads, bytes_read, notifications, atomics, bytes_to_rank, queue_waits, count };

struct Description {
  gaspi_statistic_argument_t argument;
  const char* name;
  const char* text;
};
[[nodiscard]] const Description& describe(Counter counter) noexcept;

extern std::atomic<bool> counting;

/// Not below 0 for any. `ranks` in the job: there is a count for each where the argument is a rank.
void set_level(std::uint32_t level, std::uint32_t ranks);
void add(Counter counter, std::uint64_t n, std::uint32_t rank = 0) noexcept;
[[nodiscard]] std::uint64_t get(Counter counter, std::uint32_t argument) noexcept;
void reset(Counter counter) noexcept;

[[gnu::noinline]] void add_write(std::uint16_t rank, std::uint64_t bytes, bool notified) noexcept;
[[gnu::noinline]] void add_read(std::uint16_t rank, std::uint64_t bytes) noexcept;

inline void count_write(std::uint16_t rank, std::uint64_t bytes, bool notified) noexcept {
  if (counting.load(std::memory_order_relaxed)) [[unlikely]]
    add_write(rank, bytes, notified);
}
inline void count_read(std::uint16_t rank, std::uint64_t bytes) noexcept {
  if (counting.load(std::memory_order_relaxed)) [[unlikely]]
    add_read(rank, bytes);
}
inline void count_atomic(std::uint16_t rank) noexcept {
  if (counting.load(std::memory_order_relaxed)) [[unlikely]]
    add(Counter::atomics, 1, rank);
}
inline void count_wait() noexcept {
  if (counting.load(std::memory_order_relaxed)) [[unlikely]]
    add(Counter::queue_waits, 1);
}

}  // namespace plait::gaspi::statistics
