#include "loops.hpp"

#include <algorithm>
#include <utility>

namespace plait::layout {
namespace {

constexpr std::int64_t kLine = 64;
/// From this stride on the processor's own prefetchers lose the track: it crosses a page every few runs.
constexpr std::int64_t kFar = 512;
/// Lines asked for ahead of their use. More than these fall out of a first-level cache that strides by powers of two
/// fill in a few sets only.
constexpr std::int64_t kLinesAhead = 24;
/// Of a run only the beginning is asked for; within it the processor sees the pattern.
constexpr std::int64_t kLinesOfRun = 8;
/// Runs of a page and more gain nothing by asking ahead and lose 5 % by the asking.
constexpr std::int64_t kPage = 4096;

void prefetch(std::intptr_t at, std::int64_t run) {
  const std::int64_t last = std::min(run, kLinesOfRun * kLine) - 1;
  // Any address is allowed here: a prefetch does not fault.
  for (std::int64_t i = 0; i < last; i += kLine) __builtin_prefetch(memory(at + i));
  __builtin_prefetch(memory(at + last));
}

/// Moves one run; a length known to the compiler becomes a few loads and stores.
template <Direction D>
void move_run(std::byte* packed, std::intptr_t at, std::size_t run) {
  if constexpr (D == Direction::pack) {
    std::memcpy(packed, memory(at), run);
  } else {
    std::memcpy(memory(at), packed, run);
  }
}

/// Runs of any length of at least 64 bytes without a call: steps of 32 bytes, the last of them overlapping.
template <Direction D>
void move_medium_run(std::byte* packed, std::intptr_t at, std::int64_t run) {
  std::int64_t i = 0;
  for (; i + 64 <= run; i += 64) move_run<D>(packed + i, at + i, 64);
  move_run<D>(packed + run - 64, at + run - 64, 64);
}

/// move(packed, at) for each run of one row; `next_row` is where the row behind it starts.
template <class Move>
std::byte* move_row(const Piece& piece, std::intptr_t at, std::intptr_t next_row, std::byte* packed, Move move) {
  const std::int64_t run = piece.run, stride = piece.stride;
  if ((stride < kFar && stride > -kFar) || run >= kPage) {
    for (std::int64_t i = 0; i < piece.count; ++i, packed += run) move(packed, at + i * stride);
    return packed;
  }
  const std::int64_t lines = std::min(run / kLine + 1, kLinesOfRun);
  const std::int64_t ahead = std::min(std::max<std::int64_t>(kLinesAhead / lines, 1), piece.count);
  std::int64_t i = 0;
  for (; i < piece.count - ahead; ++i, packed += run) {
    prefetch(at + (i + ahead) * stride, run);
    move(packed, at + i * stride);
  }
  for (std::int64_t k = 0; i < piece.count; ++i, ++k, packed += run) {
    prefetch(next_row + k * stride, run);
    move(packed, at + i * stride);
  }
  return packed;
}

template <class Move>
void move_rows(const Piece& piece, std::byte* packed, Move move) {
  if (piece.table) {
    for (std::int64_t i = 0; i < piece.count; ++i, packed += piece.run) move(packed, piece.at + piece.table[i]);
    return;
  }
  std::intptr_t at = piece.at;
  for (std::int64_t p = 0; p < piece.planes; ++p, at += piece.plane_stride) {
    packed = move_row(piece, at, at + piece.plane_stride, packed, move);
  }
}

template <Direction D, std::size_t Run>
void move_runs_of(const Piece& piece, std::byte* packed) {
  Piece fixed = piece;
  fixed.run = Run;
  move_rows(fixed, packed, [](std::byte* p, std::intptr_t at) { move_run<D>(p, at, Run); });
}

template <Direction D, std::size_t... K>
bool move_runs_of_words(const Piece& piece, std::byte* packed, std::index_sequence<K...>) {
  return ((piece.run == static_cast<std::int64_t>(8 * (K + 1)) && (move_runs_of<D, 8 * (K + 1)>(piece, packed), true)) || ...);
}

template <Direction D>
void move_piece(const Piece& piece, std::byte* packed) {
  constexpr std::int64_t kLong = 1024;  // from here on the library's memcpy is worth its call
  const std::int64_t run = piece.run;
  const auto any = [run](std::byte* p, std::intptr_t at) { move_run<D>(p, at, static_cast<std::size_t>(run)); };
  if (piece.count == 1 && piece.planes == 1 && !piece.table) return any(packed, piece.at);
  if (run == 1) return move_runs_of<D, 1>(piece, packed);
  if (run == 2) return move_runs_of<D, 2>(piece, packed);
  if (run == 4) return move_runs_of<D, 4>(piece, packed);
  if (run == 12) return move_runs_of<D, 12>(piece, packed);
  if (run <= 64 && move_runs_of_words<D>(piece, packed, std::make_index_sequence<8>())) return;
  if (run < 64 || run >= kLong) return move_rows(piece, packed, any);
  move_rows(piece, packed, [run](std::byte* p, std::intptr_t at) { move_medium_run<D>(p, at, run); });
}

template <std::size_t Run>
void copy_runs_of(std::intptr_t from, std::int64_t from_stride, std::intptr_t to, std::int64_t to_stride, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    std::memcpy(memory(to + i * to_stride), memory(from + i * from_stride), Run);
  }
}

}  // namespace

void pack_piece(const Piece& piece, std::byte* packed) { move_piece<Direction::pack>(piece, packed); }

void unpack_piece(const std::byte* packed, const Piece& piece) {
  move_piece<Direction::unpack>(piece, const_cast<std::byte*>(packed));  // only read in this direction
}

void copy_strided(std::intptr_t from, std::int64_t from_stride, std::intptr_t to, std::int64_t to_stride, std::int64_t run,
                  std::int64_t count) {
  switch (run) {
    case 1:
      return copy_runs_of<1>(from, from_stride, to, to_stride, count);
    case 2:
      return copy_runs_of<2>(from, from_stride, to, to_stride, count);
    case 4:
      return copy_runs_of<4>(from, from_stride, to, to_stride, count);
    case 8:
      return copy_runs_of<8>(from, from_stride, to, to_stride, count);
    case 16:
      return copy_runs_of<16>(from, from_stride, to, to_stride, count);
    case 32:
      return copy_runs_of<32>(from, from_stride, to, to_stride, count);
    default:
      for (std::int64_t i = 0; i < count; ++i) {
        std::memcpy(memory(to + i * to_stride), memory(from + i * from_stride), static_cast<std::size_t>(run));
      }
  }
}

}  // namespace plait::layout
