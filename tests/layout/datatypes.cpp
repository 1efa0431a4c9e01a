#include "datatypes.hpp"

#include <cstddef>

namespace plait::layout::test {
namespace {

using Ints = std::vector<int>;
using Addresses = std::vector<MPI_Aint>;

template <class T>
struct Pair {
  T value;
  int index;
};

template <class T>
TypeMap pair_map() {
  return {{0, sizeof(T)}, {offsetof(Pair<T>, index), sizeof(int)}};
}

Ints random_ints(Random& random, int n, int low, int high) {
  Ints all(static_cast<std::size_t>(n));
  for (int& i : all) i = static_cast<int>(random.in(low, high));
  return all;
}

Addresses random_addresses(Random& random, int n, const Sample& inner) {
  Addresses all(static_cast<std::size_t>(n));
  MPI_Aint next = random.in(-64, 64);
  for (MPI_Aint& a : all) {
    a = next;
    next += random.chance(0.5) ? inner.extent() : random.in(-100, 200);
  }
  return all;
}

Sample contiguous(Random& random, const Sample& inner) {
  const int n = static_cast<int>(random.in(0, 5));
  MPI_Datatype t;
  MPI_Type_contiguous(n, inner.type.get(), &t);
  return {{t, true}, times(inner.map, n, inner.extent()), "contiguous(" + inner.name + ")"};
}

Sample vector(Random& random, const Sample& inner, bool in_bytes) {
  const int n = static_cast<int>(random.in(0, 5)), length = static_cast<int>(random.in(0, 4));
  const int stride = random.chance(0.2) ? length : static_cast<int>(random.in(-6, 9));
  const MPI_Aint bytes = in_bytes ? random.in(-90, 200) : stride * inner.extent();
  MPI_Datatype t;
  if (in_bytes) {
    MPI_Type_create_hvector(n, length, bytes, inner.type.get(), &t);
  } else {
    MPI_Type_vector(n, length, stride, inner.type.get(), &t);
  }
  const TypeMap block = times(inner.map, length, inner.extent());
  return {{t, true}, times(block, n, bytes), (in_bytes ? "hvector(" : "vector(") + inner.name + ")"};
}

Sample indexed(Random& random, const Sample& inner, bool in_bytes) {
  const int n = static_cast<int>(random.in(0, 6));
  const Ints lengths = random_ints(random, n, 0, 4), offsets = random_ints(random, n, -9, 15);
  const Addresses addresses = random_addresses(random, n, inner);
  MPI_Datatype t;
  if (in_bytes) {
    MPI_Type_create_hindexed(n, lengths.data(), addresses.data(), inner.type.get(), &t);
  } else {
    MPI_Type_indexed(n, lengths.data(), offsets.data(), inner.type.get(), &t);
  }
  Sample s{{t, true}, {}, (in_bytes ? "hindexed(" : "indexed(") + inner.name + ")"};
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    append(s.map, times(inner.map, lengths[i], inner.extent()), in_bytes ? addresses[i] : offsets[i] * inner.extent());
  }
  return s;
}

Sample indexed_block(Random& random, const Sample& inner, bool in_bytes) {
  const int n = static_cast<int>(random.in(0, 6)), length = static_cast<int>(random.in(0, 3));
  const Ints offsets = random_ints(random, n, -9, 15);
  const Addresses addresses = random_addresses(random, n, inner);
  MPI_Datatype t;
  if (in_bytes) {
    MPI_Type_create_hindexed_block(n, length, addresses.data(), inner.type.get(), &t);
  } else {
    MPI_Type_create_indexed_block(n, length, offsets.data(), inner.type.get(), &t);
  }
  Sample s{{t, true}, {}, (in_bytes ? "hindexed_block(" : "indexed_block(") + inner.name + ")"};
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    append(s.map, times(inner.map, length, inner.extent()), in_bytes ? addresses[i] : offsets[i] * inner.extent());
  }
  return s;
}

