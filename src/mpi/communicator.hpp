// Errors of calls on a communicator, and handles of messages.
#pragma once

#include <mpi.h>

#include "mpi/error.hpp"
#include "mpi/handle.hpp"
#include "p2p/handle_bits.hpp"
#include "p2p/message.hpp"

namespace plait::mpi {

/// Tells the communicator's error handler; that of calls without one for MPI_COMM_NULL.
inline int report_on(MPI_Comm comm, int code) noexcept {
  if (code != MPI_SUCCESS) [[unlikely]]
    PMPI_Comm_call_errhandler(comm == MPI_COMM_NULL ? default_comm() : comm, code);
  return code;
}
inline int report_on(std::uint64_t comm, int code) noexcept {
  return report_on(comm ? p2p::from_bits<MPI_Comm>(comm) : MPI_COMM_NULL, code);
}

/// Runs a body that returns an error; what it throws becomes one.
template <class Body>
int on_returning(MPI_Comm comm, Body body) noexcept {
  try {
    return report_on(comm, body());
  } catch (const MPIError& error) {
    return error.reported ? error.code : report_on(comm, error.code);
  } catch (const std::bad_alloc&) {
    return report_on(comm, MPI_ERR_NO_MEM);
  } catch (...) {
    return report_on(comm, MPI_ERR_INTERN);
  }
}

template <class Body>
int on(MPI_Comm comm, Body body) noexcept {
  return on_returning(comm, [&] {
    body();
    return MPI_SUCCESS;
  });
}

/// A handle for a matched message; that of MPI_PROC_NULL is the MPI's own.
inline MPI_Message message_handle(const Request& r) noexcept {
  return p2p::is_message(r) ? HandleBits<MPI_Message>::handle(r) : MPI_MESSAGE_NO_PROC;
}
inline Request* our_message(MPI_Message h) noexcept {
  return HandleBits<MPI_Message>::ours(h) ? &HandleBits<MPI_Message>::request(h) : nullptr;
}

}  // namespace plait::mpi
