#include "mpi/waiting.hpp"

#include <algorithm>
#include <string>

#include "grequest/grequest.hpp"
#include "lane/endpoint.hpp"
#include "stream/hang.hpp"
#include "transport/packets.hpp"

namespace plait::mpi {
namespace {

/// How long a kind's own way of waiting may stay away at a time, in seconds: somebody else may complete a request too, and
/// the watchdog may have to speak.
constexpr double kAway = 0.1;

/// Endpoints that the call does not wait for, and the MPI, are looked at every so many rounds.
constexpr int kRoundsToOthers = 8;

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

}  // namespace

void Waiting::pause(std::span<Request*> pending, int natives) noexcept {
  grequest::poll_orphans();
  if (++rounds_ % kRoundsToOthers == 0) {
    if (lane::work_exists()) static_cast<void>(lane::visit_neglected());
    // Even where the call holds requests of the MPI's: if they are null or inactive, testing them moves nothing.
    transport::poll_mpi();
  }
  if (watchdog_.barks()) [[unlikely]]
    bark(pending, natives);
  const bool blocked =
      natives == 0 && !pending.empty() && pending[0]->kind->block && alike(pending) && pending[0]->kind->block(pending, kAway);
  if (!blocked) backoff_.pause();
}

void Waiting::bark(std::span<Request*> pending, int natives) const noexcept {
  stream::tell_hang({call_, caller_}, count_, watchdog_.seconds(), [&] { return list(pending, natives); });
}

}  // namespace plait::mpi
