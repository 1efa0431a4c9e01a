// Ordinary communicators whose point-to-point messages plait carries: with PLAIT_COMMUNICATORS=all every intracommunicator of processes
// of MPI_COMM_WORLD, each with an endpoint of its own in each process. Collective calls, attributes and all else stay the MPI's.
#pragma once

#include <mpi.h>

#include <cstdint>

#include "lane/endpoint.hpp"

namespace plait::p2p {

/// From now on communicators are carried, MPI_COMM_WORLD and MPI_COMM_SELF first. Collective over MPI_COMM_WORLD, when the MPI has been
/// initialized. `threads`: several may be in a call at once. Where one process has no shared memory none carries any.
void carry_all(bool threads) noexcept;

/// A communicator that the MPI has made: plait carries it from now on, if it is one of those. Collective over it. Any thread.
void carry(MPI_Comm made) noexcept;

/// What a process tells the others of its part in a communicator that is to be carried.
struct Ticket {
  std::uint64_t endpoint;  ///< its offset in the process's region
  std::uint32_t context;
  std::uint32_t ok;  ///< 0: it has no memory
};
/// An endpoint for one. Throws std::bad_alloc, std::system_error.
[[nodiscard]] lane::Endpoint& take_carried_endpoint();

}  // namespace plait::p2p
