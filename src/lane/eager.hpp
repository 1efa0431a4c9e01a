// How a message goes, by its size: eagerly in a cell, a block or a packet, or by a rendezvous.
#pragma once

#include <cstddef>
#include <cstdint>

#include "transport/network.hpp"
#include "transport/ring.hpp"

namespace plait::lane {

/// Sent eagerly to another process, up to so many bytes. Above it the RTS and CTS cost little beside the copying. Inside a process
/// what is larger than a small block is copied once.
inline constexpr std::size_t kEagerLimit = 32768;

/// Does it fit into a cell? Such a message, if it is contiguous and need not be synchronous, needs no operation.
[[nodiscard]] constexpr bool fits_cell(std::uint64_t bytes) noexcept { return bytes <= transport::kInline; }
/// The same of so many elements, however many.
[[nodiscard]] constexpr bool fits_cell(std::uint64_t count, std::uint64_t size) noexcept {
  return count <= transport::kInline && fits_cell(count * size);  // checked first, so that the product does not overflow
}

enum class Protocol : std::uint8_t { cell, block, rendezvous };

/// Inside a node.
[[nodiscard]] constexpr Protocol protocol_of(std::uint64_t bytes, bool synchronous, bool same_process) noexcept {
  if (synchronous) return Protocol::rendezvous;
  if (fits_cell(bytes)) return Protocol::cell;
  return bytes <= (same_process ? transport::kSmallBlock : kEagerLimit) ? Protocol::block : Protocol::rendezvous;
}

/// Between nodes: does it go with its envelope?
[[nodiscard]] constexpr bool fits_packet(std::uint64_t bytes) noexcept { return bytes <= transport::kPacketPayload; }

}  // namespace plait::lane
