#include "node.hpp"

#include <algorithm>

namespace plait::layout {

const Node* Arena::keep(const Node& node) { return &nodes_.emplace_back(node); }

const std::int64_t* Arena::keep(std::vector<std::int64_t> table) {
  table.shrink_to_fit();
  return tables_.emplace_back(std::move(table)).data();
}

const Part* Arena::keep(std::vector<Part> table) {
  table.shrink_to_fit();
  return parts_.emplace_back(std::move(table)).data();
}

std::size_t Arena::footprint() const {
  std::size_t bytes = nodes_.size() * sizeof(Node);
  for (const auto& t : tables_) bytes += t.capacity() * sizeof(t[0]);
  for (const auto& t : parts_) bytes += t.capacity() * sizeof(t[0]);
  return bytes;
}

Node make_run(std::int64_t bytes) {
  Node run;
  run.bytes = run.end = bytes;
  return run;
}

Node make_repeated(const Node& child, std::int64_t count, std::int64_t stride) {
  if (count <= 0 || child.bytes == 0) return make_run(0);
  if (count == 1) return child;
  if (child.kind == Kind::run && child.joins(stride)) return make_run(count * child.bytes);
  // Rows that go on from plane to plane at the same distance are one longer row.
  if (child.kind == Kind::repeated && child.count * child.stride == stride) {
    return make_repeated(*child.child, child.count * count, child.stride);
  }
  Node node;
  node.kind = Kind::repeated;
  node.bytes = count * child.bytes;
  node.count = count;
  node.stride = stride;
  node.child = &child;
  node.end = (count - 1) * stride + child.end;
  node.breaks = count * node.breaks_per_copy() - (child.joins(stride) ? 0 : 1);
  return node;
}

Placed repeat(Arena& arena, const Placed& child, std::int64_t count, std::int64_t stride) {
  const Node* kept = arena.keep(child.node);
  const Node node = make_repeated(*kept, count, stride);
  if (node.child != kept) arena.drop_last();
  return {node.bytes == 0 ? 0 : child.offset, node};
}

namespace {

/// Leaves out what is empty and makes one of runs that join.
void tidy(std::vector<Run>& runs) {
  auto last = runs.begin();
  for (const Run& run : runs) {
    if (run.bytes == 0) continue;
    if (last != runs.begin() && (last - 1)->offset + (last - 1)->bytes == run.offset) {
      (last - 1)->bytes += run.bytes;
    } else {
      *last++ = run;
    }
  }
  runs.erase(last, runs.end());
}

void tidy(std::vector<Placed>& pieces) {
  auto last = pieces.begin();
  for (const Placed& piece : pieces) {
    if (piece.node.bytes == 0) continue;
    Node* before = last == pieces.begin() ? nullptr : &(last - 1)->node;
    if (before && before->kind == Kind::run && piece.node.kind == Kind::run && before->joins(piece.offset - (last - 1)->offset)) {
      *before = make_run(before->bytes + piece.node.bytes);
    } else {
      *last++ = piece;
    }
  }
  pieces.erase(last, pieces.end());
}

template <class Piece, class Equal>
bool evenly_spaced(const std::vector<Piece>& pieces, Equal equal) {
  const std::int64_t stride = pieces[1].offset - pieces[0].offset;
  for (std::size_t i = 1; i < pieces.size(); ++i) {
    if (!equal(pieces[i], pieces[0]) || pieces[i].offset - pieces[i - 1].offset != stride) return false;
  }
  return true;
}

/// At least two runs, tidied.
Node make_runs(Arena& arena, const std::vector<Run>& runs) {
  Node node;
  node.kind = Kind::runs;
  node.count = static_cast<std::int64_t>(runs.size());
  node.breaks = node.count - 1;
  const bool equal = std::all_of(runs.begin(), runs.end(), [&](const Run& r) { return r.bytes == runs[0].bytes; });
  std::vector<std::int64_t> offset, before;
  offset.reserve(runs.size());
  before.reserve(equal ? 0 : runs.size() + 1);
  for (const Run& r : runs) {
    offset.push_back(r.offset - runs[0].offset);
    if (!equal) before.push_back(node.bytes);
    node.bytes += r.bytes;
  }
  node.end = offset.back() + runs.back().bytes;
  node.offset = arena.keep(std::move(offset));
  if (equal) {
    node.run = runs[0].bytes;
  } else {
    before.push_back(node.bytes);
    node.before = arena.keep(std::move(before));
  }
  return node;
}

/// At least two pieces, tidied.
Node make_parts(Arena& arena, const std::vector<Placed>& pieces) {
  Node node;
  node.kind = Kind::parts;
  node.count = static_cast<std::int64_t>(pieces.size());
  std::vector<Part> parts;
  parts.reserve(pieces.size());
  for (const Placed& p : pieces) {
    const std::int64_t offset = p.offset - pieces[0].offset;
    if (!parts.empty() && !node.joins(offset)) ++node.breaks;
    parts.push_back({p.node, offset, node.bytes, node.breaks});
    node.bytes += p.node.bytes;
    node.breaks += p.node.breaks;
    node.end = offset + p.node.end;
  }
  node.part = arena.keep(std::move(parts));
  return node;
}

}  // namespace

Placed concatenate(Arena& arena, std::vector<Run> runs) {
  tidy(runs);
  if (runs.empty()) return {};
  if (runs.size() == 1) return {runs[0].offset, make_run(runs[0].bytes)};
  if (evenly_spaced(runs, [](const Run& a, const Run& b) { return a.bytes == b.bytes; })) {
    const auto count = static_cast<std::int64_t>(runs.size());
    return repeat(arena, {runs[0].offset, make_run(runs[0].bytes)}, count, runs[1].offset - runs[0].offset);
  }
  return {runs[0].offset, make_runs(arena, runs)};
}

Placed concatenate(Arena& arena, std::vector<Placed> pieces) {
  tidy(pieces);
  if (pieces.empty()) return {};
  if (pieces.size() == 1) return pieces[0];
  if (std::all_of(pieces.begin(), pieces.end(), [](const Placed& p) { return p.node.kind == Kind::run; })) {
    std::vector<Run> runs;
    runs.reserve(pieces.size());
    for (const Placed& p : pieces) runs.push_back({p.offset, p.node.bytes});
    return concatenate(arena, std::move(runs));
  }
  if (evenly_spaced(pieces, [](const Placed& a, const Placed& b) { return a.node == b.node; })) {
    const auto count = static_cast<std::int64_t>(pieces.size());
    return repeat(arena, pieces[0], count, pieces[1].offset - pieces[0].offset);
  }
  return {pieces[0].offset, make_parts(arena, pieces)};
}

}  // namespace plait::layout
