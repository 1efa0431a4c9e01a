#include "p2p/operation_request.hpp"

#include <new>
#include <string>
#include <utility>

#include "p2p/hang.hpp"
#include "p2p/persistent.hpp"
#include "transport/packets.hpp"

namespace plait::p2p {

using lane::EndpointGuard;
using lane::Error;
using lane::Operation;

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

namespace {

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
  Operation& o = as_operation_of(r);
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
  Operation& o = as_operation_of(r);
  const EndpointGuard guard(*o.endpoint);
  if (!o.is_send) o.endpoint->cancel(o);
  return MPI_SUCCESS;
}

int answer_empty(Request&, void* status) noexcept {
  set_empty(static_cast<MPI_Status*>(status));
  return MPI_SUCCESS;
}

}  // namespace

constexpr RequestKind kOperation{
    .progress = [](Request& r, Round& round) { return progress(*as_operation_of(r).endpoint, round); },
    .done = [](const Request& r) { return !r.active || as_operation_of(r).complete.load(std::memory_order_acquire); },
    .retire = [](Request& r, void* status) { return retire(as_operation_of(r), static_cast<MPI_Status*>(status)); },
    .peek =
        [](Request& r, void* status) {
          if (r.active) {
            set_status_of(as_operation_of(r), status);
          } else {
            set_empty(static_cast<MPI_Status*>(status));
          }
          return r.active ? code_of(as_operation_of(r).error) : MPI_SUCCESS;
        },
    .free = free_request,
    .cancel = cancel,
    .waiter = [](Request& r) { return &as_operation_of(r).endpoint->waiter(); },
    .patience = &progress::kForMessage,
    .start = start_again,
    .communicator = [](const Request& r) { return as_operation_of(r).context->handle; },
    .describe = [](const Request& r, std::string& text) { describe(as_operation_of(r), text); },
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
    .patience = &progress::kForMessage,
    .communicator = [](const Request&) -> std::uint64_t { return 0; },
    .describe = [](const Request&, std::string& text) { text += "a message that has been sent"; },
};

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

bool progress(lane::Endpoint& endpoint) noexcept {
  const EndpointGuard guard(endpoint);
  return endpoint.progress();
}

bool progress(lane::Endpoint& endpoint, Round& round) noexcept {
  bool moved = round.first(&endpoint) && progress(endpoint);
  if (!std::exchange(round.driven, true)) moved |= transport::drive_network();
  return moved;
}

}  // namespace plait::p2p
