#include "p2p/persistent.hpp"

#include <new>

#include "lane/endpoint.hpp"
#include "p2p/operation_request.hpp"
#include "p2p/start.hpp"

namespace plait::p2p {

using lane::Endpoint;
using lane::EndpointGuard;
using lane::Error;
using lane::Operation;

namespace {

/// The program's copy of the data goes its own way; the persistent request is complete.
void start_buffered(Operation& persistent) {
  Endpoint& endpoint = *persistent.endpoint;
  Operation& once = make_operation(endpoint, *persistent.context);
  once.become_send(*persistent.out, persistent.remote_context, persistent.source, persistent.tag, persistent.to_rank);
  once.memory = persistent.memory;
  take_data(once);
  endpoint.disown(once);
  endpoint.start_send(once);
  persistent.complete.store(true, std::memory_order_relaxed);
}

Request& inactive(Operation& o) {
  o.persistent = true;
  o.active = false;
  return o;
}

}  // namespace

int start_again(Request& r) {
  Operation& o = as_operation_of(r);
  if (!o.persistent || o.active) return MPI_ERR_REQUEST;
  const EndpointGuard guard(*o.endpoint);
  o.active = true;
  o.error = Error::none;
  o.received = 0;
  o.complete.store(o.nobody, std::memory_order_relaxed);
  if (o.nobody) return MPI_SUCCESS;
  if (o.buffered) {
    try {
      start_buffered(o);
    } catch (const std::bad_alloc&) {
      o.active = false;
      return MPI_ERR_NO_MEM;
    }
  } else if (o.is_send) {
    o.endpoint->start_send(o);
  } else {
    o.endpoint->start_receive(o);
  }
  return MPI_SUCCESS;
}

Request& send_init(Communicator& c, int local_index, const void* buffer, MPI_Count count, MPI_Datatype type, const Envelope& to,
                   Mode mode) {
  LocalEndpoint& local = local_endpoint(c, local_index, to);
  const EndpointGuard guard(*local.endpoint);
  if (to.rank == MPI_PROC_NULL) {
    check_null(count, type, to.tag, false);
    return inactive(make_nobody(local, true));
  }
  Operation& o = make_send(c, local, buffer, count, type, to, mode);
  o.buffered = mode == Mode::buffered;
  return inactive(o);
}

Request& receive_init(Communicator& c, int local_index, void* buffer, MPI_Count count, MPI_Datatype type, const Envelope& from) {
  LocalEndpoint& local = local_endpoint(c, local_index, from);
  const EndpointGuard guard(*local.endpoint);
  return inactive(make_receive(c, local, buffer, count, type, from));
}

}  // namespace plait::p2p
