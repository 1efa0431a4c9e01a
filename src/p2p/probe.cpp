#include "p2p/probe.hpp"

#include <new>
#include <utility>

#include "lane/endpoint.hpp"
#include "p2p/start.hpp"
#include "p2p/status.hpp"
#include "p2p/wait_at.hpp"
#include "p2p/waiting.hpp"
#include "transport/packets.hpp"

namespace plait::p2p {

using lane::Endpoint;
using lane::EndpointGuard;
using lane::Operation;
using lane::Unexpected;

namespace {

/// A message that a matched probe has taken out.
struct Message : Request {
  Unexpected* message = nullptr;
  lane::MatchContext* context = nullptr;
};

constexpr RequestKind kMessage{};

Unexpected* look(LocalEndpoint& local, const Sources& s, int tag) noexcept {
  Unexpected* found = local.context->find(s.first, s.end, tag_of(tag));
  if (!found) {
    static_cast<void>(local.endpoint->progress());
    found = local.context->find(s.first, s.end, tag_of(tag));
    static_cast<void>(transport::drive_network());  // for the next look
  }
  return found;
}

void tell_message(const LocalEndpoint& local, const Unexpected& u, MPI_Status* status) noexcept {
  if (wants(status)) set_status(status, rank_of(*local.context, u.source), u.tag, u.bytes, false);
}

void tell_nobody(MPI_Status* status) noexcept {
  if (wants(status)) set_status(status, MPI_PROC_NULL, MPI_ANY_TAG, 0, false);
}

Request& take_out(LocalEndpoint& local, Unexpected& u, MPI_Status* status) {
  auto* const m = request::make<Message>();
  if (!m) throw std::bad_alloc();
  tell_message(local, u, status);
  local.context->take(u);
  m->kind = &kMessage;
  m->message = &u;
  m->context = local.context;
  ++local.context->operations;
  return *m;
}

}  // namespace

bool is_message(const Request& r) noexcept { return r.kind == &kMessage; }

std::uint64_t communicator_of(const Request& r) noexcept { return is_message(r) ? static_cast<const Message&>(r).context->handle : 0; }

bool probe(Communicator& c, int local_index, const Envelope& from, MPI_Status* status) {
  LocalEndpoint& local = local_endpoint(c, local_index, from);
  if (from.rank == MPI_PROC_NULL) {
    tell_nobody(status);
    return true;
  }
  const Sources s = sources(c, from);
  const EndpointGuard guard(*local.endpoint);
  const Unexpected* const u = look(local, s, from.tag);
  if (u) tell_message(local, *u, status);
  return u != nullptr;
}

void wait_probe(Communicator& c, int local_index, const Envelope& from, MPI_Status* status, Call call) {
  if (probe(c, local_index, from, status)) return;
  LocalEndpoint& local = local_endpoint(c, local_index, from);
  wait_at(*local.endpoint, call, [&] { return probe(c, local_index, from, status); }, Hang(*local.context, from));
}

Request* match(Communicator& c, int local_index, const Envelope& from, MPI_Status* status) {
  LocalEndpoint& local = local_endpoint(c, local_index, from);
  if (from.rank == MPI_PROC_NULL) {
    tell_nobody(status);
    return &completed_request();
  }
  const Sources s = sources(c, from);
  const EndpointGuard guard(*local.endpoint);
  Unexpected* const u = look(local, s, from.tag);
  return u ? &take_out(local, *u, status) : nullptr;
}

Request& wait_match(Communicator& c, int local_index, const Envelope& from, MPI_Status* status, Call call) {
  LocalEndpoint& local = local_endpoint(c, local_index, from);
  Request* found = match(c, local_index, from, status);
  if (!found) {
    const auto matched = [&] { return (found = match(c, local_index, from, status)) != nullptr; };
    wait_at(*local.endpoint, call, matched, Hang(*local.context, from));
  }
  return *found;
}

Request& ireceive_matched(Request& r, void* buffer, MPI_Count count, MPI_Datatype type) {
  auto& m = static_cast<Message&>(r);
  lane::MatchContext& context = *m.context;
  Endpoint& endpoint = *context.endpoint;
  const EndpointGuard guard(endpoint);
  lane::Memory memory = message_memory(buffer, count, type);
  Operation& o = make_operation(endpoint, context);
  --context.operations;  // the message's place among them is now this one's
  o.become_receive(m.message->source, m.message->source + 1, m.message->tag);
  o.memory = std::move(memory);
  Unexpected& message = *m.message;
  request::destroy(m);
  endpoint.start_receive(o, message);
  return o;
}

int receive_matched(Request& message, void* buffer, MPI_Count count, MPI_Datatype type, MPI_Status* status, Call call) {
  return wait(as_operation_of(ireceive_matched(message, buffer, count, type)), status, call);
}

}  // namespace plait::p2p
