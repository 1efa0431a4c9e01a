// Loops of sub-teams: which ranges a thread gets. plait/subteam.h has the loop's object, and what each call does.
#pragma once

#include <plait/subteam.h>

#include "subteam/subteam.hpp"

namespace plait::subteam {

/// `chunk` of 0: in equal parts, and nothing for threads outside of the sub-team.
[[nodiscard]] plait_loop begin_loop(SubTeam& threads, int me, long low, long high, long chunk) noexcept;
/// In plait_loop::state: what plait_loop_next() does. A balanced loop, which balance.hpp begins, has its own way to go on.
enum class State : int { over, part, part_done, chunks, helps, balanced, balanced_done };
/// False when the loop is over. The sub-team's barrier is past then.
[[nodiscard]] bool next_range(plait_loop& loop) noexcept;

}  // namespace plait::subteam
