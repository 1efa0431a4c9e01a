// What a call on many requests returns.
#pragma once

#include <mpi.h>

#include <cstdint>

#include "mpi/communicator.hpp"
#include "transport/network.hpp"

namespace plait::mpi {

/// For requests of plait's: whether an error handler has to be told, and which.
struct Outcome {
  int native = MPI_SUCCESS;  ///< of the MPI's call, which has told the handler itself
  bool failed = false;       ///< one of plait's
  std::uint64_t comm = 0;    ///< of the first of them that did

  /// One has failed.
  void take(std::uint64_t its_comm) noexcept {
    if (failed) return;
    failed = true;
    comm = its_comm;
  }
  /// Also sends what is held back, as the answer to a synchronous send: the program may make no other call.
  int end(const char* call) const noexcept {
    transport::flush_network();
    return native != MPI_SUCCESS ? native : failed ? report_on(comm, MPI_ERR_IN_STATUS, call) : MPI_SUCCESS;
  }
};

}  // namespace plait::mpi
