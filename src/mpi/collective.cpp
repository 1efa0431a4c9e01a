// The exported collective calls. On a thread communicator they are plait's, on others the MPI's own. What plait has started
// has to move on while those block.
#include "mpi/collective.hpp"

#include "mpi/communicator.hpp"
#include "mpi/native.hpp"
#include "mpi/threads.hpp"
#include "threadcomm/call.hpp"

#pragma GCC visibility push(default)

using plait::mpi::Blocking;
using plait::mpi::on;
using plait::mpi::on_returning;
using plait::mpi::threads;
using plait::threadcomm::Rank;
using plait::threadcomm::rank_of;

#define PLAIT_LIST(...) __VA_ARGS__

/// A blocking call and its nonblocking form; S is _c in the forms with large counts. OURS is the function of
/// mpi/collective.hpp.
#define PLAIT_COLLECTIVE(NAME, INAME, S, OURS, PARAMETERS, ARGUMENTS)                                                             \
  extern "C" int MPI_##NAME##S(PLAIT_LIST PARAMETERS, MPI_Comm comm) {                                                            \
    if (plait::p2p::Communicator* const c = threads(comm)) {                                                                      \
      const plait::p2p::Call call{"MPI_" #NAME #S, __builtin_return_address(0)};                                                  \
      return on_returning(comm, [&] {                                                                                             \
        Rank& rank = rank_of(*c);                                                                                                 \
        return plait::threadcomm::run(rank, call, plait::mpi::collective::OURS(rank, PLAIT_LIST ARGUMENTS));                      \
      });                                                                                                                         \
    }                                                                                                                             \
    const Blocking blocking;                                                                                                      \
    return PMPI_##NAME##S(PLAIT_LIST ARGUMENTS, comm);                                                                            \
  }                                                                                                                               \
  extern "C" int MPI_##INAME##S(PLAIT_LIST PARAMETERS, MPI_Comm comm, MPI_Request* request) {                                     \
    plait::p2p::Communicator* const c = threads(comm);                                                                            \
    if (!c) return PMPI_##INAME##S(PLAIT_LIST ARGUMENTS, comm, request);                                                          \
    return on(comm, [&] {                                                                                                         \
      Rank& rank = rank_of(*c);                                                                                                   \
      *request = plait::mpi::handle_of(plait::threadcomm::start(rank, plait::mpi::collective::OURS(rank, PLAIT_LIST ARGUMENTS))); \
    });                                                                                                                           \
  }

extern "C" int MPI_Barrier(MPI_Comm comm) {
  if (plait::p2p::Communicator* const c = threads(comm)) {
    const plait::p2p::Call call{"MPI_Barrier", __builtin_return_address(0)};
    return on_returning(comm, [&] {
      Rank& rank = rank_of(*c);
      return plait::threadcomm::run(rank, call, plait::mpi::collective::Barrier(rank));
    });
  }
  const Blocking blocking;
  return PMPI_Barrier(comm);
}

extern "C" int MPI_Ibarrier(MPI_Comm comm, MPI_Request* request) {
  plait::p2p::Communicator* const c = threads(comm);
  if (!c) return PMPI_Ibarrier(comm, request);
  return on(comm, [&] {
    Rank& rank = rank_of(*c);
    *request = plait::mpi::handle_of(plait::threadcomm::start(rank, plait::mpi::collective::Barrier(rank)));
  });
}

