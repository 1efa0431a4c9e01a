// With PLAIT_REPORT=1: what was sent on each communicator, by its name, and what was left to the MPI. Else nothing. Any thread.
#pragma once

#include "lane/match_context.hpp"

namespace plait::p2p {

/// What plait leaves to the MPI though it is asked to carry all.
enum class Left {
  intercommunicators,
  other_worlds,
  no_memory,
  collectives_between_nodes,
  others_between_nodes,
  reductions_between_nodes,
  large_between_nodes
};

/// Says so on stderr, once a process.
void tell_left(Left what) noexcept;

/// A communicator goes: keeps what was sent in a context of it, under the name that it has. By who holds its endpoint's guard.
void note_traffic(lane::MatchContext& context) noexcept;

/// At the end of the program: notes what is left, and says all of it on stderr.
void report_traffic(int rank) noexcept;

}  // namespace plait::p2p
