// A send and a receive in one call.
#pragma once

#include <mpi.h>

#include "lane/request.hpp"
#include "p2p/communicator.hpp"
#include "p2p/envelope.hpp"

namespace plait::p2p {

/// A send and a receive at once. `replace`: the send's data is taken before the receive may write.
struct Exchange {
  const void* send_buffer;
  MPI_Count send_count;
  MPI_Datatype send_type;
  Envelope to;
  void* receive_buffer;
  MPI_Count receive_count;
  MPI_Datatype receive_type;
  Envelope from;
  bool replace;
};
[[nodiscard]] int send_receive(Communicator& c, const Exchange& exchange, MPI_Status* status, Call call);
[[nodiscard]] Request& isend_receive(Communicator& c, const Exchange& exchange);

}  // namespace plait::p2p
