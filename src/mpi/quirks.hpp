// What is peculiar to one MPI library, each with the version and what happens without it.
#pragma once

#include <mpi.h>

namespace plait::mpi {

// Intel MPI 2021.19 declares the requests of MPI_Request_get_status_all, _any and _some without the standard's const; a
// definition with it does not compile.
#ifdef I_MPI_NUMVERSION
using LookedAt = MPI_Request;
#else
using LookedAt = const MPI_Request;
#endif

}  // namespace plait::mpi
