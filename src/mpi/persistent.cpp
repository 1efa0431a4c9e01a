// Persistent collective calls: the MPI's own, and none on thread communicators.
#include "mpi/communicator.hpp"
#include "mpi/threads.hpp"

#if MPI_VERSION >= 4

#pragma GCC visibility push(default)

using plait::mpi::refused;

#define PLAIT_LIST(...) __VA_ARGS__
#define PLAIT_PERSISTENT(NAME, PARAMETERS, ARGUMENTS)                                                    \
  extern "C" int MPI_##NAME(PLAIT_LIST PARAMETERS, MPI_Comm comm, MPI_Info info, MPI_Request* request) { \
    const int no = refused(comm);                                                                        \
    return no != MPI_SUCCESS ? no : PMPI_##NAME(PLAIT_LIST ARGUMENTS, comm, info, request);              \
  }

extern "C" int MPI_Barrier_init(MPI_Comm comm, MPI_Info info, MPI_Request* request) {
  const int no = refused(comm);
  return no != MPI_SUCCESS ? no : PMPI_Barrier_init(comm, info, request);
}

// C is the type of counts, D that of displacements; both end in s where they are arrays.
#define PLAIT_ALL_PERSISTENT(S, C, D)                                                                                                      \
  PLAIT_PERSISTENT(Bcast_init##S, (void* buf, C n, MPI_Datatype t, int root), (buf, n, t, root))                                           \
  PLAIT_PERSISTENT(Gather_init##S, (const void* s, C sn, MPI_Datatype st, void* r, C rn, MPI_Datatype rt, int root),                       \
                   (s, sn, st, r, rn, rt, root))                                                                                           \
  PLAIT_PERSISTENT(Gatherv_init##S,                                                                                                        \
                   (const void* s, C sn, MPI_Datatype st, void* r, const C rns[], const D ds[], MPI_Datatype rt, int root),                \
                   (s, sn, st, r, rns, ds, rt, root))                                                                                      \
  PLAIT_PERSISTENT(Scatter_init##S, (const void* s, C sn, MPI_Datatype st, void* r, C rn, MPI_Datatype rt, int root),                      \
                   (s, sn, st, r, rn, rt, root))                                                                                           \
  PLAIT_PERSISTENT(Scatterv_init##S,                                                                                                       \
                   (const void* s, const C sns[], const D ds[], MPI_Datatype st, void* r, C rn, MPI_Datatype rt, int root),                \
                   (s, sns, ds, st, r, rn, rt, root))                                                                                      \
  PLAIT_PERSISTENT(Allgather_init##S, (const void* s, C sn, MPI_Datatype st, void* r, C rn, MPI_Datatype rt), (s, sn, st, r, rn, rt))      \
  PLAIT_PERSISTENT(Allgatherv_init##S, (const void* s, C sn, MPI_Datatype st, void* r, const C rns[], const D ds[], MPI_Datatype rt),      \
                   (s, sn, st, r, rns, ds, rt))                                                                                            \
  PLAIT_PERSISTENT(Alltoall_init##S, (const void* s, C sn, MPI_Datatype st, void* r, C rn, MPI_Datatype rt), (s, sn, st, r, rn, rt))       \
  PLAIT_PERSISTENT(Alltoallv_init##S,                                                                                                      \
                   (const void* s, const C sns[], const D sds[], MPI_Datatype st, void* r, const C rns[], const D rds[], MPI_Datatype rt), \
                   (s, sns, sds, st, r, rns, rds, rt))                                                                                     \
  PLAIT_PERSISTENT(Alltoallw_init##S,                                                                                                      \
                   (const void* s, const C sns[], const D sds[], const MPI_Datatype sts[], void* r, const C rns[], const D rds[],          \
                    const MPI_Datatype rts[]),                                                                                             \
                   (s, sns, sds, sts, r, rns, rds, rts))                                                                                   \
  PLAIT_PERSISTENT(Reduce_init##S, (const void* s, void* r, C n, MPI_Datatype t, MPI_Op op, int root), (s, r, n, t, op, root))             \
  PLAIT_PERSISTENT(Allreduce_init##S, (const void* s, void* r, C n, MPI_Datatype t, MPI_Op op), (s, r, n, t, op))                          \
  PLAIT_PERSISTENT(Reduce_scatter_init##S, (const void* s, void* r, const C ns[], MPI_Datatype t, MPI_Op op), (s, r, ns, t, op))           \
  PLAIT_PERSISTENT(Reduce_scatter_block_init##S, (const void* s, void* r, C n, MPI_Datatype t, MPI_Op op), (s, r, n, t, op))               \
  PLAIT_PERSISTENT(Scan_init##S, (const void* s, void* r, C n, MPI_Datatype t, MPI_Op op), (s, r, n, t, op))                               \
  PLAIT_PERSISTENT(Exscan_init##S, (const void* s, void* r, C n, MPI_Datatype t, MPI_Op op), (s, r, n, t, op))                             \
  PLAIT_PERSISTENT(Neighbor_allgather_init##S, (const void* s, C sn, MPI_Datatype st, void* r, C rn, MPI_Datatype rt),                     \
                   (s, sn, st, r, rn, rt))                                                                                                 \
  PLAIT_PERSISTENT(Neighbor_allgatherv_init##S,                                                                                            \
                   (const void* s, C sn, MPI_Datatype st, void* r, const C rns[], const D ds[], MPI_Datatype rt),                          \
                   (s, sn, st, r, rns, ds, rt))                                                                                            \
  PLAIT_PERSISTENT(Neighbor_alltoall_init##S, (const void* s, C sn, MPI_Datatype st, void* r, C rn, MPI_Datatype rt),                      \
                   (s, sn, st, r, rn, rt))                                                                                                 \
  PLAIT_PERSISTENT(Neighbor_alltoallv_init##S,                                                                                             \
                   (const void* s, const C sns[], const D sds[], MPI_Datatype st, void* r, const C rns[], const D rds[], MPI_Datatype rt), \
                   (s, sns, sds, st, r, rns, rds, rt))                                                                                     \
  PLAIT_PERSISTENT(Neighbor_alltoallw_init##S,                                                                                             \
                   (const void* s, const C sns[], const MPI_Aint sds[], const MPI_Datatype sts[], void* r, const C rns[],                  \
                    const MPI_Aint rds[], const MPI_Datatype rts[]),                                                                       \
                   (s, sns, sds, sts, r, rns, rds, rts))

PLAIT_ALL_PERSISTENT(, int, int)
PLAIT_ALL_PERSISTENT(_c, MPI_Count, MPI_Aint)

#pragma GCC visibility pop

#endif
