#include "p2p/message.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "p2p/hang.hpp"
#include "p2p/types.hpp"
#include "transport/packets.hpp"

namespace plait::p2p {

using lane::Endpoint;
using lane::EndpointGuard;
using lane::Error;
using lane::Operation;
using lane::Unexpected;

namespace {

int code_of(Error error) noexcept {
  switch (error) {
    case Error::truncated:
      return MPI_ERR_TRUNCATE;
    case Error::unreachable:
      return MPI_ERR_OTHER;
    case Error::no_memory:
      return MPI_ERR_NO_MEM;
    default:
      return MPI_SUCCESS;
  }
}

/// All but the error.
void set_status(MPI_Status* status, int source, int tag, std::uint64_t bytes, bool cancelled) noexcept {
  const int error = status->MPI_ERROR;
  PMPI_Status_set_elements_x(status, MPI_BYTE, static_cast<MPI_Count>(bytes));
  PMPI_Status_set_cancelled(status, cancelled ? 1 : 0);
  status->MPI_SOURCE = source;
  status->MPI_TAG = tag;
  status->MPI_ERROR = error;
}

bool wants(const MPI_Status* status) noexcept { return status && status != MPI_STATUS_IGNORE; }

int rank_of(const lane::MatchContext& context, std::uint32_t source) noexcept {
  return static_cast<int>(context.rank_of ? (*context.rank_of)[source] : source);
}

void set_status_of(const Operation& o, void* status) noexcept {
  auto* const to = static_cast<MPI_Status*>(status);
  if (!wants(to)) return;
  if (o.nobody && !o.is_send) {
    set_status(to, MPI_PROC_NULL, MPI_ANY_TAG, 0, false);
  } else if (o.is_send) {
    set_empty(to);
  } else if (o.error == Error::cancelled) {
    set_status(to, MPI_ANY_SOURCE, MPI_ANY_TAG, 0, true);
  } else {
    set_status(to, rank_of(*o.context, o.from), o.with_tag, o.received, false);
  }
}

// ---- the kinds of requests

Operation& operation(Request& r) noexcept { return static_cast<Operation&>(r); }
const Operation& operation(const Request& r) noexcept { return static_cast<const Operation&>(r); }

}  // namespace

int retire_any(Operation& o, MPI_Status* status) noexcept {
  if (o.persistent && !o.active) {
    set_empty(status);
    return MPI_SUCCESS;
  }
  set_status_of(o, status);
  const int error = code_of(o.error);
  if (o.persistent) {
    o.active = false;
    return error;
  }
  const EndpointGuard guard(*o.endpoint);
  o.endpoint->retire(o);
  return error;
}

namespace {

int free_request(Request& r) noexcept {
  Operation& o = operation(r);
  const EndpointGuard guard(*o.endpoint);
  if ((o.persistent && !o.active) || o.complete.load(std::memory_order_acquire)) {
    o.endpoint->retire(o);
  } else {
    o.endpoint->disown(o);
  }
  return MPI_SUCCESS;
}

/// Sends are not cancelled, which MPI allows.
int cancel(Request& r) noexcept {
  Operation& o = operation(r);
  const EndpointGuard guard(*o.endpoint);
  if (!o.is_send) o.endpoint->cancel(o);
  return MPI_SUCCESS;
}

int answer_empty(Request&, void* status) noexcept {
  set_empty(static_cast<MPI_Status*>(status));
  return MPI_SUCCESS;
}

int start(Request& r);

}  // namespace

constexpr RequestKind kOperation{
    .progress =
        [](Request& r, Round& round) {
          Operation& o = operation(r);
          bool moved = false;
          if (round.first(o.endpoint)) moved = progress(o);
          if (!std::exchange(round.driven, true)) moved |= transport::drive_network();
          return moved;
        },
    .done = [](const Request& r) { return !r.active || operation(r).complete.load(std::memory_order_acquire); },
    .retire = [](Request& r, void* status) { return retire(operation(r), static_cast<MPI_Status*>(status)); },
    .peek =
        [](Request& r, void* status) {
          if (r.active) {
            set_status_of(operation(r), status);
          } else {
            set_empty(static_cast<MPI_Status*>(status));
          }
          return r.active ? code_of(operation(r).error) : MPI_SUCCESS;
        },
    .free = free_request,
    .cancel = cancel,
    .block = nullptr,
    .waiter = [](Request& r) { return &operation(r).endpoint->waiter(); },
    .patience = &progress::kForMessage,
    .set_polled = nullptr,
    .start = start,
    .communicator = [](const Request& r) { return operation(r).context->handle; },
    .describe = [](const Request& r, std::string& text) { describe(operation(r), text); },
};

constexpr RequestKind kCompleted{
    .progress = [](Request&, Round&) { return false; },
    .done =
        [](const Request&) {
          transport::flush_network();
          return true;
        },
    .retire = answer_empty,
    .peek = answer_empty,
    .free = [](Request&) { return MPI_SUCCESS; },
    .cancel = [](Request&) { return MPI_SUCCESS; },
    .block = nullptr,
    .waiter = nullptr,
    .patience = &progress::kForMessage,
    .set_polled = nullptr,
    .start = nullptr,
    .communicator = [](const Request&) -> std::uint64_t { return 0; },
    .describe = [](const Request&, std::string& text) { text += "a message that has been sent"; },
};

namespace {

/// A message that a matched probe has taken out.
struct Message : Request {
  Unexpected* message = nullptr;
  lane::MatchContext* context = nullptr;
};

constexpr RequestKind kMessage{};

// ---- starting

LocalEndpoint& local_endpoint(Communicator& c, int index) {
  // Without any it is a thread communicator's, used by a thread that is no rank.
  if (index != 0 || c.locals.empty()) [[unlikely]]
    require(index >= 0 && static_cast<std::size_t>(index) < c.locals.size(), c.locals.empty() ? MPI_ERR_COMM : MPI_ERR_ARG);
  return c.locals[static_cast<std::size_t>(index)];
}

void check_tag(int tag, bool any) {
  require((tag >= 0 && tag <= tag_limit.load(std::memory_order_relaxed)) || (any && tag == MPI_ANY_TAG), MPI_ERR_TAG);
}

std::uint32_t destination(const Communicator& c, const Envelope& to) {
  require(to.rank >= 0 && to.rank < c.size, MPI_ERR_RANK);
  check_tag(to.tag, false);
  const int stream = to.stream == kAnyStream ? 0 : to.stream;
  require(stream >= 0 && static_cast<std::uint32_t>(stream) < c.streams_of(to.rank), MPI_ERR_ARG);
  return c.first[static_cast<std::size_t>(to.rank)] + static_cast<std::uint32_t>(stream);
}

struct Sources {
  std::uint32_t first, end;
};

Sources sources(const Communicator& c, const Envelope& from) {
  require((from.rank >= 0 && from.rank < c.size) || from.rank == MPI_ANY_SOURCE, MPI_ERR_RANK);
  check_tag(from.tag, true);
  if (from.rank == MPI_ANY_SOURCE) return {0, static_cast<std::uint32_t>(c.peers.size())};
  const auto r = static_cast<std::size_t>(from.rank);
  if (from.stream == kAnyStream) return {c.first[r], c.first[r + 1]};
  require(from.stream >= 0 && static_cast<std::uint32_t>(from.stream) < c.streams_of(from.rank), MPI_ERR_ARG);
  const std::uint32_t one = c.first[r] + static_cast<std::uint32_t>(from.stream);
  return {one, one + 1};
}

int tag_of(int tag) noexcept { return tag == MPI_ANY_TAG ? lane::kAnyTag : tag; }

Operation& make(Endpoint& endpoint, lane::MatchContext& context) {
  Operation* const o = endpoint.make_operation();
  if (!o) throw std::bad_alloc();
  o->kind = &kOperation;
  o->context = &context;
  ++context.operations;
  o->active = true;
  return *o;
}

Operation& make(LocalEndpoint& local) { return make(*local.endpoint, *local.context); }

[[gnu::noinline]] Operation& make_with(LocalEndpoint& local, lane::Memory memory) {
  Operation& o = make(local);
  o.memory = std::move(memory);
  return o;
}

/// With the program's buffer; nothing is taken where that is not good.
Operation& make(LocalEndpoint& local, const void* buffer, MPI_Count count, MPI_Datatype type) {
  const int size = plain_size(type);
  if (size < 0 || count < 0) [[unlikely]]
    return make_with(local, memory_of(buffer, count, type));
  Operation& o = make(local);
  o.memory.at = static_cast<std::byte*>(const_cast<void*>(buffer));  // NOLINT: sends only read it
  o.memory.bytes = static_cast<std::uint64_t>(count) * static_cast<std::uint64_t>(size);
  return o;
}

/// The data of a buffered send, in memory of its own.
void take_data(Operation& o) {
  const lane::Memory from = o.memory;
  o.owned = new std::byte[std::max<std::uint64_t>(from.bytes, 1)];
  lane::pack(from, 0, o.owned, from.bytes);
  o.memory = {o.owned, from.bytes, 0, nullptr};
}

Operation& make_send(Communicator& c, LocalEndpoint& local, const void* buffer, MPI_Count count, MPI_Datatype type, const Envelope& to,
                     Mode mode) {
  const std::uint32_t peer = destination(c, to);
  lane::LaneOut& lane = c.lane(local, peer);
  Operation& o = make(local, buffer, count, type);
  o.is_send = true;
  o.synchronous = mode == Mode::synchronous;
  o.out = &lane;
  o.remote_context = c.peers[peer].context;
  o.source = local.number;
  o.tag = to.tag;
  o.to_rank = to.rank;
  return o;
}

Operation& make_receive(Communicator& c, LocalEndpoint& local, void* buffer, MPI_Count count, MPI_Datatype type, const Envelope& from) {
  const Sources s = sources(c, from);
  Operation& o = make(local, buffer, count, type);
  o.is_send = false;
  o.first_source = s.first;
  o.end_source = s.end;
  o.tag = tag_of(from.tag);
  return o;
}

/// To or from MPI_PROC_NULL: complete from the start.
Operation& make_nobody(LocalEndpoint& local, bool is_send) {
  Operation& o = make(local);
  o.is_send = is_send;
  o.nobody = true;
  o.complete.store(true, std::memory_order_relaxed);
  return o;
}

void check_null(MPI_Count count, MPI_Datatype type, int tag, bool any) {
  check_tag(tag, any);
  static_cast<void>(memory_of(nullptr, count, type));
}

/// The whole of a small send that finds room: no operation is made.
bool send_at_once(Communicator& c, LocalEndpoint& local, const void* buffer, MPI_Count count, MPI_Datatype type, const Envelope& to,
                  Mode mode) {
  const int size = plain_size(type);
  if (mode == Mode::synchronous || size < 0 || count < 0 || static_cast<std::uint64_t>(count) > transport::kInline) return false;
  const std::size_t bytes = static_cast<std::size_t>(count) * static_cast<std::size_t>(size);
  if (bytes > transport::kInline) return false;
  const std::uint32_t peer = destination(c, to);
  lane::LaneOut& lane = c.lane(local, peer);
  return Endpoint::send_inline(lane, c.peers[peer].context, local.number, to.tag, buffer, bytes) ||
         Endpoint::send_record(lane, c.peers[peer].context, local.number, to.tag, buffer, bytes);
}

}  // namespace

constinit std::atomic<Request*> completed_one{nullptr};

Request& completed_request() {
  static Request& one = []() -> Request& {
    auto* const r = request::make<Request>();
    if (!r) throw std::bad_alloc();
    r->kind = &kCompleted;
    // release: what was made of it.
    completed_one.store(r, std::memory_order_release);
    return *r;
  }();
  return one;
}

void set_empty(MPI_Status* status) noexcept {
  if (wants(status)) set_status(status, MPI_ANY_SOURCE, MPI_ANY_TAG, 0, false);
}

// ---- waiting

namespace {

/// Rounds of the endpoint until `found` says so.
template <class Found>
void wait_until(Endpoint& endpoint, Call call, Found found, Hang hang) {
  const auto round = [&] {
    bool moved = false;
    {
      const EndpointGuard guard(endpoint);
      moved = endpoint.progress();
    }
    return transport::drive_network() || moved;
  };
  progress::wait_until(endpoint.waiter(), progress::kForMessage, round, found, [&] { hang.check(call); });
}

}  // namespace

bool progress(Operation& o) noexcept {
  const EndpointGuard guard(*o.endpoint);
  return o.endpoint->progress();
}

void wait_long(Operation& o, Call call) {
  wait_until(*o.endpoint, call, [&] { return o.complete.load(std::memory_order_acquire); }, Hang(o));
}

void wait_until(Endpoint& endpoint, const lane::MatchContext& context, Call call, const std::function<bool()>& over,
                const std::function<std::string()>& waits_for) {
  wait_until(endpoint, call, [&] { return over(); }, Hang(context, waits_for));
}

// ---- sending

namespace {

/// Starts a send. What goes over the network may be held back.
Request& start_send(Communicator& c, int local_index, const void* buffer, MPI_Count count, MPI_Datatype type, const Envelope& to,
                    Mode mode) {
  if (to.rank == MPI_PROC_NULL) {
    check_null(count, type, to.tag, false);
    return completed_request();
  }
  LocalEndpoint& local = local_endpoint(c, local_index);
  const EndpointGuard guard(*local.endpoint);
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

}  // namespace

Request& isend(Communicator& c, int local, const void* buffer, MPI_Count count, MPI_Datatype type, const Envelope& to, Mode mode) {
  Request& r = start_send(c, local, buffer, count, type, to, mode);
  if (transport::Network* const n = transport::network()) n->nudge();
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
  if (from.rank == MPI_PROC_NULL) {
    check_null(count, type, from.tag, true);
    return make_nobody(local, false);
  }
  Operation& o = make_receive(c, local, buffer, count, type, from);
  local.endpoint->start_receive(o);
  return o;
}

int receive(Communicator& c, int local, void* buffer, MPI_Count count, MPI_Datatype type, const Envelope& from, MPI_Status* status,
            Call call) {
  return wait(operation(ireceive(c, local, buffer, count, type, from)), status, call);
}

// ---- persistent

namespace {

/// The program's copy of the data goes its own way; the persistent request is complete.
void start_buffered(Operation& persistent) {
  Endpoint& endpoint = *persistent.endpoint;
  Operation& once = make(endpoint, *persistent.context);
  once.is_send = true;
  once.memory = persistent.memory;
  once.out = persistent.out;
  once.remote_context = persistent.remote_context;
  once.source = persistent.source;
  once.tag = persistent.tag;
  take_data(once);
  endpoint.disown(once);
  endpoint.start_send(once);
  persistent.complete.store(true, std::memory_order_relaxed);
}

int start(Request& r) {
  Operation& o = operation(r);
  if (!o.persistent || o.active) return MPI_ERR_REQUEST;
  const EndpointGuard guard(*o.endpoint);
  o.active = true;
  o.error = Error::none;
  o.received = 0;
  o.complete.store(o.nobody, std::memory_order_relaxed);
  if (o.nobody) return MPI_SUCCESS;
  if (o.buffered) {
    start_buffered(o);
  } else if (o.is_send) {
    o.endpoint->start_send(o);
  } else {
    o.endpoint->start_receive(o);
  }
  return MPI_SUCCESS;
}

Request& inactive(Operation& o) {
  o.persistent = true;
  o.active = false;
  return o;
}

}  // namespace

Request& send_init(Communicator& c, int local_index, const void* buffer, MPI_Count count, MPI_Datatype type, const Envelope& to,
                   Mode mode) {
  LocalEndpoint& local = local_endpoint(c, local_index);
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
  LocalEndpoint& local = local_endpoint(c, local_index);
  const EndpointGuard guard(*local.endpoint);
  if (from.rank == MPI_PROC_NULL) {
    check_null(count, type, from.tag, true);
    return inactive(make_nobody(local, false));
  }
  return inactive(make_receive(c, local, buffer, count, type, from));
}

// ---- both ways

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
    .progress = [](Request& r, Round& round) { return kOperation.progress(*pair(r).receive, round); },
    .done = [](const Request& r) { return pair(r).send->kind->done(*pair(r).send) && kOperation.done(*pair(r).receive); },
    .retire = retire_pair,
    .peek = [](Request& r, void* status) { return kOperation.peek(*pair(r).receive, status); },
    .free =
        [](Request& r) {
          Pair& p = pair(r);
          p.send->kind->free(*p.send);
          free_request(*p.receive);
          request::destroy(p);
          return MPI_SUCCESS;
        },
    .cancel = [](Request&) { return MPI_SUCCESS; },
    .block = nullptr,
    .waiter = [](Request& r) { return kOperation.waiter(*pair(r).receive); },
    .patience = &progress::kForMessage,
    .set_polled = nullptr,
    .start = nullptr,
    .communicator = [](const Request& r) { return pair(r).receive->context->handle; },
    .describe = [](const Request& r, std::string& text) { describe(*pair(r).receive, text); },
};

struct Started {
  Request* send;
  Operation* receive;
};

Started start_exchange(Communicator& c, const Exchange& x) {
  // With one buffer for both the data to send is copied first.
  Request* const send = x.replace ? &isend(c, 0, x.send_buffer, x.send_count, x.send_type, x.to, Mode::buffered) : nullptr;
  Operation& receive = operation(ireceive(c, 0, x.receive_buffer, x.receive_count, x.receive_type, x.from));
  return {send ? send : &isend(c, 0, x.send_buffer, x.send_count, x.send_type, x.to, Mode::standard), &receive};
}

}  // namespace

