// Sends and receives.
#include "p2p/message.hpp"

#include "lane/eager.hpp"
#include "lane/endpoint.hpp"
#include "p2p/start.hpp"
#include "transport/packets.hpp"

namespace plait::p2p {

using lane::Endpoint;
using lane::EndpointGuard;
using lane::Operation;

namespace {

/// The whole of a small send that finds room: no operation is made.
bool send_at_once(Communicator& c, LocalEndpoint& local, const void* buffer, MPI_Count count, MPI_Datatype type, const Envelope& to,
                  Mode mode) {
  const int size = plain_size(type);
  const auto elements = static_cast<std::uint64_t>(count);
  if (mode == Mode::synchronous || size < 0 || count < 0 || !lane::fits_cell(elements, static_cast<std::uint64_t>(size))) return false;
  const std::uint32_t peer = destination(c, to);
  lane::LaneOut& lane = c.lane(local, peer);
  return Endpoint::send_now(lane, c.peers[peer].context, local.number, to.tag, buffer, elements * static_cast<std::uint64_t>(size));
}

}  // namespace

Request& start_send(Communicator& c, LocalEndpoint& local, const void* buffer, MPI_Count count, MPI_Datatype type, const Envelope& to,
                    Mode mode) {
  if (to.rank == MPI_PROC_NULL) {
    check_null(count, type, to.tag, false);
    return completed_request();
  }
  if (send_at_once(c, local, buffer, count, type, to, mode)) return completed_request();
  Operation& o = make_send(c, local, buffer, count, type, to, mode);
  if (mode == Mode::buffered) take_data(o);
  local.endpoint->start_send(o);
  if (o.complete.load(std::memory_order_relaxed)) {
    local.endpoint->retire(o);
    return completed_request();
  }
  if (mode != Mode::buffered) return o;
  local.endpoint->disown(o);  // it is complete for the program; the copy goes when it can
  return completed_request();
}

void nudge_network() {
  if (transport::Network* const n = transport::network()) n->nudge();
}

namespace {

Request& start_send(Communicator& c, int local_index, const void* buffer, MPI_Count count, MPI_Datatype type, const Envelope& to,
                    Mode mode) {
  LocalEndpoint& local = local_endpoint(c, local_index);
  const EndpointGuard guard(*local.endpoint);
  return start_send(c, local, buffer, count, type, to, mode);
}

}  // namespace

Request& isend(Communicator& c, int local, const void* buffer, MPI_Count count, MPI_Datatype type, const Envelope& to, Mode mode) {
  Request& r = start_send(c, local, buffer, count, type, to, mode);
  nudge_network();
  return r;
}

void send(Communicator& c, int local, const void* buffer, MPI_Count count, MPI_Datatype type, const Envelope& to, Mode mode, Call call) {
  Request& r = start_send(c, local, buffer, count, type, to, mode);
  transport::flush_network();
  if (Operation* const o = as_operation(r)) static_cast<void>(wait(*o, MPI_STATUS_IGNORE, call));
}

// ---- receiving

Request& ireceive(Communicator& c, int local_index, void* buffer, MPI_Count count, MPI_Datatype type, const Envelope& from) {
  LocalEndpoint& local = local_endpoint(c, local_index);
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
