// Writes, reads and notifications. Any thread. What they return are GASPI's codes; arguments are checked here, before anything moves.
#pragma once

#include <cstddef>
#include <cstdint>

#include "gaspi/job.hpp"

namespace plait::gaspi {

/// Pieces of one call, as GASPI's lists have them: arrays of `count`.
struct Pieces {
  std::uint32_t count = 0;
  const gaspi_segment_id_t* local = nullptr;
  const gaspi_offset_t* local_offset = nullptr;
  const gaspi_segment_id_t* remote = nullptr;
  const gaspi_offset_t* remote_offset = nullptr;
  const gaspi_size_t* bytes = nullptr;
};

/// The notification of a call; value 0: it has none.
struct Notice {
  std::uint32_t segment = 0, id = 0, value = 0;
};

struct Target {
  std::uint16_t rank;
  std::uint8_t queue;
  gaspi_timeout_t timeout;
};

/// The notification's segment is the target's.
[[nodiscard]] gaspi_return_t write(Job& job, const Pieces& pieces, const Notice& notice, const Target& target) noexcept;
/// This process's.
[[nodiscard]] gaspi_return_t read(Job& job, const Pieces& pieces, const Notice& notice, const Target& target) noexcept;
[[nodiscard]] gaspi_return_t wait(Job& job, std::uint8_t queue, gaspi_timeout_t timeout) noexcept;

[[nodiscard]] gaspi_return_t wait_some(Job& job, std::uint32_t segment, std::uint32_t begin, std::uint32_t count, std::uint32_t& first,
                                       gaspi_timeout_t timeout) noexcept;
[[nodiscard]] gaspi_return_t reset(Job& job, std::uint32_t segment, std::uint32_t id, std::uint32_t& old) noexcept;

/// Atomics on a word of a segment.
struct AtomicCall {
  bool swap = false;  ///< compare and swap; else fetch and add
  std::uint32_t segment = 0;
  std::uint64_t offset = 0;
  std::uint64_t value = 0, comparator = 0;
  [[nodiscard]] bool operator==(const AtomicCall&) const = default;
  /// On the word, by whoever has it mapped.
  [[nodiscard]] std::uint64_t on(std::byte* word) const noexcept;
};
[[nodiscard]] gaspi_return_t atomic(Job& job, const AtomicCall& call, std::uint16_t rank, gaspi_atomic_value_t& old,
                                    gaspi_timeout_t timeout) noexcept;

}  // namespace plait::gaspi
