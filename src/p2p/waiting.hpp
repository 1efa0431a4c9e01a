// Waiting at an endpoint.
#pragma once

#include <functional>
#include <string>

#include "p2p/communicator.hpp"
#include "p2p/envelope.hpp"
#include "p2p/operation_request.hpp"
#include "progress/wait.hpp"
#include "transport/network.hpp"

namespace plait::p2p {

/// The slow path of wait().
void wait_long(lane::Operation& operation, Call call);
/// Waits for an operation and ends it. Returns its error. Also sends what is held back, as the answer to a synchronous send: the program
/// may make no other call.
[[nodiscard]] inline int wait(lane::Operation& operation, MPI_Status* status, Call call) {
  if (!operation.complete.load(std::memory_order_acquire)) wait_long(operation, call);
  transport::flush_network();
  return retire(operation, status);
}

/// Waits at an endpoint for anything else. `waits_for` is for the watchdog.
void wait_until(lane::Endpoint& endpoint, Call call, const std::function<bool()>& over, const std::function<std::string()>& waits_for,
                const progress::Patience& patience = progress::kForMessage);

/// Waits until all operations given up on a communicator are complete: buffered sends, and active requests that were freed.
void wait_until_left(Communicator& communicator, Call call);

}  // namespace plait::p2p
