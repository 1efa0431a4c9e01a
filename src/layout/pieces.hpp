// A range of a node's sequence as few large regular pieces, so that what handles them can have tight loops.
// Any thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "node.hpp"
#include "search.hpp"

namespace plait::layout {

/// Runs of equal length: `planes` times `count` of them, at regular distances or, with a table, `count` of them at
/// `at + table[i]`. Addresses are numbers, since a datatype may hold absolute ones and start from no object at all.
struct Piece {
  std::intptr_t at = 0;
  std::int64_t run = 0;
  std::int64_t count = 1;
  std::int64_t stride = 0;
  std::int64_t planes = 1;
  std::int64_t plane_stride = 0;
  const std::int64_t* table = nullptr;

  [[nodiscard]] std::int64_t bytes() const { return planes * count * run; }
};

/// The memory at an address.
inline std::byte* memory(std::intptr_t at) { return reinterpret_cast<std::byte*>(at); }  // NOLINT(performance-no-int-to-ptr)

template <class Sink>
void visit_node(const Node& node, std::intptr_t at, Sink& sink);

/// `count` whole copies of a repeated node's child, the first of them at `at`.
template <class Sink>
void visit_copies(const Node& node, std::intptr_t at, std::int64_t count, Sink& sink) {
  const Node& child = *node.child;
  if (child.kind == Kind::run) {
    sink(Piece{.at = at, .run = child.bytes, .count = count, .stride = node.stride});
  } else if (child.kind == Kind::repeated && child.child->kind == Kind::run) {
    sink(Piece{
        .at = at, .run = child.child->bytes, .count = child.count, .stride = child.stride, .planes = count, .plane_stride = node.stride});
  } else {
    for (std::int64_t i = 0; i < count; ++i) visit_node(child, at + i * node.stride, sink);
  }
}

/// Whole runs [first, last) of a node of runs.
template <class Sink>
void visit_runs(const Node& node, std::intptr_t at, std::int64_t first, std::int64_t last, Sink& sink) {
  if (first >= last) return;
  if (node.run != 0) {
    sink(Piece{.at = at, .run = node.run, .count = last - first, .table = node.offset + first});
    return;
  }
  for (std::int64_t i = first; i < last; ++i) {
    sink(Piece{.at = at + node.offset[i], .run = node.before[i + 1] - node.before[i]});
  }
}

template <class Sink>
void visit_node(const Node& node, std::intptr_t at, Sink& sink) {
  switch (node.kind) {
    case Kind::run:
      sink(Piece{.at = at, .run = node.bytes});
      break;
    case Kind::runs:
      visit_runs(node, at, 0, node.count, sink);
      break;
    case Kind::repeated:
      visit_copies(node, at, node.count, sink);
      break;
    case Kind::parts:
      for (std::int64_t i = 0; i < node.count; ++i) visit_node(node.part[i].node, at + node.part[i].offset, sink);
      break;
  }
}

template <class Sink>
void visit(const Node& node, std::intptr_t at, std::int64_t begin, std::int64_t end, Sink& sink);

template <class Sink>
void visit_range_of_runs(const Node& node, std::intptr_t at, std::int64_t begin, std::int64_t end, Sink& sink) {
  const auto run_with = [&node](std::int64_t position) {
    if (node.run != 0) return position / node.run;
    return last_not_above(node.count + 1, position, [&node](std::int64_t i) { return node.before[i]; });
  };
  const auto partly = [&](std::int64_t i, std::int64_t from, std::int64_t to) {
    if (from < to) sink(Piece{.at = at + node.offset[i] + (from - node.bytes_before(i)), .run = to - from});
  };
  std::int64_t first = run_with(begin);
  if (begin > node.bytes_before(first)) {
    partly(first, begin, std::min(end, node.bytes_before(first + 1)));
    ++first;
  }
  const std::int64_t last = run_with(end);
  visit_runs(node, at, first, last, sink);
  if (last >= first && last < node.count) partly(last, node.bytes_before(last), end);
}

template <class Sink>
void visit_range_of_copies(const Node& node, std::intptr_t at, std::int64_t begin, std::int64_t end, Sink& sink) {
  const std::int64_t length = node.child->bytes;
  const auto partly = [&](std::int64_t i, std::int64_t from, std::int64_t to) {
    if (from < to) visit(*node.child, at + i * node.stride, from, to, sink);
  };
  std::int64_t first = begin / length;
  if (begin > first * length) {
    partly(first, begin - first * length, std::min(end - first * length, length));
    ++first;
  }
  const std::int64_t last = end / length;
  if (last > first) visit_copies(node, at + first * node.stride, last - first, sink);
  if (last >= first) partly(last, 0, end - last * length);
}

template <class Sink>
void visit_range_of_parts(const Node& node, std::intptr_t at, std::int64_t begin, std::int64_t end, Sink& sink) {
  std::int64_t i = last_not_above(node.count, begin, [&node](std::int64_t k) { return node.part[k].bytes_before; });
  for (; i < node.count && node.part[i].bytes_before < end; ++i) {
    const Part& part = node.part[i];
    visit(part.node, at + part.offset, std::max<std::int64_t>(begin - part.bytes_before, 0),
          std::min(end - part.bytes_before, part.node.bytes), sink);
  }
}

/// Calls sink(Piece) for bytes [begin, end) of the sequence of `node` placed at `at`, in order.
template <class Sink>
void visit(const Node& node, std::intptr_t at, std::int64_t begin, std::int64_t end, Sink& sink) {
  if (begin >= end) return;
  if (begin == 0 && end == node.bytes) return visit_node(node, at, sink);
  switch (node.kind) {
    case Kind::run:
      sink(Piece{.at = at + begin, .run = end - begin});
      break;
    case Kind::runs:
      visit_range_of_runs(node, at, begin, end, sink);
      break;
    case Kind::repeated:
      visit_range_of_copies(node, at, begin, end, sink);
      break;
    case Kind::parts:
      visit_range_of_parts(node, at, begin, end, sink);
      break;
  }
}

/// Calls f(address, bytes) for each run of a piece, in order.
template <class F>
void for_each_run(const Piece& piece, F&& f) {
  for (std::int64_t p = 0; p < piece.planes; ++p) {
    for (std::int64_t i = 0; i < piece.count; ++i) {
      f(piece.at + p * piece.plane_stride + (piece.table ? piece.table[i] : i * piece.stride), piece.run);
    }
  }
}

}  // namespace plait::layout
