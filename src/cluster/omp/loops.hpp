// Work that a team shares: who runs which iterations of a loop. Sections are a loop, too.
#pragma once

#include <cstdint>

#include "cluster/omp/team.hpp"

namespace plait::cluster::omp {

/// As a loop's chunk: schedule(runtime).
inline constexpr std::uint64_t kRuntimeChunk = ~std::uint64_t{0};

/// Of omp_sched_t.
[[nodiscard]] Schedule schedule_of(int kind) noexcept;
/// Before the job starts.
void start_loops();
/// Each thread of a team comes to the same loops in the same order.
void begin_loop(Member& member, const Loop& loop);
/// The next iterations for this thread, from member.low to member.high; false where there are none left.
bool next_chunk(Member& member);
/// Waits until all iterations before this thread's have ended; and: its own have.
void await_turn(Member& member);

}  // namespace plait::cluster::omp
