// A collective call from its beginning to its end: blocking, or behind a request.
#pragma once

#include <new>

#include "collective/collective.hpp"
#include "lane/request.hpp"
#include "transport/network.hpp"

namespace plait::collective {

/// Waits for one that was begun.
void wait(Collective& c, p2p::Call call);

/// Not inline: the shorter way wants a small frame.
template <class Make>
[[nodiscard, gnu::noinline]] int run_by_messages(Rank& rank, p2p::Call call, const Make& make) {
  Collective c(rank);
  c.begin(make(c));
  transport::flush_network();
  if (!c.complete()) wait(c, call);
  return c.error();
}

/// Runs the algorithm that `make` makes for the call. Returns its error. Some calls have a shorter way where the communicator has a
/// team (team.hpp).
template <class Make>
[[nodiscard]] int run(Rank& rank, p2p::Call call, const Make& make) {
  if constexpr (requires { make.by_team(rank, call); }) {
    if (make.by_team(rank, call)) return MPI_SUCCESS;
  }
  return run_by_messages(rank, call, make);
}

struct CollectiveRequest : Request {
  explicit CollectiveRequest(Rank& rank) noexcept : call(rank, true) {}
  Collective call;
};
extern const RequestKind kCollective;
/// Room for one. Throws std::bad_alloc.
[[nodiscard]] CollectiveRequest& make_request(Rank& rank);

template <class Make>
[[nodiscard]] Request& start(Rank& rank, const Make& make) {
  CollectiveRequest& r = make_request(rank);
  r.call.begin(make(r.call));
  transport::flush_network();
  return r;
}

}  // namespace plait::collective
