// The kinds of requests behind which messages are: an operation that goes on, and one that was complete when it was started.
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
/// The operation behind a request, or null if it is of another kind.
[[nodiscard]] inline lane::Operation* as_operation(Request& r) noexcept {
  return r.kind == &kOperation ? static_cast<lane::Operation*>(&r) : nullptr;
}

/// Ends an operation that is complete; no status is written where that is null or MPI_STATUS_IGNORE. Returns its error.
int retire_any(lane::Operation& operation, MPI_Status* status) noexcept;
inline int retire(lane::Operation& operation, MPI_Status* status) noexcept {
  if (operation.persistent || operation.error != lane::Error::none || (status && status != MPI_STATUS_IGNORE)) [[unlikely]]
    return retire_any(operation, status);
  const lane::EndpointGuard guard(*operation.endpoint);
  operation.endpoint->retire(operation);
  return MPI_SUCCESS;
}
/// One round of its endpoint; true if something moved.
bool progress(lane::Operation& operation) noexcept;
/// Starts a persistent one again (p2p/persistent.cpp). Returns an error.
[[nodiscard]] int start_again(Request& request);

}  // namespace plait::p2p
