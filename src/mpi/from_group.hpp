// MPI_Comm_create_from_group and MPI_Intercomm_create_from_groups as plait makes them.
//
// Those of Open MPI 5.0.11 hang now and then between nodes where another thread is in the MPI meanwhile, as plait's helper is: members
// tell each other on the new communicator that they have it, and such a message is lost where it comes just before the communicator is
// there. With a thread that asks by MPI_Improbe it is one call in six. Its MPI_Comm_create_group agrees on the parent and is safe, but
// matches its messages, with the caller's tag, as if they were the program's. So these calls become that one, on a parent of plait's.
#pragma once

#include <mpi.h>

#include "mpi/quirks.hpp"

namespace plait::mpi {

/// When the MPI has been initialized; collective. And before it is finalized.
void open_groups() noexcept;
void close_groups() noexcept;

#if PLAIT_MPI_HAS_CALLS_OF_4
/// Any thread. `name`, `info` and `handler` are the program's.
int create_from_group(MPI_Group group, const char* name, MPI_Info info, MPI_Errhandler handler, MPI_Comm* made) noexcept;

struct Side {
  MPI_Group group;
  int leader;  ///< in it
};
int create_from_groups(const Side& local, const Side& remote, const char* name, MPI_Info info, MPI_Errhandler handler,
                       MPI_Comm* made) noexcept;
#endif

}  // namespace plait::mpi
