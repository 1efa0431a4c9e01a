// A rank of a communicator whose collective calls are plait's: its side of them.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "collective/leaders.hpp"
#include "lane/match_context.hpp"
#include "p2p/communicator.hpp"

namespace plait::collective {

class Team;  // team.hpp

/// All ranks of a communicator. They are told apart by groups within which a message costs less: the ranks of a process where threads are
/// ranks, those of a node where processes are.
struct Members : p2p::Members {
  std::vector<std::uint32_t> hidden;                 ///< each rank's number for what collective calls send
  std::vector<std::uint32_t> group_of;               ///< by rank; groups are numbered by their lowest ranks
  std::vector<std::vector<std::uint32_t>> ranks_of;  ///< by group, ascending
};

/// The collective calls of one communicator are made one after the other, whichever thread makes them. Any thread may complete one.
struct Rank : p2p::Communicator {
  const Members* all = nullptr;
  lane::MatchContext* hidden = nullptr;  ///< where the messages of collective calls are matched; lanes are those of locals[0]
  std::uint32_t sequence = 0;            ///< of the next collective call
  std::unique_ptr<Team> team;            ///< of the communicator's ranks within this node, where they are few
  Leaders leaders;                       ///< of an ordinary one that spans nodes
  std::atomic<int> uses{1};              ///< by the program, and by each collective call that has a request
  void (*free_now)(Rank&) = nullptr;     ///< when none is left

  [[nodiscard]] lane::Endpoint& endpoint() noexcept { return *locals[0].endpoint; }
  Rank();
  /// Detaches what is attached still.
  ~Rank() override;
  /// From its endpoint, whatever still points to it.
  void detach() noexcept;
  Rank(const Rank&) = delete;
  Rank& operator=(const Rank&) = delete;
};

/// Takes ArrivalFlags where these ranks, ascending, may be a team: its offset, else 0. Without them: all of the communicator's.
[[nodiscard]] std::uint64_t take_flags(Rank& rank, std::span<const std::uint32_t> ranks) noexcept;
[[nodiscard]] std::uint64_t take_flags(Rank& rank) noexcept;
/// What all of them have said: none has a team if one has none. Throws std::bad_alloc.
void meet_team(Rank& rank, const std::vector<std::uint64_t>& offsets);

/// A collective call with a request has ended. Any thread.
void end_use(Rank& rank);
/// The program has freed it. Before the MPI does: errors of calls that go on are told to a stand-in.
void end_use_by_program(Rank& rank);

}  // namespace plait::collective
