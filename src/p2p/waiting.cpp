#include "p2p/waiting.hpp"

#include "p2p/wait_at.hpp"

namespace plait::p2p {

void wait_long(lane::Operation& o, Call call) {
  wait_at(*o.endpoint, call, [&] { return o.complete.load(std::memory_order_acquire); }, Hang(o));
}

void wait_until(lane::Endpoint& endpoint, const lane::MatchContext& context, Call call, const std::function<bool()>& over,
                const std::function<std::string()>& waits_for) {
  wait_at(endpoint, call, [&] { return over(); }, Hang(context, waits_for));
}

}  // namespace plait::p2p
