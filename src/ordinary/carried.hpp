// Ordinary communicators that plait carries: with PLAIT_COMMUNICATORS=all every intracommunicator of processes of MPI_COMM_WORLD, each with
// an endpoint of its own in each process. Its point-to-point messages are plait's, and within a node its collective calls but those of
// neighbours and the persistent ones; of one that spans nodes some calls are plait's in the nodes and the MPI's between them
// (collective/leaders.hpp). Attributes, and all else, stay the MPI's.
#pragma once

#include <mpi.h>

#include "p2p/communicator.hpp"

namespace plait::ordinary {

/// From now on communicators are carried, MPI_COMM_WORLD and MPI_COMM_SELF first. Collective over MPI_COMM_WORLD, when the MPI has been
/// initialized. `threads`: several may be in a call at once. Where one process has no shared memory none carries any.
void carry_all(bool threads) noexcept;

/// A communicator that the MPI has made: plait carries it from now on, if it is one of those. Collective over it. Any thread. Of the hints
/// in `info` mpi_assert_no_any_tag is heeded, if all processes give it: several endpoints share out its messages by their tags, so that
/// threads seldom meet. With mpi_assert_no_any_source it is by sender and receiver, too.
void carry(MPI_Comm made, MPI_Info info = MPI_INFO_NULL) noexcept;

/// Before the MPI is finalized, and with it MPI_COMM_WORLD.
void end_world() noexcept;

/// The program frees one that has collective calls of plait's; before the MPI does.
void free_carried(p2p::Communicator& c) noexcept;

}  // namespace plait::ordinary
