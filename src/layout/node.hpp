// The shape of a layout: which bytes, in which order, as a tree of a few nodes. No MPI here.
//
//   byte sequence  what a node stands for: its bytes in type-map order, the order in which MPI_Pack visits them
//   break          a place in the sequence where the next byte does not lie right behind the one before
//   segment        the bytes between two breaks: a longest run of bytes that follow each other in the sequence and
//                  in memory. So the segments depend on the sequence alone and not on how a datatype spelled it
//   joined         two neighbours in the sequence with no break between them
//
// Every node lays its first byte at 0; whoever uses it says where it goes (Placed, Part::offset). A node without
// breaks is always a run, so that a node of another kind has a break somewhere inside.
//
// Nodes are values that point to others; the Arena they came from keeps those alive. Once built they never change,
// so any number of threads may read them.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

namespace plait::layout {

struct Part;

enum class Kind : std::uint8_t {
  run,       ///< bytes that lie one behind the other
  repeated,  ///< one child, `count` times, each `stride` bytes behind the one before
  runs,      ///< runs anywhere, no two neighbours joined
  parts,     ///< any nodes anywhere
};

struct Node {
  Kind kind = Kind::run;
  std::int64_t bytes = 0;                ///< length of the sequence
  std::int64_t breaks = 0;               ///< breaks inside it: one fewer than segments
  std::int64_t end = 0;                  ///< address behind the last byte of the sequence, not the highest address
  std::int64_t count = 0;                ///< repeated: copies; runs, parts: entries
  std::int64_t stride = 0;               ///< repeated
  std::int64_t run = 0;                  ///< runs: the length of each where all are equally long, else 0
  const Node* child = nullptr;           ///< repeated
  const std::int64_t* offset = nullptr;  ///< runs: where each lies
  const std::int64_t* before = nullptr;  ///< runs of unequal length: bytes of the sequence before each, and all bytes
  const Part* part = nullptr;            ///< parts

  [[nodiscard]] bool joins(std::int64_t next) const { return end == next; }
  /// repeated: breaks from the start of one copy to the start of the next.
  [[nodiscard]] std::int64_t breaks_per_copy() const { return child->breaks + (child->joins(stride) ? 0 : 1); }
  /// runs: bytes of the sequence before run i, 0 <= i <= count.
  [[nodiscard]] std::int64_t bytes_before(std::int64_t i) const { return run != 0 ? i * run : before[i]; }

  bool operator==(const Node&) const = default;
};

struct Part {
  Node node;
  std::int64_t offset = 0;
  std::int64_t bytes_before = 0;
  std::int64_t breaks_before = 0;  ///< those of earlier parts and between them, up to the start of this one
};

/// A node and the address of its first byte, relative to the buffer.
struct Placed {
  std::int64_t offset = 0;
  Node node;
};

/// Where nodes and their tables live.
class Arena {
 public:
  const Node* keep(const Node& node);
  const std::int64_t* keep(std::vector<std::int64_t> table);
  const Part* keep(std::vector<Part> table);
  /// Forgets the last node kept.
  void drop_last() { nodes_.pop_back(); }

  /// Bytes of memory that all of it takes.
  [[nodiscard]] std::size_t footprint() const;

 private:
  std::deque<Node> nodes_;
  std::deque<std::vector<std::int64_t>> tables_;
  std::deque<std::vector<Part>> parts_;
};

/// `bytes` bytes in a row; none is the empty node.
[[nodiscard]] Node make_run(std::int64_t bytes);

/// `child` over and over. It must outlive the node. Takes no memory and no time that grows with `count`.
[[nodiscard]] Node make_repeated(const Node& child, std::int64_t count, std::int64_t stride);

/// The same with the child kept in `arena` where the node needs it.
[[nodiscard]] Placed repeat(Arena& arena, const Placed& child, std::int64_t count, std::int64_t stride);

/// `pieces` one after the other. Empty ones vanish, runs that join become one, an even spacing becomes a repetition.
[[nodiscard]] Placed concatenate(Arena& arena, std::vector<Placed> pieces);

/// Bytes in a row at some address.
struct Run {
  std::int64_t offset = 0;
  std::int64_t bytes = 0;
};

/// The same for runs alone, of which there may be millions.
[[nodiscard]] Placed concatenate(Arena& arena, std::vector<Run> runs);

}  // namespace plait::layout
