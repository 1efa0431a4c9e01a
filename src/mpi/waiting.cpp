#include "mpi/waiting.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "p2p/hang.hpp"
#include "progress/source.hpp"

namespace plait::mpi {
namespace {

/// How long a way of waiting of the program's may stay away at a time, in seconds: somebody else may complete a request too, and
/// the watchdog may have to speak; or, where something else is pending, that has to move.
constexpr double kAway = 0.1;
constexpr double kAwayWhilePending = 0.0005;

/// So many requests are named; of the others it says how many they are.
constexpr std::size_t kNamed = 8;

std::string list(std::span<Request*> pending, int natives) {
  std::string text;
  for (const Request* r : pending.first(std::min(pending.size(), kNamed))) {
    if (!text.empty()) text += ", ";
    r->kind->describe(*r, text);
  }
  if (pending.size() > kNamed) text += " and " + std::to_string(pending.size() - kNamed) + " more";
  if (natives > 0) text += (text.empty() ? "" : ", and ") + std::to_string(natives) + " of the MPI's own requests";
  return text;
}

/// All that is left is of one kind.
bool alike(std::span<Request*> pending) noexcept {
  return std::ranges::all_of(pending, [&](const Request* r) { return r->kind == pending[0]->kind; });
}

progress::Waiter* waiter_of(Request& r) noexcept { return r.kind->waiter ? r.kind->waiter(r) : nullptr; }

void set_polled(std::span<Request*> pending, bool here) noexcept {
  for (Request* const r : pending) {
    if (r->kind->set_polled) r->kind->set_polled(*r, here);
  }
}

}  // namespace

Waiting::Place::Place(Pending& pending) noexcept {
  const std::span<Request*> ours = pending.ours();
  if (ours.empty() || pending.natives() != 0) return;
  progress::Waiter* const first = waiter_of(*ours[0]);
  if (std::ranges::all_of(ours, [&](Request* r) { return waiter_of(*r) == first; })) of_all_ = first;
}

void Waiting::begin() noexcept {
  const std::span<Request*> ours = pending_.ours();
  const bool one_kind = pending_.natives() == 0 && !ours.empty() && alike(ours);
  may_block_ = one_kind && ours[0]->kind->block;
  set_polled(ours, true);
  place_.emplace(pending_);
  wait_.emplace(*place_, one_kind ? *ours[0]->kind->patience : progress::kForRequests);
}

void Waiting::end() noexcept { set_polled(pending_.ours(), false); }

/// True where it has waited.
bool Waiting::long_round() noexcept {
  if (watchdog_.barks()) [[unlikely]] {
    p2p::tell_hang({call_, caller_}, count_, watchdog_.seconds(), [&] { return list(pending_.ours(), pending_.natives()); });
  }
  return may_block_ && block();
}

bool Waiting::block() noexcept {
  const bool others = progress::any_pending();
  if (std::exchange(has_blocked_, true)) {
    if (others) static_cast<void>(progress::drive());
    progress::poll_mpi();
  }
  const std::span<Request*> ours = pending_.ours();
  return !ours.empty() && ours[0]->kind->block(ours, others ? kAwayWhilePending : kAway);
}

}  // namespace plait::mpi
