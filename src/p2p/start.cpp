#include "p2p/start.hpp"

#include <algorithm>
#include <cstddef>
#include <new>
#include <utility>

#include "lane/eager.hpp"
#include "lane/endpoint.hpp"
#include "lane/memory.hpp"
#include "p2p/operation_request.hpp"

namespace plait::p2p {

using lane::Endpoint;
using lane::Operation;

LocalEndpoint& local_of_slot(Communicator& c, int index, const Envelope& envelope) {
  require(index == 0, MPI_ERR_ARG);
  if (envelope.rank == MPI_PROC_NULL) return c.locals.front();
  require(envelope.tag != MPI_ANY_TAG, MPI_ERR_TAG);
  require(envelope.rank != MPI_ANY_SOURCE || !c.slots_by_process, MPI_ERR_RANK);
  return c.locals[c.slot_of(envelope.rank, envelope.tag)];
}

Operation& make_operation(Endpoint& endpoint, lane::MatchContext& context) {
  Operation* const o = endpoint.make_operation();
  if (!o) throw std::bad_alloc();
  o->kind = &kOperation;
  context.adopt(*o);
  return *o;
}

namespace {

Operation& make(LocalEndpoint& local) { return make_operation(*local.endpoint, *local.context); }

[[gnu::noinline]] Operation& make_with(LocalEndpoint& local, lane::Memory memory) {
  Operation& o = make(local);
  o.memory = std::move(memory);
  return o;
}

/// With the program's buffer; nothing is taken where that is not good.
Operation& make(LocalEndpoint& local, const void* buffer, MPI_Count count, MPI_Datatype type) {
  const int size = plain_size(type);
  if (size < 0 || count < 0) [[unlikely]]
    return make_with(local, message_memory(buffer, count, type));
  Operation& o = make(local);
  o.memory.at = static_cast<std::byte*>(const_cast<void*>(buffer));  // NOLINT: sends only read it
  o.memory.bytes = static_cast<std::uint64_t>(count) * static_cast<std::uint64_t>(size);
  return o;
}

}  // namespace

void take_data(Operation& o) {
  const lane::Memory from = o.memory;
  o.owned = new (std::nothrow) std::byte[std::max<std::uint64_t>(from.bytes, 1)];
  if (!o.owned) {
    o.endpoint->retire(o);
    throw std::bad_alloc();
  }
  lane::pack(from, 0, o.owned, from.bytes);
  o.memory = {o.owned, from.bytes, 0, nullptr};
}

Operation& make_send(Communicator& c, LocalEndpoint& local, const void* buffer, MPI_Count count, MPI_Datatype type, const Envelope& to,
                     Mode mode) {
  const std::uint32_t peer = destination(c, local, to);
  lane::LaneOut& lane = c.lane(local, peer);
  Operation& o = make(local, buffer, count, type);
  o.become_send(lane, c.peers[peer].context, local.number, to.tag, to.rank);
  o.synchronous = mode == Mode::synchronous;
  return o;
}

Operation& make_nobody(LocalEndpoint& local, bool is_send) {
  Operation& o = make(local);
  o.is_send = is_send;
  o.nobody = true;
  o.complete.store(true, std::memory_order_relaxed);
  return o;
}

void check_null(MPI_Count count, MPI_Datatype type, int tag, bool any) {
  check_tag(tag, any);
  static_cast<void>(message_memory(nullptr, count, type));
}

Operation& make_receive(Communicator& c, LocalEndpoint& local, void* buffer, MPI_Count count, MPI_Datatype type, const Envelope& from) {
  if (from.rank == MPI_PROC_NULL) [[unlikely]] {
    check_null(count, type, from.tag, true);
    return make_nobody(local, false);
  }
  const Sources s = sources(c, from);
  Operation& o = make(local, buffer, count, type);
  o.become_receive(s.first, s.end, tag_of(from.tag));
  return o;
}

// ---- starting

namespace {

/// The whole of a small send that finds room: no operation is made.
bool send_at_once(Communicator& c, LocalEndpoint& local, const void* buffer, MPI_Count count, MPI_Datatype type, const Envelope& to,
                  Mode mode) {
  const int size = plain_size(type);
  const auto elements = static_cast<std::uint64_t>(count);
  if (mode == Mode::synchronous || size < 0 || count < 0 || !lane::fits_cell(elements, static_cast<std::uint64_t>(size))) return false;
  const std::uint32_t peer = destination(c, local, to);
  lane::LaneOut& lane = c.lane(local, peer);
  const std::uint64_t bytes = elements * static_cast<std::uint64_t>(size);
  if (!Endpoint::send_now(lane, c.peers[peer].context, local.number, to.tag, buffer, bytes)) return false;
  local.context->sent.count(bytes, lane.process >= 0);
  return true;
}

}  // namespace

Request& start_send(Communicator& c, LocalEndpoint& local, const void* buffer, MPI_Count count, MPI_Datatype type, const Envelope& to,
                    Mode mode) {
  if (to.rank == MPI_PROC_NULL) {
    check_null(count, type, to.tag, false);
    return completed_request();
  }
  Request& completed = completed_request();  // before anything is sent: its first use may throw
  if (send_at_once(c, local, buffer, count, type, to, mode)) return completed;
  Operation& o = make_send(c, local, buffer, count, type, to, mode);
  if (mode == Mode::buffered) take_data(o);
  local.endpoint->start_send(o);
  if (o.complete.load(std::memory_order_relaxed)) {
    local.endpoint->retire(o);
    return completed;
  }
  if (mode != Mode::buffered) return o;
  local.endpoint->disown(o);  // it is complete for the program; the copy goes when it can
  return completed;
}

}  // namespace plait::p2p
