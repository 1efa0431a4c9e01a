// What a send or receive needs to know of its buffer.
#pragma once

#include <mpi.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "lane/operation.hpp"
#include "stream/handle_bits.hpp"

namespace plait::stream {

/// Predefined datatypes live as long as the MPI, so what is once known of them stays. Open addressing, read without a lock.
struct Plain {
  std::atomic<std::uintptr_t> type{0};
  std::atomic<int> size{0};
};
inline constexpr std::size_t kPlains = 1024;  // there are fewer than 100
extern std::array<Plain, kPlains> plains;
[[nodiscard]] inline std::size_t place_of(MPI_Datatype type) noexcept { return (to_bits(type) * 0x9E3779B97F4A7C15u) >> 54; }

/// Bytes of a predefined datatype without gaps, -1 for others (and for predefined ones not seen before). Any thread.
[[nodiscard]] inline int plain_size(MPI_Datatype type) noexcept {
  for (std::size_t at = place_of(type);; ++at) {
    const Plain& plain = plains[at % kPlains];
    // acquire: its size.
    const std::uintptr_t seen = plain.type.load(std::memory_order_acquire);
    if (seen == to_bits(type)) [[likely]]
      return plain.size.load(std::memory_order_relaxed);
    if (seen == 0) return -1;
  }
}

/// `count` elements at `buffer`. Throws MPIError for a bad count or datatype.
[[nodiscard]] lane::Memory memory_of(const void* buffer, MPI_Count count, MPI_Datatype type);

}  // namespace plait::stream
