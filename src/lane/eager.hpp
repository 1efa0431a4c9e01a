// How a message goes, by its size: eagerly in a cell, a block or a packet, or by a rendezvous.
#pragma once

#include <cstddef>
#include <cstdint>

#include "transport/network.hpp"
#include "transport/ring.hpp"

namespace plait::lane {

/// Sent eagerly to another process, up to so many bytes. Above it the RTS and CTS cost little beside the copying.
inline constexpr std::size_t kEagerLimit = transport::kLargeBlock;
/// The same where a larger message is copied once: inside a process, or out of memory that the other process can map.
inline constexpr std::size_t kEagerLimitCopiedOnce = 8192;

/// Up to so many bytes go into small blocks, of which few are used.
inline constexpr std::size_t kSmallMessage = 1536;

/// Up to so many bytes go in small pieces, so that the receiver has some of them early.
inline constexpr std::size_t kMediumMessage = 8192;

/// How a block is filled.
enum class Fill : std::size_t {
  in_small_pieces,  ///< through the caches; the receiver has some of it early
  past_caches,
  in_large_pieces  ///< through the caches; each piece costs a line that both cores look at
};
inline constexpr std::size_t kFills = 3;

/// Of so many bytes in a block, the piece that is filled and emptied at a time.
[[nodiscard]] constexpr std::size_t piece_of(std::uint64_t bytes, Fill fill = Fill::in_small_pieces) noexcept {
  if (bytes <= kMediumMessage) return fill == Fill::in_large_pieces ? kMediumMessage : 2048;
  return fill == Fill::in_small_pieces || bytes <= 16384 ? 8192 : 16384;
}

/// Does it fit into a cell? Such a message, if it is contiguous and need not be synchronous, needs no operation.
[[nodiscard]] constexpr bool fits_cell(std::uint64_t bytes) noexcept { return bytes <= transport::kInline; }
/// The same of so many elements, however many.
[[nodiscard]] constexpr bool fits_cell(std::uint64_t count, std::uint64_t size) noexcept {
  return count <= transport::kInline && fits_cell(count * size);  // checked first, so that the product does not overflow
}

[[nodiscard]] constexpr std::uint32_t pieces_of(std::uint64_t bytes) noexcept {
  return static_cast<std::uint32_t>((bytes + piece_of(bytes) - 1) / piece_of(bytes));
}

// The last chunk of a message may be a short one, of smaller pieces: the ring has room for these, too, where it has for a full block.
static_assert(pieces_of(kMediumMessage) <= pieces_of(transport::kLargeBlock));

enum class Protocol : std::uint8_t { cell, block, rendezvous };

/// Inside a node.
[[nodiscard]] constexpr Protocol protocol_of(std::uint64_t bytes, bool synchronous, bool same_process) noexcept {
  if (synchronous) return Protocol::rendezvous;
  if (fits_cell(bytes)) return Protocol::cell;
  return bytes <= (same_process ? kEagerLimitCopiedOnce : kEagerLimit) ? Protocol::block : Protocol::rendezvous;
}

/// Between nodes: does it go with its envelope?
[[nodiscard]] constexpr bool fits_packet(std::uint64_t bytes) noexcept { return bytes <= transport::kPacketPayload; }

}  // namespace plait::lane