Sample structure(Random& random, std::vector<Sample> members) {
  const int n = static_cast<int>(members.size());
  const Ints lengths = random_ints(random, n, random.tame() ? 1 : 0, 3);
  Addresses addresses;
  std::vector<MPI_Datatype> types;
  MPI_Aint next = random.in(-40, 40);
  Sample s;
  s.name = "struct(";
  for (std::size_t i = 0; i < members.size(); ++i) {
    addresses.push_back(next);
    types.push_back(members[i].type.get());
    append(s.map, times(members[i].map, lengths[i], members[i].extent()), next);
    next += random.chance(0.5) ? lengths[i] * members[i].extent() : random.in(-50, 150);
    s.name += members[i].name + " ";
  }
  s.name += ')';
  MPI_Datatype t;
  MPI_Type_create_struct(n, lengths.data(), addresses.data(), types.data(), &t);
  s.type = {t, true};
  return s;
}

/// Calls f(index) for all places of an array, the last (C) or first (Fortran) index fastest.
template <class F>
void for_each_place(const Ints& sizes, int order, F f) {
  const std::size_t n = sizes.size();
  std::int64_t places = 1;
  for (const int s : sizes) places *= s;
  for (std::int64_t p = 0; p < places; ++p) {
    Ints index(n);
    std::int64_t rest = p;
    for (std::size_t k = 0; k < n; ++k) {
      const std::size_t d = order == MPI_ORDER_C ? n - 1 - k : k;
      index[d] = static_cast<int>(rest % sizes[d]);
      rest /= sizes[d];
    }
    f(p, index);
  }
}

Sample subarray(Random& random, const Sample& inner) {
  const int n = static_cast<int>(random.in(1, 3));
  const int order = random.chance(0.5) ? MPI_ORDER_C : MPI_ORDER_FORTRAN;
  const Ints sizes = random_ints(random, n, 1, 5);
  Ints sub, start;
  for (const int s : sizes) {
    sub.push_back(random.chance(0.3) ? s : static_cast<int>(random.in(1, s)));
    start.push_back(static_cast<int>(random.in(0, s - sub.back())));
  }
  MPI_Datatype t;
  MPI_Type_create_subarray(n, sizes.data(), sub.data(), start.data(), order, inner.type.get(), &t);
  Sample s{{t, true}, {}, "subarray(" + inner.name + ")"};
  const std::int64_t extent = inner.extent();
  for_each_place(sizes, order, [&](std::int64_t place, const Ints& index) {
    for (std::size_t d = 0; d < index.size(); ++d) {
      if (index[d] < start[d] || index[d] >= start[d] + sub[d]) return;
    }
    append(s.map, inner.map, place * extent);
  });
  return s;
}

/// Which process of a dimension's grid has index i.
int owner(int i, int size, int kind, int argument, int processes) {
  if (kind == MPI_DISTRIBUTE_NONE) return 0;
  if (kind == MPI_DISTRIBUTE_BLOCK) {
    return i / (argument == MPI_DISTRIBUTE_DFLT_DARG ? (size + processes - 1) / processes : argument);
  }
  return i / (argument == MPI_DISTRIBUTE_DFLT_DARG ? 1 : argument) % processes;
}

Sample darray(Random& random, const Sample& inner) {
  if (addresses(inner.map).empty()) return contiguous(random, inner);  // Open MPI 5.0 refuses it: MPI_ERR_TYPE
  const int n = static_cast<int>(random.in(1, 3));
  const int order = random.chance(0.5) ? MPI_ORDER_C : MPI_ORDER_FORTRAN;
  const Ints sizes = random_ints(random, n, 1, 7);
  Ints kinds, arguments, grid, where;
  int processes = 1, rank = 0;
  for (const int size : sizes) {
    static constexpr int kKinds[] = {MPI_DISTRIBUTE_NONE, MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC};
    kinds.push_back(kKinds[random.in(0, 2)]);
    const bool spread = kinds.back() != MPI_DISTRIBUTE_NONE;
    grid.push_back(spread ? static_cast<int>(random.in(1, 3)) : 1);
    const int least = kinds.back() == MPI_DISTRIBUTE_BLOCK ? (size + grid.back() - 1) / grid.back() : 1;
    arguments.push_back(!spread || random.chance(0.4) ? MPI_DISTRIBUTE_DFLT_DARG : static_cast<int>(random.in(least, least + 2)));
    where.push_back(static_cast<int>(random.in(0, grid.back() - 1)));
    processes *= grid.back();
    rank = rank * grid.back() + where.back();
  }
  MPI_Datatype t;
  MPI_Type_create_darray(processes, rank, n, sizes.data(), kinds.data(), arguments.data(), grid.data(), order, inner.type.get(), &t);
  Sample s{{t, true}, {}, "darray(" + inner.name + ")"};
  const std::int64_t extent = inner.extent();
  for_each_place(sizes, order, [&](std::int64_t place, const Ints& index) {
    for (std::size_t d = 0; d < index.size(); ++d) {
      if (owner(index[d], sizes[d], kinds[d], arguments[d], grid[d]) != where[d]) return;
    }
    append(s.map, inner.map, place * extent);
  });
  return s;
}

