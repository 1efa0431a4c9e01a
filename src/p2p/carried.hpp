// Ordinary communicators whose point-to-point messages plait carries: with PLAIT_COMMUNICATORS=all every intracommunicator of processes
// of MPI_COMM_WORLD, each with an endpoint of its own in each process. Collective calls, attributes and all else stay the MPI's.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "lane/endpoint.hpp"
#include "p2p/communicator.hpp"

namespace plait::p2p {

/// From now on communicators are carried, MPI_COMM_WORLD and MPI_COMM_SELF first. Collective over MPI_COMM_WORLD, when the MPI has been
/// initialized. `threads`: several may be in a call at once. Where one process has no shared memory none carries any.
void carry_all(bool threads) noexcept;
[[nodiscard]] bool carries_all() noexcept;

/// A communicator that the MPI has made: plait carries it from now on, if it is one of those. Collective over it. Any thread.
void carry(MPI_Comm made) noexcept;

/// What a process tells the others of its part in a communicator that is to be carried.
struct Ticket {
  std::uint64_t endpoint;  ///< its offset in the process's region
  std::uint32_t context;
  std::uint32_t ok;  ///< 0: it has no memory
};
/// An endpoint for one. Throws as below.
[[nodiscard]] lane::Endpoint& take_carried_endpoint();
/// This process's part, and what it tells the others. Throws std::bad_alloc, std::system_error.
[[nodiscard]] Draft begin_carrying(int rank, int size, Ticket* mine);
/// All have told: `processes` by rank in MPI_COMM_WORLD. Then `handle` may be entered.
void end_carrying(Communicator& communicator, MPI_Comm handle, std::span<const Ticket> all, std::span<const int> processes) noexcept;

}  // namespace plait::p2p
