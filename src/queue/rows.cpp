#include "queue/rows.hpp"

#include <algorithm>
#include <limits>

namespace plait::queue {
namespace {

using layout::Kind;
using layout::Node;

/// Drivers take no larger distance from row to row.
constexpr std::int64_t kLongest = std::numeric_limits<std::int32_t>::max();

[[nodiscard]] bool can_be_rows(std::size_t bytes, std::int64_t distance, std::uint64_t packed) noexcept {
  return distance >= static_cast<std::int64_t>(bytes) && distance <= kLongest && packed <= kLongest;
}

class Collector {
 public:
  explicit Collector(std::vector<Piece>& pieces) noexcept : pieces_(pieces) {}

  void add(const Node& node, std::intptr_t at, std::uint64_t position) {
    switch (node.kind) {
      case Kind::run:
        add_run(at, position, node.bytes);
        return;
      case Kind::runs:
        for (std::int64_t i = 0; i < node.count; ++i) {
          const std::int64_t before = node.bytes_before(i);
          add_run(at + node.offset[i], position + static_cast<std::uint64_t>(before), node.bytes_before(i + 1) - before);
        }
        return;
      case Kind::parts:
        for (std::int64_t i = 0; i < node.count; ++i) {
          const layout::Part& part = node.part[i];
          add(part.node, at + part.offset, position + static_cast<std::uint64_t>(part.bytes_before));
        }
        return;
      case Kind::repeated:
        add_repeated(node, at, position);
        return;
    }
  }

 private:
  /// As a row of the piece before, where it goes on with that.
  void add_run(std::intptr_t at, std::uint64_t position, std::int64_t bytes) {
    if (bytes == 0) return;
    const auto n = static_cast<std::size_t>(bytes);
    if (!pieces_.empty()) {
      auto& [first, its_position, rows] = pieces_.back();
      const std::int64_t distance = at - first;
      const std::uint64_t packed = position - its_position;
      if (rows.bytes == n && rows.count == 1 && can_be_rows(n, distance, packed)) {
        rows = {n, 2, static_cast<std::size_t>(distance), static_cast<std::size_t>(packed)};
        return;
      }
      if (rows.bytes == n && rows.count > 1 && distance == static_cast<std::int64_t>(rows.count * rows.on_device) &&
          packed == rows.count * rows.on_host) {
        ++rows.count;
        return;
      }
    }
    pieces_.push_back({at, position, {n, 1, 0, 0}});
  }

  void add_repeated(const Node& node, std::intptr_t at, std::uint64_t position) {
    std::vector<Piece> of_child;
    Collector(of_child).add(*node.child, at, position);
    const auto count = static_cast<std::size_t>(node.count);
    const auto packed = static_cast<std::size_t>(node.child->bytes);
    for (const Piece& p : of_child) {
      const Rows& rows = p.rows;
      const bool in_rows = can_be_rows(rows.bytes, node.stride, packed);
      if (rows.count > 1 && node.stride == static_cast<std::int64_t>(rows.count * rows.on_device) && packed == rows.count * rows.on_host) {
        pieces_.push_back({p.at, p.position, {rows.bytes, rows.count * count, rows.on_device, rows.on_host}});
      } else if (in_rows && rows.count <= count) {
        // The copies are the rows, of each row of the child one piece.
        for (std::size_t i = 0; i < rows.count; ++i)
          pieces_.push_back({p.at + static_cast<std::intptr_t>(i * rows.on_device),
                             p.position + i * rows.on_host,
                             {rows.bytes, count, static_cast<std::size_t>(node.stride), packed}});
      } else {
        for (std::size_t i = 0; i < count; ++i)
          pieces_.push_back({p.at + static_cast<std::intptr_t>(i) * node.stride, p.position + i * packed, rows});
      }
    }
  }

  std::vector<Piece>& pieces_;
};

void widen(Span& span, const Node& node, std::intptr_t at) {
  switch (node.kind) {
    case Kind::run:
      if (node.bytes == 0) return;
      span = {std::min(span.low, at), std::max<std::intptr_t>(span.high, at + node.bytes)};
      return;
    case Kind::repeated:
      widen(span, *node.child, at);
      widen(span, *node.child, at + (node.count - 1) * node.stride);
      return;
    case Kind::runs:
      for (std::int64_t i = 0; i < node.count; ++i) {
        const std::intptr_t first = at + node.offset[i];
        const std::int64_t bytes = node.bytes_before(i + 1) - node.bytes_before(i);
        span = {std::min(span.low, first), std::max<std::intptr_t>(span.high, first + bytes)};
      }
      return;
    case Kind::parts:
      for (std::int64_t i = 0; i < node.count; ++i) widen(span, node.part[i].node, at + node.part[i].offset);
      return;
  }
}

}  // namespace

std::vector<Piece> pieces_of(const lane::Memory& memory) {
  std::vector<Piece> pieces;
  const layout::Buffer buffer = memory.buffer();
  Collector(pieces).add(buffer.node(), buffer.at(), 0);
  return pieces;
}

Span span_of(const lane::Memory& memory) {
  const layout::Buffer buffer = memory.buffer();
  Span span{buffer.at(), buffer.at()};
  widen(span, buffer.node(), buffer.at());
  return span;
}

}  // namespace plait::queue
