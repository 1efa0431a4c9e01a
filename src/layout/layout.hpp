// A layout: a datatype flattened once. Where its bytes lie, as segments reachable by number, and the loops that move
// them. It never changes after it is made, so any thread may use it, and several at once may move disjoint ranges.
//
// A buffer is described by (layout, base, count): `count` elements, `extent` bytes apart, the first at `base`.
// Positions count bytes of its packed form, which is what MPI_Pack makes of it on a homogeneous machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "node.hpp"
#include "segments.hpp"

namespace plait::layout {

/// Contiguous bytes at an address relative to the buffer.
struct Segment {
  std::int64_t offset = 0;
  std::int64_t bytes = 0;
  bool operator==(const Segment&) const = default;
};

class Layout {
 public:
  /// `shape` lives in `arena`.
  Layout(Arena arena, Placed shape, std::int64_t extent);
  Layout(const Layout&) = delete;
  Layout& operator=(const Layout&) = delete;

  /// Bytes of one element, packed.
  [[nodiscard]] std::int64_t bytes() const { return shape_.node.bytes; }
  /// Distance from element to element.
  [[nodiscard]] std::int64_t extent() const { return extent_; }
  /// Address of the first byte of an element.
  [[nodiscard]] std::int64_t offset() const { return shape_.offset; }
  /// True where any number of elements is one run of bytes.
  [[nodiscard]] bool is_contiguous() const { return shape_.node.kind == Kind::run && shape_.node.joins(extent_); }
  [[nodiscard]] const Node& node() const { return shape_.node; }

  /// Segments of one element.
  [[nodiscard]] std::int64_t segments() const { return bytes() == 0 ? 0 : shape_.node.breaks + 1; }
  /// Segment k, 0 <= k < segments().
  [[nodiscard]] Segment segment(std::int64_t k) const;
  /// Where segment k starts, 0 <= k <= segments(): its position is the number of bytes in those before it.
  [[nodiscard]] Place start(std::int64_t k) const;
  /// Segments k, k + 1, … into `out`, as many as there are; returns how many.
  std::size_t segments(std::int64_t k, std::span<Segment> out) const;
  /// Segments that lie whole within the first `position` bytes.
  [[nodiscard]] std::int64_t segments_within(std::int64_t position) const;

  /// Bytes of memory that it takes.
  [[nodiscard]] std::size_t footprint() const { return sizeof(*this) + arena_.footprint(); }

 private:
  Arena arena_;
  Placed shape_;
  std::int64_t extent_;
};

/// A buffer of a program: `count` elements of `layout` from `base`, which may be null where the datatype holds
/// absolute addresses. Cheap to make.
class Buffer {
 public:
  Buffer(const Layout& layout, const void* base, std::int64_t count)
      : node_(make_repeated(layout.node(), count, layout.extent())), at_(reinterpret_cast<std::intptr_t>(base) + layout.offset()) {}

  [[nodiscard]] std::int64_t bytes() const { return node_.bytes; }
  [[nodiscard]] const Node& node() const { return node_; }
  [[nodiscard]] std::intptr_t at() const { return at_; }

 private:
  Node node_;
  std::intptr_t at_;
};

/// Bytes [begin, begin + to.size()) of `from`, clipped to what there is, into `to`; returns how many.
std::size_t pack(const Buffer& from, std::int64_t begin, std::span<std::byte> to);

/// `from` into bytes [begin, begin + from.size()) of `to`, clipped to what there is; returns how many.
std::size_t unpack(std::span<const std::byte> from, const Buffer& to, std::int64_t begin);

/// `bytes` bytes from position `from_begin` of `from` to position `to_begin` of `to`, clipped to what both have;
/// returns how many. The two must not overlap in memory.
std::size_t copy(const Buffer& from, std::int64_t from_begin, const Buffer& to, std::int64_t to_begin, std::int64_t bytes);

}  // namespace plait::layout
