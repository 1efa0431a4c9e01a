// Work that a team shares: who runs which iterations of a loop. Sections are a loop, too.
#pragma once

#include <cstdint>

#include "cluster/omp/team.hpp"

namespace plait::cluster::omp {

/// As a loop's chunk: schedule(runtime).
inline constexpr std::uint64_t kRuntimeChunk = ~std::uint64_t{0};

/// How many iterations a loop has. `end` is beyond the last.
template <class T>
std::uint64_t iterations(T start, T end, T step, bool up) noexcept {
  if (up ? start >= end : start <= end) return 0;
  const auto distance = up ? static_cast<std::uint64_t>(end) - static_cast<std::uint64_t>(start)
                           : static_cast<std::uint64_t>(start) - static_cast<std::uint64_t>(end);
  const auto each = up ? static_cast<std::uint64_t>(step) : std::uint64_t{0} - static_cast<std::uint64_t>(step);
  return (distance - 1) / each + 1;
}

/// Of omp_sched_t.
[[nodiscard]] Schedule schedule_of(int kind) noexcept;
/// Before the job starts.
void start_loops();
/// Each thread of a team comes to the same loops in the same order.
void begin_loop(Member& member, const Loop& loop);
/// The next iterations for this thread, from member.low to member.high; false where there are none left.
bool next_chunk(Member& member);
/// Of ordered loops: waits until all iterations before those that this thread works on have ended.
void await_turn(Member& member);

}  // namespace plait::cluster::omp
