// Persistent sends and receives, not started yet.
#pragma once

#include <mpi.h>

#include "lane/request.hpp"
#include "p2p/communicator.hpp"
#include "p2p/envelope.hpp"

namespace plait::p2p {

[[nodiscard]] Request& send_init(Communicator& c, int local, const void* buffer, MPI_Count count, MPI_Datatype type, const Envelope& to,
                                 Mode mode);
[[nodiscard]] Request& receive_init(Communicator& c, int local, void* buffer, MPI_Count count, MPI_Datatype type, const Envelope& from);

}  // namespace plait::p2p
