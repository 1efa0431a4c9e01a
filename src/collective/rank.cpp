#include "collective/rank.hpp"

#include <algorithm>
#include <array>
#include <new>
#include <numeric>

#include "collective/team.hpp"
#include "p2p/report.hpp"

namespace plait::collective {

Rank::Rank() = default;

Rank::~Rank() { detach(); }

void Rank::detach() noexcept {
  team.reset();  // it looks at the others
  if (locals.empty()) return;
  p2p::LocalEndpoint calls;
  calls.stream = locals[0].stream;
  calls.endpoint = locals[0].endpoint;
  calls.context = hidden;
  if (locals[0].context) p2p::detach(locals[0]);
  if (hidden) p2p::detach(calls);
  hidden = nullptr;
}

std::uint64_t take_flags(Rank& rank, std::span<const std::uint32_t> ranks) noexcept {
  const auto is_far = [&](std::uint32_t r) { return rank.peers[r].process >= 0; };
  if (ranks.size() == 1 || ranks.size() > Team::kRanks || std::ranges::any_of(ranks, is_far)) return 0;
  try {
    rank.team = std::make_unique<Team>(rank, std::vector(ranks.begin(), ranks.end()));
    return rank.team->offset();
  } catch (const std::bad_alloc&) {
    return 0;
  }
}

std::uint64_t take_flags(Rank& rank) noexcept {
  std::array<std::uint32_t, Team::kRanks + 1> all;  // NOLINT(cppcoreguidelines-pro-type-member-init): one is too many already
  std::iota(all.begin(), all.end(), 0U);
  return take_flags(rank, std::span(all).first(std::min(rank.peers.size(), all.size())));
}

void meet_team(Rank& rank, const std::vector<std::uint64_t>& offsets) {
  if (std::ranges::find(offsets, 0U) == offsets.end()) {
    rank.team->connect(offsets);
  } else {
    rank.team.reset();
  }
}

void end_use(Rank& rank) {
  // acq_rel: the last one sees that the others have done with it.
  if (rank.uses.fetch_sub(1, std::memory_order_acq_rel) == 1) rank.free_now(rank);
}

void end_use_by_program(Rank& rank) {
  if (rank.uses.load(std::memory_order_relaxed) > 1) {
    const lane::EndpointGuard guard(rank.endpoint());
    p2p::note_traffic(*rank.hidden);
    rank.hidden->handle = p2p::stand_in(rank.handle);
  }
  end_use(rank);
}

}  // namespace plait::collective
