// The pieces of a buffer as copies: what lies at an even spacing is one, however many rows it has, so that a device is given a few for most
// datatypes. Any thread.
#pragma once

#include <cstdint>
#include <vector>

#include "lane/memory.hpp"
#include "queue/device.hpp"

namespace plait::queue {

/// Rows of a buffer: `rows.on_host` is their distance in the packed form.
struct Piece {
  std::intptr_t at = 0;        ///< the first row's address
  std::uint64_t position = 0;  ///< and its place in the packed form
  Rows rows;
};

/// All of a buffer that has a layout, in any order. Throws std::bad_alloc.
[[nodiscard]] std::vector<Piece> pieces_of(const lane::Memory& memory);

/// Where its bytes lie, with what is between them.
struct Span {
  std::intptr_t low, high;
};
[[nodiscard]] Span span_of(const lane::Memory& memory);

}  // namespace plait::queue
