// Persistent sends and receives, not started yet.
#pragma once

#include <mpi.h>

#include "lane/request.hpp"
#include "p2p/communicator.hpp"
#include "p2p/envelope.hpp"

namespace plait::p2p {

[[nodiscard]] Request& send_init(Communicator& c, int local, const void* buffer, MPI_Count count, MPI_Datatype type, const Envelope& to,
                                 Mode mode);
/// Starts one again, or for the first time. Returns an error.
[[nodiscard]] int start_again(Request& request);
[[nodiscard]] Request& receive_init(Communicator& c, int local, void* buffer, MPI_Count count, MPI_Datatype type, const Envelope& from);

}  // namespace plait::p2p
