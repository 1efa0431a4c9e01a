// Sends and receives.
#include "p2p/message.hpp"

#include "lane/endpoint.hpp"
#include "p2p/start.hpp"
#include "transport/packets.hpp"

namespace plait::p2p {

using lane::EndpointGuard;
using lane::Operation;

namespace {

Request& start_from(Communicator& c, int local_index, const void* buffer, MPI_Count count, MPI_Datatype type, const Envelope& to,
                    Mode mode) {
  LocalEndpoint& local = local_endpoint(c, local_index, to);
  const EndpointGuard guard(*local.endpoint);
  return start_send(c, local, buffer, count, type, to, mode);
}

}  // namespace

Request& isend(Communicator& c, int local, const void* buffer, MPI_Count count, MPI_Datatype type, const Envelope& to, Mode mode) {
  Request& r = start_from(c, local, buffer, count, type, to, mode);
  transport::nudge_network();
  return r;
}

int send(Communicator& c, int local, const void* buffer, MPI_Count count, MPI_Datatype type, const Envelope& to, Mode mode, Call call) {
  Request& r = start_from(c, local, buffer, count, type, to, mode);
  transport::flush_network();
  Operation* const o = as_operation(r);
  return o ? wait(*o, MPI_STATUS_IGNORE, call) : MPI_SUCCESS;
}

// ---- receiving

Request& ireceive(Communicator& c, int local_index, void* buffer, MPI_Count count, MPI_Datatype type, const Envelope& from) {
  LocalEndpoint& local = local_endpoint(c, local_index, from);
  const EndpointGuard guard(*local.endpoint);
  Operation& o = make_receive(c, local, buffer, count, type, from);
  if (!o.nobody) [[likely]]
    local.endpoint->start_receive(o);
  return o;
}

int receive(Communicator& c, int local, void* buffer, MPI_Count count, MPI_Datatype type, const Envelope& from, MPI_Status* status,
            Call call) {
  return wait(as_operation_of(ireceive(c, local, buffer, count, type, from)), status, call);
}

}  // namespace plait::p2p
