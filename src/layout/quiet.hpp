// A communicator of plait's own, of this process alone, on which errors come back as codes. Asking on one of the program's would call
// its error handler, and MPICH 5.0 then returns MPI_SUCCESS whatever happened.
#pragma once

#include <mpi.h>

#include <mutex>

namespace plait::layout {

/// Made by the first who asks. By threads that hold the lock around the MPI. Throws MPIError.
[[nodiscard]] MPI_Comm quiet();
/// At the end of the MPI, when the program's own callbacks have run: these may still need it.
void free_quiet() noexcept;
/// Held in each collective call on it, since MPI allows one at a time. The program's own calls on MPI_COMM_SELF do not meet these.
extern std::mutex quiet_calls;

}  // namespace plait::layout
