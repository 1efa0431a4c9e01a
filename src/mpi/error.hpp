// How exported functions end: what was thrown or found becomes an MPI error, told to the error handler that MPI names.
#pragma once

#include <mpi.h>

#include <new>

#include "base/error.hpp"

namespace plait::mpi {

/// Errors of calls without a communicator go to this one's handler (MPI-4.0, 9.3; before it was the world's).
inline MPI_Comm default_comm() noexcept { return MPI_VERSION >= 4 ? MPI_COMM_SELF : MPI_COMM_WORLD; }

inline int report(int code) noexcept {
  if (code != MPI_SUCCESS) PMPI_Comm_call_errhandler(default_comm(), code);
  return code;
}

/// Runs the body of an exported function; what it throws becomes its error code.
template <class Body>
int guarded(Body body) noexcept {
  try {
    body();
    return MPI_SUCCESS;
  } catch (const MPIError& error) {
    return error.reported ? error.code : report(error.code);
  } catch (const std::bad_alloc&) {
    return report(MPI_ERR_NO_MEM);
  } catch (...) {
    return report(MPI_ERR_INTERN);
  }
}

}  // namespace plait::mpi
