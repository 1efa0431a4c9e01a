// The arguments of collective calls that are plait's, checked and put into the form that the algorithms take. Each
// function returns what makes the algorithm of the call.
#pragma once

#include <mpi.h>

#include <optional>
#include <type_traits>
#include <utility>

#include "collective/algorithms.hpp"
#include "collective/combine.hpp"
#include "collective/leaders.hpp"
#include "mpi/error.hpp"
#include "mpi/quirks.hpp"
#include "threadcomm/topology.hpp"

namespace plait::mpi::makers {

using collective::Blocks;
using collective::Collective;
using collective::Rank;
using collective::Reduction;
using p2p::memory_of;

inline void check_root(const Rank& rank, int root) { require(root >= 0 && root < rank.size, MPI_ERR_ROOT); }

/// `count` elements for each rank.
inline Blocks blocks(const void* at, MPI_Count count, MPI_Datatype type) {
  require(count >= 0, MPI_ERR_COUNT);
  Blocks b;
  b.at = at;
  b.count = count;
  b.type = type;
  return b;
}

template <class C, class D>
Blocks blocks(int n, const void* at, const C* counts, const D* displacements, MPI_Datatype type) {
  require((counts && displacements) || n == 0, MPI_ERR_ARG);
  Blocks b = blocks(at, 0, type);
  b.counts = counts;
  b.displacements = displacements;
  b.large = !std::is_same_v<C, int>;
  b.wide = !std::is_same_v<D, int>;
  for (int i = 0; i < n; ++i) require(counts[i] >= 0, MPI_ERR_COUNT);
  return b;
}

template <class C, class D>
Blocks blocks(int n, const void* at, const C* counts, const D* displacements, const MPI_Datatype* types) {
  require((counts && displacements && types) || n == 0, MPI_ERR_ARG);
  Blocks b;
  b.at = at;
  b.counts = counts;
  b.displacements = displacements;
  b.types = types;
  b.large = !std::is_same_v<C, int>;
  b.wide = !std::is_same_v<D, int>;
  for (int i = 0; i < n; ++i) static_cast<void>(memory_of(nullptr, counts[i], types[i]));
  return b;
}

inline lane::Memory unless_in_place(const void* at, MPI_Count count, MPI_Datatype type) {
  return at == MPI_IN_PLACE ? lane::Memory{} : memory_of(at, count, type);
}

/// Of n elements each.
inline void require_two_buffers(const void* s, const void* r, MPI_Count n) {
  require(s != r || n == 0 || s == MPI_BOTTOM || s == MPI_IN_PLACE, MPI_ERR_BUFFER);
}
/// A rank's block and the place of its block among all, where one is sent and the other received.
inline void require_two_buffers(const Rank& rank, const void* mine, MPI_Count n, MPI_Datatype type, const Blocks& all) {
  if (!kOneBufferIsRefused || mine < all.at || type != all.type.handle || n != all.count_of(rank.rank)) return;
  require_two_buffers(mine, collective::offset_by(all.at, all.displacement_of(rank.rank) * all.type.extent()), n);
}

// ---- moving

struct MakeBarrier {
  collective::Steps operator()(Collective& c) const { return collective::barrier(c); }
  bool by_team(Rank& rank, p2p::Call call) const { return collective::barrier_by_team(rank, call); }
  std::optional<int> by_leaders(Rank& rank, p2p::Call call) const { return collective::barrier_by_leaders(rank, call); }
};
inline MakeBarrier Barrier(Rank&) { return {}; }

struct MakeBcast {
  collective::Buffer buffer;
  lane::Memory data;
  int root;
  collective::Steps operator()(Collective& c) const { return collective::broadcast(c, data, root); }
  bool by_team(Rank& rank, p2p::Call call) const { return collective::broadcast_by_team(rank, data, root, call); }
  std::optional<int> by_leaders(Rank& rank, p2p::Call call) const {
    return collective::broadcast_by_leaders(rank, buffer, data, root, call);
  }
};
inline MakeBcast Bcast(Rank& rank, void* buf, MPI_Count n, MPI_Datatype t, int root) {
  check_root(rank, root);
  return {{buf, n, t}, p2p::message_memory(buf, n, t), root};
}

inline auto gather(Rank& rank, const void* s, MPI_Count sn, MPI_Datatype st, const Blocks& all, int root) {
  const bool in_place = s == MPI_IN_PLACE;
  require(!in_place || rank.rank == root, MPI_ERR_BUFFER);
  if (rank.rank == root) require_two_buffers(rank, s, sn, st, all);
  return
      [mine = unless_in_place(s, sn, st), all, root, in_place](Collective& c) { return collective::gather(c, mine, all, root, in_place); };
}
inline auto Gather(Rank& rank, const void* s, MPI_Count sn, MPI_Datatype st, void* r, MPI_Count rn, MPI_Datatype rt, int root) {
  check_root(rank, root);
  return gather(rank, s, sn, st, rank.rank == root ? blocks(r, rn, rt) : Blocks{}, root);
}
template <class C, class D>
auto Gatherv(Rank& rank, const void* s, MPI_Count sn, MPI_Datatype st, void* r, const C* rns, const D* ds, MPI_Datatype rt, int root) {
  check_root(rank, root);
  return gather(rank, s, sn, st, rank.rank == root ? blocks(rank.size, r, rns, ds, rt) : Blocks{}, root);
}

inline auto scatter(Rank& rank, const Blocks& all, void* r, MPI_Count rn, MPI_Datatype rt, int root) {
  const bool in_place = r == MPI_IN_PLACE;
  require(!in_place || rank.rank == root, MPI_ERR_BUFFER);
  if (rank.rank == root) require_two_buffers(rank, r, rn, rt, all);
  return
      [all, mine = unless_in_place(r, rn, rt), root, in_place](Collective& c) { return collective::scatter(c, all, mine, root, in_place); };
}
inline auto Scatter(Rank& rank, const void* s, MPI_Count sn, MPI_Datatype st, void* r, MPI_Count rn, MPI_Datatype rt, int root) {
  check_root(rank, root);
  return scatter(rank, rank.rank == root ? blocks(s, sn, st) : Blocks{}, r, rn, rt, root);
}
template <class C, class D>
auto Scatterv(Rank& rank, const void* s, const C* sns, const D* ds, MPI_Datatype st, void* r, MPI_Count rn, MPI_Datatype rt, int root) {
  check_root(rank, root);
  return scatter(rank, rank.rank == root ? blocks(rank.size, s, sns, ds, st) : Blocks{}, r, rn, rt, root);
}

struct MakeAllgather {
  lane::Memory mine;
  Blocks all;
  bool in_place;
  collective::Steps operator()(Collective& c) const { return collective::allgather(c, mine, all, in_place); }
  bool by_team(Rank& rank, p2p::Call call) const { return collective::allgather_by_team(rank, mine, all, in_place, call); }
};
inline MakeAllgather allgather(const Rank& rank, const void* s, MPI_Count sn, MPI_Datatype st, Blocks all) {
  require_two_buffers(rank, s, sn, st, all);
  return {unless_in_place(s, sn, st), std::move(all), s == MPI_IN_PLACE};
}
inline auto Allgather(Rank& rank, const void* s, MPI_Count sn, MPI_Datatype st, void* r, MPI_Count rn, MPI_Datatype rt) {
  return allgather(rank, s, sn, st, blocks(r, rn, rt));
}
template <class C, class D>
auto Allgatherv(Rank& rank, const void* s, MPI_Count sn, MPI_Datatype st, void* r, const C* rns, const D* ds, MPI_Datatype rt) {
  return allgather(rank, s, sn, st, blocks(rank.size, r, rns, ds, rt));
}

struct MakeAlltoall {
  Blocks from, to;
  bool in_place;
  collective::Steps operator()(Collective& c) const { return collective::alltoall(c, from, to, in_place); }
  bool by_team(Rank& rank, p2p::Call call) const { return collective::alltoall_by_team(rank, from, to, in_place, call); }
};
inline MakeAlltoall alltoall(const Rank& rank, Blocks from, Blocks to, bool in_place) {
  if (kOneBufferIsRefused && from.at == to.at) {
    for (int i = 0; i < rank.size; ++i) require_two_buffers(from.at, to.at, from.count_of(i));
  }
  return {std::move(from), std::move(to), in_place};
}
inline auto Alltoall(Rank& rank, const void* s, MPI_Count sn, MPI_Datatype st, void* r, MPI_Count rn, MPI_Datatype rt) {
  const bool in_place = s == MPI_IN_PLACE;
  return alltoall(rank, in_place ? Blocks{} : blocks(s, sn, st), blocks(r, rn, rt), in_place);
}
template <class C, class D>
auto Alltoallv(Rank& rank, const void* s, const C* sns, const D* sds, MPI_Datatype st, void* r, const C* rns, const D* rds,
               MPI_Datatype rt) {
  const bool in_place = s == MPI_IN_PLACE;
  return alltoall(rank, in_place ? Blocks{} : blocks(rank.size, s, sns, sds, st), blocks(rank.size, r, rns, rds, rt), in_place);
}
template <class C, class D>
auto Alltoallw(Rank& rank, const void* s, const C* sns, const D* sds, const MPI_Datatype* sts, void* r, const C* rns, const D* rds,
               const MPI_Datatype* rts) {
  const bool in_place = s == MPI_IN_PLACE;
  return alltoall(rank, in_place ? Blocks{} : blocks(rank.size, s, sns, sds, sts), blocks(rank.size, r, rns, rds, rts), in_place);
}

// ---- combining

inline Reduction reduction(const void* s, void* r, MPI_Count n, MPI_Datatype t, MPI_Op op, bool two_buffers = kOneBufferIsRefused) {
  require(op != MPI_OP_NULL, MPI_ERR_OP);
  require(n >= 0, MPI_ERR_COUNT);
  const p2p::Type type(t);
  const collective::Combination combination(type, op);
  if (combination.uses_mpi()) collective::require_fit(t, op);
  if (two_buffers) require_two_buffers(s, r, n);
  return {s == MPI_IN_PLACE ? r : s, r, n, type, combination};
}
struct MakeReduce {
  Reduction all;
  int root;
  collective::Steps operator()(Collective& c) const { return collective::reduce(c, all, root); }
  bool by_team(Rank& rank, p2p::Call call) const { return collective::reduce_by_team(rank, all, root, call); }
  std::optional<int> by_leaders(Rank& rank, p2p::Call call) const { return collective::reduce_by_leaders(rank, all, root, call); }
};
inline MakeReduce Reduce(Rank& rank, const void* s, void* r, MPI_Count n, MPI_Datatype t, MPI_Op op, int root) {
  check_root(rank, root);
  require(s != MPI_IN_PLACE || rank.rank == root, MPI_ERR_BUFFER);
  return {reduction(s, r, n, t, op, rank.rank == root), root};
}
struct MakeAllreduce {
  Reduction all;
  collective::Steps operator()(Collective& c) const { return collective::allreduce(c, all); }
  bool by_team(Rank& rank, p2p::Call call) const { return collective::allreduce_by_team(rank, all, call); }
  std::optional<int> by_leaders(Rank& rank, p2p::Call call) const { return collective::allreduce_by_leaders(rank, all, call); }
};
inline MakeAllreduce Allreduce(Rank&, const void* s, void* r, MPI_Count n, MPI_Datatype t, MPI_Op op) {
  return {reduction(s, r, n, t, op, true)};
}
template <class C>
auto Reduce_scatter(Rank& rank, const void* s, void* r, const C* ns, MPI_Datatype t, MPI_Op op) {
  Blocks counts = blocks(rank.size, r, ns, ns, t);
  counts.displacements = nullptr;  // one part after the other
  MPI_Count n = 0;
  for (int i = 0; i < rank.size; ++i) n += counts.count_of(i);
  return [all = reduction(s, r, n, t, op), counts](Collective& c) { return collective::reduce_scatter(c, all, counts); };
}
inline auto Reduce_scatter_block(Rank& rank, const void* s, void* r, MPI_Count n, MPI_Datatype t, MPI_Op op) {
  return [all = reduction(s, r, n * rank.size, t, op), counts = blocks(r, n, t)](Collective& c) {
    return collective::reduce_scatter(c, all, counts);
  };
}
inline auto Scan(Rank&, const void* s, void* r, MPI_Count n, MPI_Datatype t, MPI_Op op) {
  return [all = reduction(s, r, n, t, op)](Collective& c) { return collective::scan(c, all, false); };
}
inline auto Exscan(Rank&, const void* s, void* r, MPI_Count n, MPI_Datatype t, MPI_Op op) {
  return [all = reduction(s, r, n, t, op)](Collective& c) { return collective::scan(c, all, true); };
}

// ---- between neighbours

struct Degrees {
  int in, out;
};
inline Degrees degrees(const Rank& rank) {
  const threadcomm::Neighbourhood n = threadcomm::neighbourhood_of(static_cast<const threadcomm::Rank&>(rank));
  return {static_cast<int>(n.sources.size()), static_cast<int>(n.destinations.size())};
}
inline auto neighbors(const Blocks& from, const Blocks& to, bool same) {
  return [from, to, same](Collective& c) { return threadcomm::neighbors(c, from, to, same); };
}
inline auto Neighbor_allgather(Rank& rank, const void* s, MPI_Count sn, MPI_Datatype st, void* r, MPI_Count rn, MPI_Datatype rt) {
  static_cast<void>(degrees(rank));
  return neighbors(blocks(s, sn, st), blocks(r, rn, rt), true);
}
template <class C, class D>
auto Neighbor_allgatherv(Rank& rank, const void* s, MPI_Count sn, MPI_Datatype st, void* r, const C* rns, const D* ds, MPI_Datatype rt) {
  return neighbors(blocks(s, sn, st), blocks(degrees(rank).in, r, rns, ds, rt), true);
}
inline auto Neighbor_alltoall(Rank& rank, const void* s, MPI_Count sn, MPI_Datatype st, void* r, MPI_Count rn, MPI_Datatype rt) {
  static_cast<void>(degrees(rank));
  return neighbors(blocks(s, sn, st), blocks(r, rn, rt), false);
}
template <class C, class D>
auto Neighbor_alltoallv(Rank& rank, const void* s, const C* sns, const D* sds, MPI_Datatype st, void* r, const C* rns, const D* rds,
                        MPI_Datatype rt) {
  const Degrees n = degrees(rank);
  return neighbors(blocks(n.out, s, sns, sds, st), blocks(n.in, r, rns, rds, rt), false);
}
template <class C>
auto Neighbor_alltoallw(Rank& rank, const void* s, const C* sns, const MPI_Aint* sds, const MPI_Datatype* sts, void* r, const C* rns,
                        const MPI_Aint* rds, const MPI_Datatype* rts) {
  const Degrees n = degrees(rank);
  return neighbors(blocks(n.out, s, sns, sds, sts), blocks(n.in, r, rns, rds, rts), false);
}

}  // namespace plait::mpi::makers
