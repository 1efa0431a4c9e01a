// How exported functions end: what was thrown or found becomes an MPI error, told to the error handler that MPI names.
#pragma once

#include <mpi.h>

#include <new>

#include "base/error.hpp"
#include "base/mpi_lock.hpp"

namespace plait::mpi {

/// Errors of calls without a communicator go to this one's handler (MPI-4.0, 9.3; before it was the world's).
inline MPI_Comm default_comm() noexcept { return MPI_VERSION >= 4 ? MPI_COMM_SELF : MPI_COMM_WORLD; }

/// Does a handler do so?
[[nodiscard]] bool ends_the_job(MPI_Errhandler handler) noexcept;
/// Says in a line on stderr which call has failed, if the handler that is to be told ends the job: the MPI can name only the call by
/// which it was told. `named`: the communicator is the call's own.
void name_if_fatal(MPI_Comm comm, bool named, int code, const char* call) noexcept;
void name_if_fatal_on_window(MPI_Win window, int code, const char* call) noexcept;
void name_if_fatal_on_file(MPI_File file, int code, const char* call) noexcept;
#if MPI_VERSION >= 4
void name_if_fatal_on_session(MPI_Session session, int code, const char* call) noexcept;
#endif

// `call`: the exported function's name. The default is the function that contains the call, so helpers must pass it on.

/// With sessions alone there is no MPI_COMM_SELF whose handler could be told: the code is only returned.
inline int report(int code, const char* call = __builtin_FUNCTION()) noexcept {
  if (code == MPI_SUCCESS) [[likely]]
    return code;
  int initialized = 0;
  if (PMPI_Initialized(&initialized) != MPI_SUCCESS || !initialized) return code;
  const MpiLock lock;
  name_if_fatal(default_comm(), false, code, call);
  PMPI_Comm_call_errhandler(default_comm(), code);
  return code;
}

/// Runs a body that returns an error which a handler has been told; what it throws becomes one. `tell` tells the handler of this, and
/// returns it.
template <class Body, class Tell>
int told(Body body, Tell tell) noexcept {
  try {
    return body();
  } catch (const MPIError& error) {
    return error.reported ? error.code : tell(error.code);
  } catch (const std::bad_alloc&) {
    return tell(MPI_ERR_NO_MEM);
  } catch (...) {
    return tell(MPI_ERR_INTERN);
  }
}

/// Where the handler is that of calls without a communicator.
template <class Body>
int returning(Body body, const char* call = __builtin_FUNCTION()) noexcept {
  return told(body, [&](int code) { return report(code, call); });
}

/// The same of a body that returns nothing.
template <class Body>
int guarded(Body body, const char* call = __builtin_FUNCTION()) noexcept {
  const auto run = [&] {
    body();
    return MPI_SUCCESS;
  };
  return returning(run, call);
}

}  // namespace plait::mpi
