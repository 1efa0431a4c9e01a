#include "collective/call.hpp"

#include "p2p/handle_bits.hpp"

namespace plait::collective {

void wait(Collective& c, p2p::Call call) {
  p2p::wait_until(c.rank().endpoint(), call, [&] { return c.complete(); }, [&] { return c.waits_for(); });
}

namespace {

CollectiveRequest& of(Request& r) noexcept { return static_cast<CollectiveRequest&>(r); }
const CollectiveRequest& of(const Request& r) noexcept { return static_cast<const CollectiveRequest&>(r); }

int answer(Request& r, void* status) noexcept {
  p2p::set_empty(static_cast<MPI_Status*>(status));
  return of(r).call.error();
}

/// The standard has it for no collective call. The MPIs have it, and programs rely on it where MPI_Request_get_status has said that it is
/// complete.
int free_request(Request& r) noexcept { return of(r).call.complete() ? r.kind->retire(r, nullptr) : MPI_ERR_REQUEST; }

}  // namespace

constexpr RequestKind kCollective{
    .progress = [](Request& r, Round& round) { return p2p::progress(of(r).call.rank().endpoint(), round); },
    .done = [](const Request& r) { return of(r).call.complete(); },
    .retire =
        [](Request& r, void* status) {
          const int error = answer(r, status);
          Rank& rank = of(r).call.rank();
          request::destroy(of(r));
          end_use(rank);
          return error;
        },
    .peek = answer,
    .free = free_request,
    // MPI has it for no collective call.
    .cancel = [](Request&) -> int { return MPI_ERR_REQUEST; },
    .waiter = [](Request& r) { return &of(r).call.rank().endpoint().waiter(); },
    .patience = &progress::kForMessage,
    .communicator = [](const Request& r) { return of(r).call.rank().hidden->handle; },
    .describe = [](const Request& r, std::string& text) { text += of(r).call.waits_for(); },
};

CollectiveRequest& make_request(Rank& rank) {
  auto* const r = request::make<CollectiveRequest>(rank);
  if (!r) throw std::bad_alloc();
  r->kind = &kCollective;
  rank.uses.fetch_add(1, std::memory_order_relaxed);
  return *r;
}

}  // namespace plait::collective
