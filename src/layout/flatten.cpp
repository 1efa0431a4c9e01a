#include "flatten.hpp"

#include <algorithm>
#include <deque>
#include <unordered_map>

#include "base/error.hpp"
#include "contents.hpp"

namespace plait::layout {
namespace {

/// One datatype's bytes and the distance at which MPI repeats it.
struct Element {
  Placed shape;
  std::int64_t extent = 0;

  [[nodiscard]] bool is_contiguous() const { return shape.node.kind == Kind::run && shape.node.joins(extent); }
};

/// The places 0 <= i < size of one dimension that a process has, as MPI-4.1, 5.1.4 distributes them.
struct Distribution {
  std::int64_t size = 0;
  int kind = MPI_DISTRIBUTE_NONE;
  int argument = MPI_DISTRIBUTE_DFLT_DARG;
  std::int64_t processes = 1;
  std::int64_t process = 0;
};

class Flattener {
 public:
  Element element(MPI_Datatype datatype);
  Arena arena;

 private:
  Placed shape(MPI_Datatype datatype, Contents& c);
  Placed predefined(MPI_Datatype datatype, int combiner);
  Placed pair(MPI_Datatype value, MPI_Datatype index, MPI_Datatype datatype);

  Placed contiguous(Contents& c);
  Placed vector(Contents& c, bool in_bytes);
  Placed indexed(Contents& c, bool in_bytes);
  Placed indexed_block(Contents& c, bool in_bytes);
  Placed structure(Contents& c);
  Placed subarray(Contents& c);
  Placed darray(Contents& c);

  Placed row(const Element& e, std::int64_t n) { return repeat(arena, e.shape, n, e.extent); }
  Placed blocks(const Element& e, const std::vector<std::int64_t>& lengths, const std::vector<std::int64_t>& offsets, std::int64_t unit);
  Placed distribute(const Placed& inner, std::int64_t stride, const Distribution& d);