Sample resized(Random& random, const Sample& inner) {
  MPI_Aint lower = random.in(-30, 30), extent = random.in(-80, 200);
  if (random.tame()) {
    MPI_Type_get_true_extent(inner.type.get(), &lower, &extent);
    extent = (extent / 16 + random.in(1, 4)) * 16;
  }
  MPI_Datatype t;
  MPI_Type_create_resized(inner.type.get(), lower, extent, &t);
  return {{t, true}, inner.map, "resized(" + inner.name + ")"};
}

Sample duplicate(const Sample& inner) {
  MPI_Datatype t;
  MPI_Type_dup(inner.type.get(), &t);
  return {{t, true}, inner.map, "dup(" + inner.name + ")"};
}

Sample random_structure(Random& random, int depth) {
  std::vector<Sample> members;
  for (std::int64_t n = random.in(0, 4); n > 0; --n) {
    Sample member = random_datatype(random, depth);
    // MPICH divides by zero in MPI_Pack of some structures with empty members.
    if (random.tame() && addresses(member.map).empty()) member = random_basic(random);
    members.push_back(std::move(member));
  }
  return structure(random, std::move(members));
}

}  // namespace

Sample random_basic(Random& random) {
  switch (random.in(0, 11)) {
    case 0:
      return {{MPI_CHAR, false}, {{0, 1}}, "char"};
    case 1:
      return {{MPI_SHORT, false}, {{0, 2}}, "short"};
    case 2:
      return {{MPI_BYTE, false}, {{0, 1}}, "byte"};
    case 3:
      return {{MPI_DOUBLE, false}, {{0, 8}}, "double"};
    case 4:
      return {{MPI_C_DOUBLE_COMPLEX, false}, {{0, 16}}, "complex"};
    case 5:  // no long double: MPICH loses its six bytes of padding
      return {{MPI_INT64_T, false}, {{0, 8}}, "int64"};
    case 6:
      return {{MPI_DOUBLE_INT, false}, pair_map<double>(), "double_int"};
    case 7:
      return {{MPI_SHORT_INT, false}, pair_map<short>(), "short_int"};
    case 8:
      return {{MPI_LONG_INT, false}, pair_map<long>(), "long_int"};
    case 9:
      return {{MPI_2INT, false}, {{0, 8}}, "2int"};
    case 10:
      return {{MPI_FLOAT_INT, false}, {{0, 8}}, "float_int"};
    default:
      return {{MPI_INT, false}, {{0, 4}}, "int"};
  }
}

Sample random_datatype(Random& random, int depth) {
  if (depth == 0) return random_basic(random);
  const auto kind = random.in(0, 11);
  if (kind == 0) return random_structure(random, depth - 1);
  const Sample inner = random_datatype(random, depth - 1);
  switch (kind) {
    case 1:
      return contiguous(random, inner);
    case 2:
      return vector(random, inner, false);
    case 3:
      return vector(random, inner, true);
    case 4:
      return indexed(random, inner, false);
    case 5:
      return indexed(random, inner, true);
    case 6:
      return indexed_block(random, inner, false);
    case 7:
      return indexed_block(random, inner, true);
    case 8:
      return subarray(random, inner);
    case 9:
      return darray(random, inner);
    case 10:
      return resized(random, inner);
    default:
      return duplicate(inner);
  }
}

}  // namespace plait::layout::test
