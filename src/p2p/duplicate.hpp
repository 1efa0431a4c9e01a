// MPI_Comm_idup of a stream communicator: a request for two operations of the MPI's that are started at once, the duplicate of
// what lies underneath and the exchange of the endpoints' numbers for it. Everything else is as in the original, but that an ordinary
// communicator's duplicate has endpoints of its own. Since both are the MPI's from the start, no process waits for another's program to
// look at its request. Where a communicator's duplicates have to be made one after the other (Open MPI with several threads), any call
// that blocks starts the next.
#pragma once

#include <mpi.h>

#include <functional>

#include "lane/request.hpp"
#include "p2p/communicator.hpp"

namespace plait::p2p {

/// The call of the MPI's that starts to duplicate a communicator; returns its error.
using StartNative = std::function<int(MPI_Comm original, MPI_Comm* made, MPI_Request* request)>;

/// Collective; does not wait. `made` is written when the request completes. `start` may be called later, by any thread. Throws MPIError,
/// std::bad_alloc.
[[nodiscard]] Request& start_duplicate(const Communicator& original, const StartNative& start, MPI_Comm* made);

/// Before a collective call that makes a communicator of `original`, or frees it: waits for duplicates that have not started, since all
/// processes have to come to these in one order. Cheap where there are none.
void wait_until_made(MPI_Comm original) noexcept;

}  // namespace plait::p2p
