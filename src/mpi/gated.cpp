// The MPI's own calls that threads which are ranks make as processes do, for themselves: where the MPI lets only one thread in
// at a time, they go in one after the other.
#include <mpi.h>

#include "base/mpi_lock.hpp"

#pragma GCC visibility push(default)

using plait::MpiLock;

#define PLAIT_GATED(NAME, PARAMETERS, ARGUMENTS) \
  extern "C" int MPI_##NAME PARAMETERS {         \
    const MpiLock gate;                          \
    return PMPI_##NAME ARGUMENTS;                \
  }

PLAIT_GATED(Type_contiguous, (int n, MPI_Datatype t, MPI_Datatype* made), (n, t, made))
PLAIT_GATED(Type_vector, (int n, int length, int stride, MPI_Datatype t, MPI_Datatype* made), (n, length, stride, t, made))
PLAIT_GATED(Type_create_hvector, (int n, int length, MPI_Aint stride, MPI_Datatype t, MPI_Datatype* made), (n, length, stride, t, made))
PLAIT_GATED(Type_indexed, (int n, const int lengths[], const int places[], MPI_Datatype t, MPI_Datatype* made),
            (n, lengths, places, t, made))
PLAIT_GATED(Type_create_hindexed, (int n, const int lengths[], const MPI_Aint places[], MPI_Datatype t, MPI_Datatype* made),
            (n, lengths, places, t, made))
PLAIT_GATED(Type_create_indexed_block, (int n, int length, const int places[], MPI_Datatype t, MPI_Datatype* made),
            (n, length, places, t, made))
PLAIT_GATED(Type_create_hindexed_block, (int n, int length, const MPI_Aint places[], MPI_Datatype t, MPI_Datatype* made),
            (n, length, places, t, made))
PLAIT_GATED(Type_create_struct, (int n, const int lengths[], const MPI_Aint places[], const MPI_Datatype types[], MPI_Datatype* made),
            (n, lengths, places, types, made))
PLAIT_GATED(Type_create_subarray,
            (int n, const int sizes[], const int subsizes[], const int starts[], int order, MPI_Datatype t, MPI_Datatype* made),
            (n, sizes, subsizes, starts, order, t, made))
PLAIT_GATED(Type_create_darray,
            (int size, int rank, int n, const int sizes[], const int distributions[], const int arguments[], const int grid[], int order,
             MPI_Datatype t, MPI_Datatype* made),
            (size, rank, n, sizes, distributions, arguments, grid, order, t, made))
PLAIT_GATED(Type_create_resized, (MPI_Datatype t, MPI_Aint low, MPI_Aint extent, MPI_Datatype* made), (t, low, extent, made))
PLAIT_GATED(Type_dup, (MPI_Datatype t, MPI_Datatype* made), (t, made))
PLAIT_GATED(Type_commit, (MPI_Datatype * t), (t))
PLAIT_GATED(Type_free, (MPI_Datatype * t), (t))
PLAIT_GATED(Info_create, (MPI_Info * info), (info))
PLAIT_GATED(Info_free, (MPI_Info * info), (info))

#pragma GCC visibility pop
