// One way to wait at an endpoint, told to the watchdog. Private to p2p/.
#pragma once

#include "lane/endpoint.hpp"
#include "p2p/hang.hpp"
#include "p2p/operation_request.hpp"
#include "transport/packets.hpp"

namespace plait::p2p {

/// Rounds of the endpoint until `found` says so.
template <class Found>
void wait_at(lane::Endpoint& endpoint, Call call, Found found, Hang hang, const progress::Patience& patience = progress::kForMessage) {
  const auto round = [&] {
    const bool moved = progress(endpoint);
    return transport::drive_network() || moved;
  };
  progress::wait_until(endpoint.waiter(), patience, round, found, [&] { hang.check(call); });
}

}  // namespace plait::p2p
