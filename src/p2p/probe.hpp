// Probes, and receives of messages that a probe has matched.
#pragma once

#include <mpi.h>

#include <cstdint>

#include "lane/request.hpp"
#include "p2p/communicator.hpp"
#include "p2p/envelope.hpp"

namespace plait::p2p {

/// Looks for a message; one round of progress.
[[nodiscard]] bool probe(Communicator& c, int local, const Envelope& from, MPI_Status* status);
void wait_probe(Communicator& c, int local, const Envelope& from, MPI_Status* status, Call call);
/// A message taken out of the queues: to be received once. Null where `probe` would say no; `completed_request()` for
/// MPI_PROC_NULL.
[[nodiscard]] Request* match(Communicator& c, int local, const Envelope& from, MPI_Status* status);
[[nodiscard]] Request& wait_match(Communicator& c, int local, const Envelope& from, MPI_Status* status, Call call);
[[nodiscard]] bool is_message(const Request& r) noexcept;
/// The communicator's handle, whose error handler is told; 0 where it is no message, or one that has been received.
[[nodiscard]] std::uint64_t communicator_of(const Request& message) noexcept;
/// The message is used up.
[[nodiscard]] int receive_matched(Request& message, void* buffer, MPI_Count count, MPI_Datatype type, MPI_Status* status, Call call);
[[nodiscard]] Request& ireceive_matched(Request& message, void* buffer, MPI_Count count, MPI_Datatype type);

}  // namespace plait::p2p
