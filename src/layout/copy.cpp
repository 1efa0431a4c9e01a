// pack, unpack and copy: ranges of buffers taken apart into pieces, and each piece given to its loop.
#include <algorithm>
#include <cstring>

#include "layout.hpp"
#include "loops.hpp"
#include "pieces.hpp"

namespace plait::layout {
namespace {

/// How many of `wanted` bytes there are from `begin` on.
std::int64_t clip(const Buffer& buffer, std::int64_t begin, std::int64_t wanted) {
  if (begin < 0) return 0;
  return std::clamp<std::int64_t>(buffer.bytes() - begin, 0, std::max<std::int64_t>(wanted, 0));
}

/// Of nothing, either side may be null.
void move_bytes(void* to, const void* from, std::int64_t bytes) {
  if (bytes > 0) std::memcpy(to, from, static_cast<std::size_t>(bytes));
}

/// Goes through the runs of a piece, stopping anywhere between.
class Walk {
 public:
  explicit Walk(const Piece& piece) : piece_(piece) {}

  [[nodiscard]] const Piece& piece() const { return piece_; }
  [[nodiscard]] std::intptr_t at() const { return start_of_run() + inside_; }
  [[nodiscard]] std::int64_t left_of_run() const { return piece_.run - inside_; }
  [[nodiscard]] bool at_run() const { return inside_ == 0; }
  [[nodiscard]] bool done() const { return plane_ == piece_.planes; }
  /// Whole runs at one stride from here on.
  [[nodiscard]] std::int64_t regular() const { return piece_.table ? 1 : piece_.count - run_; }

  void advance(std::int64_t bytes) {
    inside_ += bytes;
    if (inside_ == piece_.run) advance_runs(1);
  }

  /// At most regular().
  void advance_runs(std::int64_t runs) {
    inside_ = 0;
    run_ += runs;
    if (run_ < piece_.count) return;
    run_ = 0;
    ++plane_;
  }

 private:
  [[nodiscard]] std::intptr_t start_of_run() const {
    return piece_.at + plane_ * piece_.plane_stride + (piece_.table ? piece_.table[run_] : run_ * piece_.stride);
  }

  Piece piece_;
  std::int64_t plane_ = 0, run_ = 0, inside_ = 0;
};

void move_step(Walk& from, Walk& to) {
  if (from.at_run() && to.at_run() && from.piece().run == to.piece().run) {
    const std::int64_t runs = std::min(from.regular(), to.regular());
    copy_strided(from.at(), from.piece().stride, to.at(), to.piece().stride, from.piece().run, runs);
    from.advance_runs(runs);
    to.advance_runs(runs);
    return;
  }
  const std::int64_t bytes = std::min(from.left_of_run(), to.left_of_run());
  copy_strided(from.at(), 0, to.at(), 0, bytes, 1);
  from.advance(bytes);
  to.advance(bytes);
}

/// The range of both buffers, piece by piece of `from`, and for each the pieces of `to` that take it up.
void copy_pieces(const Buffer& from, std::int64_t from_begin, const Buffer& to, std::int64_t to_begin, std::int64_t bytes) {
  std::int64_t at = to_begin;
  auto outer = [&](const Piece& source) {
    Walk source_walk(source);
    auto inner = [&](const Piece& target) {
      for (Walk target_walk(target); !target_walk.done();) move_step(source_walk, target_walk);
    };
    visit(to.node(), to.at(), at, at + source.bytes(), inner);
    at += source.bytes();
  };
  visit(from.node(), from.at(), from_begin, from_begin + bytes, outer);
}

}  // namespace

std::size_t pack(const Buffer& from, std::int64_t begin, std::span<std::byte> to) {
  const std::int64_t bytes = clip(from, begin, static_cast<std::int64_t>(to.size()));
  std::byte* packed = to.data();
  if (from.node().kind == Kind::run) {
    move_bytes(packed, memory(from.at() + begin), bytes);
    return static_cast<std::size_t>(bytes);
  }
  auto sink = [&packed](const Piece& piece) {
    pack_piece(piece, packed);
    packed += piece.bytes();
  };
  visit(from.node(), from.at(), begin, begin + bytes, sink);
  return static_cast<std::size_t>(bytes);
}

std::size_t unpack(std::span<const std::byte> from, const Buffer& to, std::int64_t begin) {
  const std::int64_t bytes = clip(to, begin, static_cast<std::int64_t>(from.size()));
  const std::byte* packed = from.data();
  if (to.node().kind == Kind::run) {
    move_bytes(memory(to.at() + begin), packed, bytes);
    return static_cast<std::size_t>(bytes);
  }
  auto sink = [&packed](const Piece& piece) {
    unpack_piece(packed, piece);
    packed += piece.bytes();
  };
  visit(to.node(), to.at(), begin, begin + bytes, sink);
  return static_cast<std::size_t>(bytes);
}

std::size_t copy(const Buffer& from, std::int64_t from_begin, const Buffer& to, std::int64_t to_begin, std::int64_t wanted) {
  const std::int64_t bytes = clip(from, from_begin, clip(to, to_begin, wanted));
  const auto length = static_cast<std::size_t>(bytes);
  if (bytes == 0) return 0;
  if (to.node().kind == Kind::run) {
    return pack(from, from_begin, {memory(to.at() + to_begin), length});
  }
  if (from.node().kind == Kind::run) {
    return unpack({memory(from.at() + from_begin), length}, to, to_begin);
  }
  copy_pieces(from, from_begin, to, to_begin, bytes);
  return length;
}

}  // namespace plait::layout
