// Thread communicators behind the handles of exported calls.
#pragma once

#include <mpi.h>

#include "mpi/communicator.hpp"
#include "p2p/communicator.hpp"
#include "threadcomm/threadcomm.hpp"

namespace plait::mpi {

/// Where there are communicators of plait's. Not inline: every call on a communicator asks, and most end with the question below.
[[gnu::noinline]] inline p2p::Communicator* threads_of(MPI_Comm comm) noexcept {
  p2p::Communicator* const c = p2p::find_communicator(comm);
  return c && threadcomm::is_threadcomm(*c) ? c : nullptr;
}

/// Null for other communicators than those of threads.
[[gnu::always_inline]] inline p2p::Communicator* threads(MPI_Comm comm) noexcept {
  return p2p::communicators_exist() ? threads_of(comm) : nullptr;
}

/// What thread communicators do not have: tells the error handler of one. MPI_SUCCESS for others.
inline int refused(MPI_Comm comm, const char* call = __builtin_FUNCTION()) noexcept {
  return threads(comm) ? report_on(comm, MPI_ERR_UNSUPPORTED_OPERATION, call) : MPI_SUCCESS;
}

/// For ranks that are in none of those that were made: MPI_COMM_NULL.
inline MPI_Comm handle_of(const threadcomm::Rank* rank) noexcept { return rank ? rank->handle : MPI_COMM_NULL; }

}  // namespace plait::mpi