int send_receive(Communicator& c, const Exchange& x, MPI_Status* status, Call call) {
  const Started started = start_exchange(c, x);
  const int error = wait(*started.receive, status, call);
  if (Operation* const send = as_operation(*started.send)) static_cast<void>(wait(*send, MPI_STATUS_IGNORE, call));
  return error;
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

// ---- probing

namespace {

Unexpected* look(LocalEndpoint& local, const Sources& s, int tag) noexcept {
  Unexpected* found = local.context->find(s.first, s.end, tag_of(tag));
  if (!found) {
    static_cast<void>(local.endpoint->progress());
    found = local.context->find(s.first, s.end, tag_of(tag));
    static_cast<void>(transport::drive_network());  // for the next look
  }
  return found;
}

void tell(const LocalEndpoint& local, const Unexpected& u, MPI_Status* status) noexcept {
  if (wants(status)) set_status(status, rank_of(*local.context, u.source), u.tag, u.bytes, false);
}

void tell_nobody(MPI_Status* status) noexcept {
  if (wants(status)) set_status(status, MPI_PROC_NULL, MPI_ANY_TAG, 0, false);
}

Request& take_out(LocalEndpoint& local, Unexpected& u, MPI_Status* status) {
  auto* const m = request::make<Message>();
  if (!m) throw std::bad_alloc();
  tell(local, u, status);
  local.context->take(u);
  m->kind = &kMessage;
  m->message = &u;
  m->context = local.context;
  ++local.context->operations;
  return *m;
}

}  // namespace

bool is_message(const Request& r) noexcept { return r.kind == &kMessage; }

bool probe(Communicator& c, int local_index, const Envelope& from, MPI_Status* status) {
  LocalEndpoint& local = local_endpoint(c, local_index);
  if (from.rank == MPI_PROC_NULL) {
    tell_nobody(status);
    return true;
  }
  const Sources s = sources(c, from);
  const EndpointGuard guard(*local.endpoint);
  const Unexpected* const u = look(local, s, from.tag);
  if (u) tell(local, *u, status);
  return u != nullptr;
}

void wait_probe(Communicator& c, int local_index, const Envelope& from, MPI_Status* status, Call call) {
  if (probe(c, local_index, from, status)) return;
  LocalEndpoint& local = local_endpoint(c, local_index);
  wait_until(*local.endpoint, call, [&] { return probe(c, local_index, from, status); }, Hang(*local.context, from));
}

Request* match(Communicator& c, int local_index, const Envelope& from, MPI_Status* status) {
  LocalEndpoint& local = local_endpoint(c, local_index);
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
  LocalEndpoint& local = local_endpoint(c, local_index);
  Request* found = match(c, local_index, from, status);
  if (!found) {
    const auto matched = [&] { return (found = match(c, local_index, from, status)) != nullptr; };
    wait_until(*local.endpoint, call, matched, Hang(*local.context, from));
  }
  return *found;
}

Request& ireceive_matched(Request& r, void* buffer, MPI_Count count, MPI_Datatype type) {
  auto& m = static_cast<Message&>(r);
  lane::MatchContext& context = *m.context;
  Endpoint& endpoint = *context.endpoint;
  const EndpointGuard guard(endpoint);
  lane::Memory memory = memory_of(buffer, count, type);
  Operation& o = make(endpoint, context);
  --context.operations;  // the message's place among them is now this one's
  o.is_send = false;
  o.memory = std::move(memory);
  o.first_source = m.message->source;
  o.end_source = m.message->source + 1;
  o.tag = m.message->tag;
  Unexpected& message = *m.message;
  request::destroy(m);
  endpoint.start_receive(o, message);
  return o;
}

int receive_matched(Request& message, void* buffer, MPI_Count count, MPI_Datatype type, MPI_Status* status, Call call) {
  return wait(operation(ireceive_matched(message, buffer, count, type)), status, call);
}

}  // namespace plait::p2p
