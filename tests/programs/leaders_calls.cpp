#include "leaders_calls.hpp"

#include <mpi.h>

std::atomic<int> native_calls{0};

#define COUNTED(NAME, PARAMETERS, ARGUMENTS)              \
  extern "C" int MPI_##NAME PARAMETERS {                  \
    native_calls.fetch_add(1, std::memory_order_relaxed); \
    return PMPI_##NAME ARGUMENTS;                         \
  }
COUNTED(Barrier, (MPI_Comm c), (c))
COUNTED(Bcast, (void* b, int n, MPI_Datatype t, int r, MPI_Comm c), (b, n, t, r, c))
COUNTED(Reduce, (const void* s, void* d, int n, MPI_Datatype t, MPI_Op o, int r, MPI_Comm c), (s, d, n, t, o, r, c))
COUNTED(Allreduce, (const void* s, void* d, int n, MPI_Datatype t, MPI_Op o, MPI_Comm c), (s, d, n, t, o, c))
#if MPI_VERSION >= 4
COUNTED(Bcast_c, (void* b, MPI_Count n, MPI_Datatype t, int r, MPI_Comm c), (b, n, t, r, c))
COUNTED(Reduce_c, (const void* s, void* d, MPI_Count n, MPI_Datatype t, MPI_Op o, int r, MPI_Comm c), (s, d, n, t, o, r, c))
COUNTED(Allreduce_c, (const void* s, void* d, MPI_Count n, MPI_Datatype t, MPI_Op o, MPI_Comm c), (s, d, n, t, o, c))
#endif
