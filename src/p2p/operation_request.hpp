// Kinds of requests of point-to-point messages: kOperation, for one in progress; kCompleted, for a send that was complete when its call
// returned.
#pragma once

#include <mpi.h>

#include <atomic>

#include "lane/endpoint.hpp"
#include "lane/operation.hpp"
#include "p2p/status.hpp"

namespace plait::p2p {

/// Request for an operation that was complete when it was started: all of them share it.
[[nodiscard]] Request& completed_request();
/// The same, once somebody has asked for it.
extern std::atomic<Request*> completed_one;
extern const RequestKind kOperation, kCompleted;
[[nodiscard]] inline bool is_completed(const Request& r) noexcept { return r.kind == &kCompleted; }
/// The operation behind a request of kOperation.
[[nodiscard]] inline lane::Operation& as_operation_of(Request& r) noexcept { return static_cast<lane::Operation&>(r); }
[[nodiscard]] inline const lane::Operation& as_operation_of(const Request& r) noexcept { return static_cast<const lane::Operation&>(r); }
/// The same, or null if it is of another kind.
[[nodiscard]] inline lane::Operation* as_operation(Request& r) noexcept {
  return r.kind == &kOperation ? static_cast<lane::Operation*>(&r) : nullptr;
}

/// Ends an operation that is complete; no status is written where that is null or MPI_STATUS_IGNORE. Returns its error.
int retire_any(lane::Operation& operation, MPI_Status* status) noexcept;
[[gnu::always_inline]] inline int retire(lane::Operation& operation, MPI_Status* status) noexcept {
  if (operation.persistent || operation.error != lane::Error::none || (status && status != MPI_STATUS_IGNORE)) [[unlikely]]
    return retire_any(operation, status);
  const lane::EndpointGuard guard(*operation.endpoint);
  operation.endpoint->retire(operation);
  return MPI_SUCCESS;
}
/// One round of an endpoint; true if something moved. The second is for progress of a request: each endpoint once, the network too.
bool progress(lane::Endpoint& endpoint) noexcept;
bool progress(lane::Endpoint& endpoint, Round& round) noexcept;

/// The MPI error class of what went wrong with an operation.
[[nodiscard]] int code_of(lane::Error error) noexcept;

}  // namespace plait::p2p
