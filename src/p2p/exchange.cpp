#include "p2p/exchange.hpp"

#include <new>
#include <string>

#include "lane/endpoint.hpp"
#include "p2p/hang.hpp"
#include "p2p/start.hpp"
#include "p2p/waiting.hpp"
#include "transport/network.hpp"

namespace plait::p2p {

using lane::EndpointGuard;
using lane::Operation;

namespace {

/// A send and a receive behind one request.
struct Pair : Request {
  Request* send = nullptr;
  Operation* receive = nullptr;
};

Pair& pair(Request& r) noexcept { return static_cast<Pair&>(r); }
const Pair& pair(const Request& r) noexcept { return static_cast<const Pair&>(r); }

int retire_pair(Request& r, void* status) noexcept {
  Pair& p = pair(r);
  const int sent = p.send->kind->retire(*p.send, nullptr);
  const int received = retire(*p.receive, static_cast<MPI_Status*>(status));
  request::destroy(p);
  return received != MPI_SUCCESS ? received : sent;
}

constexpr RequestKind kPair{
    .progress =
        [](Request& r, Round& round) {
          const Operation* const send = as_operation(*pair(r).send);
          const bool apart = send && send->endpoint != pair(r).receive->endpoint;
          const bool moved = apart && pair(r).send->kind->progress(*pair(r).send, round);
          return kOperation.progress(*pair(r).receive, round) || moved;
        },
    .done = [](const Request& r) { return pair(r).send->kind->done(*pair(r).send) && kOperation.done(*pair(r).receive); },
    .retire = retire_pair,
    .peek = [](Request& r, void* status) { return kOperation.peek(*pair(r).receive, status); },
    .free =
        [](Request& r) {
          Pair& p = pair(r);
          p.send->kind->free(*p.send);
          kOperation.free(*p.receive);
          request::destroy(p);
          return MPI_SUCCESS;
        },
    .cancel = [](Request&) { return MPI_SUCCESS; },
    .waiter = [](Request& r) { return kOperation.waiter(*pair(r).receive); },
    .patience = &progress::kForMessage,
    .communicator = [](const Request& r) { return pair(r).receive->context->handle; },
    .describe = [](const Request& r, std::string& text) { describe(*pair(r).receive, text); },
};

struct Started {
  Request* send;
  Operation* receive;
};

/// The same for one whose send and receive have different slots. Two endpoints are never locked at once: another thread may take them in
/// the other order.
Started start_apart(Communicator& c, const Exchange& x, LocalEndpoint& out, LocalEndpoint& in) {
  const auto begin_receive = [&]() -> Operation& {
    const EndpointGuard guard(*in.endpoint);
    return make_receive(c, in, x.receive_buffer, x.receive_count, x.receive_type, x.from);
  };
  Operation& receive = begin_receive();
  Request* send = nullptr;
  try {
    const EndpointGuard guard(*out.endpoint);
    send = &start_send(c, out, x.send_buffer, x.send_count, x.send_type, x.to, x.replace ? Mode::buffered : Mode::standard);
  } catch (...) {
    const EndpointGuard guard(*in.endpoint);
    in.endpoint->retire(receive);
    throw;
  }
  if (!receive.nobody) {
    const EndpointGuard guard(*in.endpoint);
    in.endpoint->start_receive(receive);
  }
  transport::nudge_network();
  return {send, &receive};
}

/// The arguments of both are checked before anything of either is begun, and nothing can fail once the send is.
Started start_exchange(Communicator& c, const Exchange& x) {
  LocalEndpoint& local = local_endpoint(c, 0, x.from);
  if (LocalEndpoint& out = local_endpoint(c, 0, x.to); &out != &local) [[unlikely]]
    return start_apart(c, x, out, local);
  Request* send = nullptr;
  Operation* receive = nullptr;
  {
    const EndpointGuard guard(*local.endpoint);
    receive = &make_receive(c, local, x.receive_buffer, x.receive_count, x.receive_type, x.from);
    try {
      // With one buffer for both the data to send is copied.
      send = &start_send(c, local, x.send_buffer, x.send_count, x.send_type, x.to, x.replace ? Mode::buffered : Mode::standard);
    } catch (...) {
      local.endpoint->retire(*receive);
      throw;
    }
    if (!receive->nobody) local.endpoint->start_receive(*receive);
  }
  transport::nudge_network();
  return {send, receive};
}

}  // namespace

int send_receive(Communicator& c, const Exchange& x, MPI_Status* status, Call call) {
  const Started started = start_exchange(c, x);
  const int received = wait(*started.receive, status, call);
  Operation* const send = as_operation(*started.send);
  const int sent = send ? wait(*send, MPI_STATUS_IGNORE, call) : MPI_SUCCESS;
  return received != MPI_SUCCESS ? received : sent;
}

Request& isend_receive(Communicator& c, const Exchange& x) {
  auto* const p = request::make<Pair>();
  if (!p) throw std::bad_alloc();
  try {
    const Started started = start_exchange(c, x);
    p->kind = &kPair;
    p->send = started.send;
    p->receive = started.receive;
  } catch (...) {
    request::destroy(*p);
    throw;
  }
  return *p;
}

}  // namespace plait::p2p