  /// Members of a structure are often one datatype many times over. The handles stay valid while `held_` has them.
  std::unordered_map<MPI_Datatype, Element> known_;
  std::deque<Contents> held_;
};

std::int64_t size_of(MPI_Datatype datatype) {
  MPI_Count size = 0;
  check(PMPI_Type_size_x(datatype, &size));
  return size;
}

std::int64_t extent_of(MPI_Datatype datatype) {
  MPI_Count lower = 0, extent = 0;
  check(PMPI_Type_get_extent_x(datatype, &lower, &extent));
  return extent;
}

Element Flattener::element(MPI_Datatype datatype) {
  if (const auto known = known_.find(datatype); known != known_.end()) return known->second;
  Contents& contents = held_.emplace_back(datatype);
  const Element e{shape(datatype, contents), extent_of(datatype)};
  known_.emplace(datatype, e);
  return e;
}

Placed Flattener::shape(MPI_Datatype datatype, Contents& c) {
  switch (c.combiner()) {
    case MPI_COMBINER_DUP:
    case MPI_COMBINER_RESIZED:  // what it changes is in the extent
      return element(c.datatypes()[0]).shape;
    case MPI_COMBINER_CONTIGUOUS:
      return contiguous(c);
    case MPI_COMBINER_VECTOR:
      return vector(c, false);
    case MPI_COMBINER_HVECTOR:
      return vector(c, true);
    case MPI_COMBINER_INDEXED:
      return indexed(c, false);
    case MPI_COMBINER_HINDEXED:
      return indexed(c, true);
    case MPI_COMBINER_INDEXED_BLOCK:
      return indexed_block(c, false);
    case MPI_COMBINER_HINDEXED_BLOCK:
      return indexed_block(c, true);
    case MPI_COMBINER_STRUCT:
      return structure(c);
    case MPI_COMBINER_SUBARRAY:
      return subarray(c);
    case MPI_COMBINER_DARRAY:
      return darray(c);
#if MPI_VERSION > 4 || (MPI_VERSION == 4 && MPI_SUBVERSION >= 1)
    case MPI_COMBINER_VALUE_INDEX:
      return pair(c.datatypes()[0], c.datatypes()[1], datatype);
#endif
    default:
      return predefined(datatype, c.combiner());
  }
}

Placed Flattener::predefined(MPI_Datatype datatype, int combiner) {
  if (!is_predefined(combiner)) throw MPIError{MPI_ERR_TYPE, false};
  static const MPI_Datatype kPairs[][2] = {{MPI_FLOAT_INT, MPI_FLOAT}, {MPI_DOUBLE_INT, MPI_DOUBLE},
                                           {MPI_LONG_INT, MPI_LONG},   {MPI_SHORT_INT, MPI_SHORT},
                                           {MPI_2INT, MPI_INT},        {MPI_LONG_DOUBLE_INT, MPI_LONG_DOUBLE}};
  for (const auto& [name, value] : kPairs) {
    if (datatype == name) return pair(value, MPI_INT, datatype);
  }
  return {0, make_run(size_of(datatype))};
}

/// A value and, at the end of what both take, an index; between them may be a gap.
Placed Flattener::pair(MPI_Datatype value, MPI_Datatype index, MPI_Datatype datatype) {
  MPI_Count lower = 0, extent = 0;
  check(PMPI_Type_get_true_extent_x(datatype, &lower, &extent));
  const std::int64_t value_bytes = size_of(value), index_bytes = size_of(index);
  return concatenate(arena, std::vector<Run>{{0, value_bytes}, {lower + extent - index_bytes, index_bytes}});
}

Placed Flattener::contiguous(Contents& c) {
  const std::int64_t count = c.next_count();
  return row(element(c.datatypes()[0]), count);
}

Placed Flattener::vector(Contents& c, bool in_bytes) {
  const Element e = element(c.datatypes()[0]);
  const std::int64_t count = c.next_count(), length = c.next_count();
  const std::int64_t stride = in_bytes ? c.next_address() : c.next_count() * e.extent;
  return repeat(arena, row(e, length), count, stride);
}

/// `lengths` elements each at `offsets` times `unit`; one length stands for all.
Placed Flattener::blocks(const Element& e, const std::vector<std::int64_t>& lengths, const std::vector<std::int64_t>& offsets,
                         std::int64_t unit) {
  const auto length = [&](std::size_t i) { return lengths.size() == 1 ? lengths[0] : lengths[i]; };
  if (e.is_contiguous()) {
    std::vector<Run> runs;
    runs.reserve(offsets.size());
    for (std::size_t i = 0; i < offsets.size(); ++i) {
      runs.push_back({e.shape.offset + offsets[i] * unit, length(i) * e.extent});
    }
    return concatenate(arena, std::move(runs));
  }
  std::unordered_map<std::int64_t, Placed> rows;  // by length, so that equal ones share their node
  std::vector<Placed> pieces;
  pieces.reserve(offsets.size());
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    auto [it, fresh] = rows.try_emplace(length(i));
    if (fresh) it->second = row(e, length(i));
    pieces.push_back({it->second.offset + offsets[i] * unit, it->second.node});
  }
  return concatenate(arena, std::move(pieces));
}

Placed Flattener::indexed(Contents& c, bool in_bytes) {
  const Element e = element(c.datatypes()[0]);
  const std::int64_t count = c.next_count();
  const auto lengths = c.next_counts(count);
  return blocks(e, lengths, in_bytes ? c.next_addresses(count) : c.next_counts(count), in_bytes ? 1 : e.extent);
}

Placed Flattener::indexed_block(Contents& c, bool in_bytes) {
  const Element e = element(c.datatypes()[0]);
  const std::int64_t count = c.next_count();
  const auto lengths = c.next_counts(1);
  return blocks(e, lengths, in_bytes ? c.next_addresses(count) : c.next_counts(count), in_bytes ? 1 : e.extent);
}

Placed Flattener::structure(Contents& c) {
  const std::int64_t count = c.next_count();
  const auto lengths = c.next_counts(count);
  const auto offsets = c.next_addresses(count);
  std::vector<Placed> pieces;
  pieces.reserve(offsets.size());
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    const Placed member = row(element(c.datatypes()[i]), lengths[i]);
    pieces.push_back({member.offset + offsets[i], member.node});
  }
  return concatenate(arena, std::move(pieces));
}

