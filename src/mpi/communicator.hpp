// Errors of calls on a communicator, and handles of messages.
#pragma once

#include <mpi.h>

#include "mpi/error.hpp"
#include "mpi/handle.hpp"
#include "p2p/handle_bits.hpp"
#include "p2p/message.hpp"
#include "p2p/probe.hpp"

namespace plait::mpi {

/// Tells the communicator's error handler; that of calls without one for MPI_COMM_NULL.
inline int report_on(MPI_Comm comm, int code, const char* call = __builtin_FUNCTION()) noexcept {
  if (code == MPI_SUCCESS) [[likely]]
    return code;
  if (comm == MPI_COMM_NULL) return report(code, call);
  const MpiLock lock;
  name_if_fatal(comm, true, code, call);
  PMPI_Comm_call_errhandler(comm, code);
  return code;
}
/// A communicator by its number, which is 0 for none.
inline MPI_Comm comm_of(std::uint64_t number) noexcept { return number ? p2p::from_bits<MPI_Comm>(number) : MPI_COMM_NULL; }
inline int report_on(std::uint64_t comm, int code, const char* call = __builtin_FUNCTION()) noexcept {
  return report_on(comm_of(comm), code, call);
}

/// Runs a body that returns an error; what it throws becomes one.
template <class Body>
int on_returning(MPI_Comm comm, Body body, const char* call = __builtin_FUNCTION()) noexcept {
  const auto tell = [&](int code) { return report_on(comm, code, call); };
  return told([&] { return tell(body()); }, tell);
}

template <class Body>
int on(MPI_Comm comm, Body body, const char* call = __builtin_FUNCTION()) noexcept {
  const auto run = [&] {
    body();
    return MPI_SUCCESS;
  };
  return on_returning(comm, run, call);
}

/// A handle for a matched message; that of MPI_PROC_NULL is the MPI's own.
inline MPI_Message message_handle(const Request& r) noexcept {
  return p2p::is_message(r) ? HandleBits<MPI_Message>::handle(r) : MPI_MESSAGE_NO_PROC;
}
inline Request* our_message(MPI_Message h) noexcept {
  return HandleBits<MPI_Message>::ours(h) ? &HandleBits<MPI_Message>::request(h) : nullptr;
}
/// MPI_COMM_NULL where it is no message any more.
inline MPI_Comm communicator_of(const Request& message) noexcept { return comm_of(p2p::communicator_of(message)); }

/// To the handler that a call is given for what it was to make. With sessions alone the code is only returned.
inline int report_to(MPI_Errhandler handler, int code, const char* call = __builtin_FUNCTION()) noexcept {
  int initialized = 0;
  if (PMPI_Initialized(&initialized) != MPI_SUCCESS || !initialized) return code;
  const MpiLock lock;
  const auto tell = [&] {
    MPI_Comm comm = p2p::make_local_handle(handler);
    name_if_fatal(comm, false, code, call);
    PMPI_Comm_call_errhandler(comm, code);
    PMPI_Comm_free(&comm);
    return code;
  };
  return told(tell, [&](int) { return code; });
}

}  // namespace plait::mpi
