// Progress of the MPI underneath.
#pragma once

#include <mpi.h>

namespace plait::mpi {

/// Lets the MPI move whatever it has pending: it does so where it looks for a message that is not there. Looking at a request
/// would not do: MPI_Request_get_status of MPICH 5.0.2 and Intel MPI 2021.19 ends an active persistent one. Neither would
/// MPI_COMM_SELF: MPICH 4.0.2 then moves nothing.
inline int progress_native() noexcept {
  constexpr int kUnlikely = 32767;  // the largest tag that every MPI has
  int flag = 0;
  return PMPI_Iprobe(MPI_ANY_SOURCE, kUnlikely, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
}

}  // namespace plait::mpi
