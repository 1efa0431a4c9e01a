// Calls on a communicator of a queue: MPI_Send and its like there put the message on the queue.
#pragma once

#include <mpi.h>

#include "mpi/communicator.hpp"
#include "p2p/envelope.hpp"
#include "queue/communicator.hpp"

namespace plait::mpi {

/// An operation that is on a queue has failed. By a thread of plait's, which can tell only a handler that ends the job.
void tell_if_fatal(std::uint64_t communicator, int error, const char* call) noexcept;

int enqueue_send(queue::Communicator& c, const queue::Message& message, const char* call);
int enqueue_isend(queue::Communicator& c, const queue::Message& message, MPI_Request* request, const char* call);
int enqueue_receive(queue::Communicator& c, const queue::Message& message, MPI_Status* status, const char* call);
int enqueue_ireceive(queue::Communicator& c, const queue::Message& message, MPI_Request* request, const char* call);

}  // namespace plait::mpi
