// How exported functions end: what was thrown or found becomes an MPI error, told to the error handler that MPI names.
#pragma once

#include <mpi.h>

#include <new>

#include "base/error.hpp"

namespace plait::mpi {

/// Errors of calls without a communicator go to this one's handler (MPI-4.0, 9.3; before it was the world's).
inline MPI_Comm default_comm() noexcept { return MPI_VERSION >= 4 ? MPI_COMM_SELF : MPI_COMM_WORLD; }

/// Says in a line on stderr which call has failed, if the handler that is to be told ends the job: the MPI can name only the call by
/// which it was told. `named`: the communicator is the call's own.
void name_if_fatal(MPI_Comm comm, bool named, int code, const char* call) noexcept;
void name_if_fatal_on_window(MPI_Win window, int code, const char* call) noexcept;
void name_if_fatal_on_file(MPI_File file, int code, const char* call) noexcept;
#if MPI_VERSION >= 4
void name_if_fatal_on_session(MPI_Session session, int code, const char* call) noexcept;
#endif

// In all of these `call` is the exported function's name: by itself that of the function that the line stands in.

/// The handler is told only where it is there: with sessions alone it is not.
inline int report(int code, const char* call = __builtin_FUNCTION()) noexcept {
  if (code == MPI_SUCCESS) [[likely]]
    return code;
  int initialized = 0;
  if (PMPI_Initialized(&initialized) != MPI_SUCCESS || !initialized) return code;
  name_if_fatal(default_comm(), false, code, call);
  PMPI_Comm_call_errhandler(default_comm(), code);
  return code;
}

/// Runs the body of an exported function; what it throws becomes its error code.
template <class Body>
int guarded(Body body, const char* call = __builtin_FUNCTION()) noexcept {
  try {
    body();
    return MPI_SUCCESS;
  } catch (const MPIError& error) {
    return error.reported ? error.code : report(error.code, call);
  } catch (const std::bad_alloc&) {
    return report(MPI_ERR_NO_MEM, call);
  } catch (...) {
    return report(MPI_ERR_INTERN, call);
  }
}

}  // namespace plait::mpi
