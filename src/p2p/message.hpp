// Point-to-point messages on communicators of plait's, between the exported calls and the endpoints. Arguments are checked here.
// Functions throw MPIError, std::bad_alloc.
//
// Sends and receives are here, the rest beside it: persistent.hpp, exchange.hpp (both ways at once), probe.hpp. The requests made
// are completed by operation_request.hpp and waiting.hpp.
#pragma once

#include <mpi.h>

#include "p2p/communicator.hpp"
#include "p2p/envelope.hpp"
#include "p2p/operation_request.hpp"
#include "p2p/waiting.hpp"

namespace plait::p2p {

/// Returns an error of the message; throws those of its arguments.
[[nodiscard]] int send(Communicator& c, int local, const void* buffer, MPI_Count count, MPI_Datatype type, const Envelope& to, Mode mode,
                       Call call);
[[nodiscard]] Request& isend(Communicator& c, int local, const void* buffer, MPI_Count count, MPI_Datatype type, const Envelope& to,
                             Mode mode);
/// The error is that of the message, truncation say.
[[nodiscard]] int receive(Communicator& c, int local, void* buffer, MPI_Count count, MPI_Datatype type, const Envelope& from,
                          MPI_Status* status, Call call);
[[nodiscard]] Request& ireceive(Communicator& c, int local, void* buffer, MPI_Count count, MPI_Datatype type, const Envelope& from);

}  // namespace plait::p2p