Placed Flattener::subarray(Contents& c) {
  const Element e = element(c.datatypes()[0]);
  const int dimensions = c.next_int();
  const auto sizes = c.next_counts(dimensions), subsizes = c.next_counts(dimensions), starts = c.next_counts(dimensions);
  const bool c_order = c.next_int() == MPI_ORDER_C;
  Placed shape = e.shape;
  std::int64_t stride = e.extent;
  for (int i = 0; i < dimensions; ++i) {  // from the dimension whose places lie closest
    const auto d = static_cast<std::size_t>(c_order ? dimensions - 1 - i : i);
    shape = repeat(arena, shape, subsizes[d], stride);
    shape.offset += starts[d] * stride;
    stride *= sizes[d];
  }
  return shape;
}

Placed Flattener::distribute(const Placed& inner, std::int64_t stride, const Distribution& d) {
  const auto some = [&](std::int64_t first, std::int64_t n) {
    const Placed p = repeat(arena, inner, n, stride);
    return Placed{p.offset + first * stride, p.node};
  };
  if (d.kind == MPI_DISTRIBUTE_NONE) return some(0, d.size);
  const bool block = d.kind == MPI_DISTRIBUTE_BLOCK, by_default = d.argument == MPI_DISTRIBUTE_DFLT_DARG;
  const std::int64_t whole = block ? (d.size + d.processes - 1) / d.processes : 1;
  const std::int64_t length = by_default ? whole : d.argument;
  const std::int64_t first = d.process * length;
  if (block) return some(first, std::clamp<std::int64_t>(d.size - first, 0, length));
  // Cyclic: a block in every round, the last of them perhaps cut short by the end.
  const std::int64_t round = length * d.processes;
  const std::int64_t full = d.size < first + length ? 0 : (d.size - first - length) / round + 1;
  const std::int64_t rest = std::clamp<std::int64_t>(d.size - first - full * round, 0, length);
  const Placed blocks = repeat(arena, some(first, length), full, round * stride);
  return concatenate(arena, std::vector<Placed>{blocks, some(first + full * round, rest)});
}

Placed Flattener::darray(Contents& c) {
  const Element e = element(c.datatypes()[0]);
  [[maybe_unused]] const int processes = c.next_int();
  int rank = c.next_int();
  const auto dimensions = static_cast<std::size_t>(c.next_int());
  const auto n = static_cast<std::int64_t>(dimensions);
  const auto sizes = c.next_counts(n);
  const auto kinds = c.next_ints(n), arguments = c.next_ints(n), grid = c.next_ints(n);
  const bool c_order = c.next_int() == MPI_ORDER_C;
  std::vector<Distribution> all(dimensions);
  for (std::size_t d = dimensions; d-- > 0; rank /= grid[d]) {  // processes are numbered in C order always
    all[d] = {sizes[d], kinds[d], arguments[d], grid[d], rank % grid[d]};
  }
  Placed shape = e.shape;
  std::int64_t stride = e.extent;
  for (std::size_t i = 0; i < dimensions; ++i) {
    const std::size_t d = c_order ? dimensions - 1 - i : i;
    shape = distribute(shape, stride, all[d]);
    stride *= sizes[d];
  }
  return shape;
}

}  // namespace

std::unique_ptr<Layout> flatten(MPI_Datatype datatype) {
  Flattener flattener;
  const Element e = flattener.element(datatype);
  // A constructor read wrongly must not move wrong bytes in silence.
  if (e.shape.node.bytes != size_of(datatype)) throw MPIError{MPI_ERR_INTERN, false};
  return std::make_unique<Layout>(std::move(flattener.arena), e.shape, e.extent);
}

}  // namespace plait::layout
