// The loops that move bytes between a piece and a packed buffer, or between two strided pieces.
//
// What they gain over plain ones: the length of a run is a constant for the common sizes, so that a run is one load
// and one store; and runs that lie far apart are asked for ahead of time, since the processor's own prefetchers do
// not follow strides across pages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "pieces.hpp"

namespace plait::layout {

enum class Direction : std::uint8_t { pack, unpack };

/// Moves a piece to (pack) or from (unpack) the bytes at `packed`.
void pack_piece(const Piece& piece, std::byte* packed);
void unpack_piece(const std::byte* packed, const Piece& piece);

/// `count` runs from one place with a stride to another.
void copy_strided(std::intptr_t from, std::int64_t from_stride, std::intptr_t to, std::int64_t to_stride, std::int64_t run,
                  std::int64_t count);

}  // namespace plait::layout
