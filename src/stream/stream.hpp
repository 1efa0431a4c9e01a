// Streams: serial contexts of the program's, each with an endpoint. Any thread.
#pragma once

#include <mpi.h>

#include <span>

#include "lane/endpoint.hpp"
#include "p2p/communicator.hpp"
#include "queue/queue.hpp"

namespace plait::stream {

struct Stream {
  int handle;
  lane::Endpoint* endpoint;
  queue::QueuePointer queue;  ///< that it stands for; null: a context of the program's threads
};

/// Handles are numbers that are not used again. Throws std::bad_alloc, std::system_error.
[[nodiscard]] Stream& create(queue::QueuePointer queue = nullptr);
/// Null for what is no stream (any more).
[[nodiscard]] Stream* find(int handle) noexcept;
/// Its endpoint is used again. No communicator is left at it.
void destroy(Stream& stream) noexcept;

/// Collective over `parent`. Each process brings its streams, by handle; MPIX_STREAM_NULL for none. Returns the MPI's error
/// code, which it has reported; where all processes bring no stream, the new communicator is an ordinary one.
/// Throws MPIError, std::bad_alloc, std::system_error: then on all processes.
[[nodiscard]] MPI_Comm create_communicator(MPI_Comm parent, std::span<const int> streams, bool multiplex);

}  // namespace plait::stream
