#include "p2p/waiting.hpp"

#include "p2p/wait_at.hpp"

namespace plait::p2p {

void wait_long(lane::Operation& o, Call call) {
  wait_at(*o.endpoint, call, [&] { return o.complete.load(std::memory_order_acquire); }, Hang(o));
}

void wait_until(lane::Endpoint& endpoint, Call call, const std::function<bool()>& over, const std::function<std::string()>& waits_for,
                const progress::Patience& patience) {
  wait_at(endpoint, call, [&] { return over(); }, Hang(waits_for), patience);
}

void wait_until_left(Communicator& c, Call call) {
  for (const LocalEndpoint& l : c.locals) {
    const auto left = [&] {
      const lane::EndpointGuard guard(*l.endpoint);
      return l.context->disowned;
    };
    const auto waits_for = [&] { return std::to_string(left()) + " buffered sends and freed requests on " + name_of(*l.context); };
    wait_until(*l.endpoint, call, [&] { return left() == 0; }, waits_for);
  }
}

}  // namespace plait::p2p