// C is the type of counts, D that of displacements; both end in s where they are arrays.
#define PLAIT_COLLECTIVES(S, C, D)                                                                                                         \
  PLAIT_COLLECTIVE(Bcast, Ibcast, S, Bcast, (void* buf, C n, MPI_Datatype t, int root), (buf, n, t, root))                                 \
  PLAIT_COLLECTIVE(Gather, Igather, S, Gather, (const void* s, C sn, MPI_Datatype st, void* r, C rn, MPI_Datatype rt, int root),           \
                   (s, sn, st, r, rn, rt, root))                                                                                           \
  PLAIT_COLLECTIVE(Gatherv, Igatherv, S, Gatherv,                                                                                          \
                   (const void* s, C sn, MPI_Datatype st, void* r, const C rns[], const D ds[], MPI_Datatype rt, int root),                \
                   (s, sn, st, r, rns, ds, rt, root))                                                                                      \
  PLAIT_COLLECTIVE(Scatter, Iscatter, S, Scatter, (const void* s, C sn, MPI_Datatype st, void* r, C rn, MPI_Datatype rt, int root),        \
                   (s, sn, st, r, rn, rt, root))                                                                                           \
  PLAIT_COLLECTIVE(Scatterv, Iscatterv, S, Scatterv,                                                                                       \
                   (const void* s, const C sns[], const D ds[], MPI_Datatype st, void* r, C rn, MPI_Datatype rt, int root),                \
                   (s, sns, ds, st, r, rn, rt, root))                                                                                      \
  PLAIT_COLLECTIVE(Allgather, Iallgather, S, Allgather, (const void* s, C sn, MPI_Datatype st, void* r, C rn, MPI_Datatype rt),            \
                   (s, sn, st, r, rn, rt))                                                                                                 \
  PLAIT_COLLECTIVE(Allgatherv, Iallgatherv, S, Allgatherv,                                                                                 \
                   (const void* s, C sn, MPI_Datatype st, void* r, const C rns[], const D ds[], MPI_Datatype rt),                          \
                   (s, sn, st, r, rns, ds, rt))                                                                                            \
  PLAIT_COLLECTIVE(Alltoall, Ialltoall, S, Alltoall, (const void* s, C sn, MPI_Datatype st, void* r, C rn, MPI_Datatype rt),               \
                   (s, sn, st, r, rn, rt))                                                                                                 \
  PLAIT_COLLECTIVE(Alltoallv, Ialltoallv, S, Alltoallv,                                                                                    \
                   (const void* s, const C sns[], const D sds[], MPI_Datatype st, void* r, const C rns[], const D rds[], MPI_Datatype rt), \
                   (s, sns, sds, st, r, rns, rds, rt))                                                                                     \
  PLAIT_COLLECTIVE(Alltoallw, Ialltoallw, S, Alltoallw,                                                                                    \
                   (const void* s, const C sns[], const D sds[], const MPI_Datatype sts[], void* r, const C rns[], const D rds[],          \
                    const MPI_Datatype rts[]),                                                                                             \
                   (s, sns, sds, sts, r, rns, rds, rts))                                                                                   \
  PLAIT_COLLECTIVE(Reduce, Ireduce, S, Reduce, (const void* s, void* r, C n, MPI_Datatype t, MPI_Op op, int root), (s, r, n, t, op, root)) \
  PLAIT_COLLECTIVE(Allreduce, Iallreduce, S, Allreduce, (const void* s, void* r, C n, MPI_Datatype t, MPI_Op op), (s, r, n, t, op))        \
  PLAIT_COLLECTIVE(Reduce_scatter, Ireduce_scatter, S, Reduce_scatter, (const void* s, void* r, const C ns[], MPI_Datatype t, MPI_Op op),  \
                   (s, r, ns, t, op))                                                                                                      \
  PLAIT_COLLECTIVE(Reduce_scatter_block, Ireduce_scatter_block, S, Reduce_scatter_block,                                                   \
                   (const void* s, void* r, C n, MPI_Datatype t, MPI_Op op), (s, r, n, t, op))                                             \
  PLAIT_COLLECTIVE(Scan, Iscan, S, Scan, (const void* s, void* r, C n, MPI_Datatype t, MPI_Op op), (s, r, n, t, op))                       \
  PLAIT_COLLECTIVE(Exscan, Iexscan, S, Exscan, (const void* s, void* r, C n, MPI_Datatype t, MPI_Op op), (s, r, n, t, op))                 \
  PLAIT_COLLECTIVE(Neighbor_allgather, Ineighbor_allgather, S, Neighbor_allgather,                                                         \
                   (const void* s, C sn, MPI_Datatype st, void* r, C rn, MPI_Datatype rt), (s, sn, st, r, rn, rt))                         \
  PLAIT_COLLECTIVE(Neighbor_allgatherv, Ineighbor_allgatherv, S, Neighbor_allgatherv,                                                      \
                   (const void* s, C sn, MPI_Datatype st, void* r, const C rns[], const D ds[], MPI_Datatype rt),                          \
                   (s, sn, st, r, rns, ds, rt))                                                                                            \
  PLAIT_COLLECTIVE(Neighbor_alltoall, Ineighbor_alltoall, S, Neighbor_alltoall,                                                            \
                   (const void* s, C sn, MPI_Datatype st, void* r, C rn, MPI_Datatype rt), (s, sn, st, r, rn, rt))                         \
  PLAIT_COLLECTIVE(Neighbor_alltoallv, Ineighbor_alltoallv, S, Neighbor_alltoallv,                                                         \
                   (const void* s, const C sns[], const D sds[], MPI_Datatype st, void* r, const C rns[], const D rds[], MPI_Datatype rt), \
                   (s, sns, sds, st, r, rns, rds, rt))                                                                                     \
  PLAIT_COLLECTIVE(Neighbor_alltoallw, Ineighbor_alltoallw, S, Neighbor_alltoallw,                                                         \
                   (const void* s, const C sns[], const MPI_Aint sds[], const MPI_Datatype sts[], void* r, const C rns[],                  \
                    const MPI_Aint rds[], const MPI_Datatype rts[]),                                                                       \
                   (s, sns, sds, sts, r, rns, rds, rts))

PLAIT_COLLECTIVES(, int, int)
#if MPI_VERSION >= 4
PLAIT_COLLECTIVES(_c, MPI_Count, MPI_Aint)
#endif

#pragma GCC visibility pop
