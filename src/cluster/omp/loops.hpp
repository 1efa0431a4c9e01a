// Work that a team shares: who runs which iterations of a loop. Sections are a loop, too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "cluster/omp/team.hpp"

namespace plait::cluster::omp {

/// The run time's messages.
enum : std::uint32_t { kTake, kTurn, kDone, kPosted, kAwaitPost, kCancel, kArrive };
/// The process that deals out iterations.
inline constexpr int kDealer = 0;

/// What such a message says.
template <class T>
T read(std::span<const std::byte> bytes) {
  T value;
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

/// Of libgomp's numbers of schedules: which one, and that chunks are in order.
inline constexpr int kKinds = 0xFF;
inline constexpr unsigned kMonotonic = 0x80000000U;
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

template <class T>
Loop loop_of(T start, T end, T step, bool up, std::uint64_t chunk, Schedule schedule, bool ordered) noexcept {
  return {static_cast<std::uint64_t>(start),
          static_cast<std::uint64_t>(end),
          static_cast<std::uint64_t>(step),
          iterations(start, end, step, up),
          chunk,
          schedule,
          ordered,
          0};
}

/// Of omp_sched_t.
[[nodiscard]] Schedule schedule_of(int kind) noexcept;
/// The same where a call names the kind: 0 is schedule(runtime).
[[nodiscard]] inline std::uint64_t chunk_of(long kind, std::uint64_t chunk) noexcept {
  return (kind & kKinds) == 0 ? kRuntimeChunk : chunk;
}
/// Before the job starts.
void start_loops();
/// Each thread of a team comes to the same loops in the same order.
void begin_loop(Member& member, const Loop& loop);
/// All that have begun so far have ended for all of the team, also those that threads have left because they were cancelled.
inline void end_loops(Member& member) noexcept { member.over = member.key; }
/// The next iterations for this thread, from member.low to member.high; false where there are none left.
bool next_chunk(Member& member);
/// The same as the loop's own values, of its own type.
template <class T>
bool next(Member& m, T* low, T* high) {
  if (!next_chunk(m)) return false;
  // In the loop's own arithmetic, which goes around.
  const std::uint64_t from = m.loop.start + m.low * m.loop.step;
  const std::uint64_t to = m.high == m.loop.count ? m.loop.end : m.loop.start + m.high * m.loop.step;
  *low = static_cast<T>(from);
  *high = static_cast<T>(to);
  return true;
}
/// Of fixed schedules: the number in the team of the thread that does an iteration.
[[nodiscard]] int fixed_thread(const Member& member, std::uint64_t iteration) noexcept;
/// Of ordered loops: waits until all iterations before those that this thread works on have ended.
void await_turn(Member& member);

/// Zeroed memory of all threads of the team, which all ask for at the same place. It lasts until the team has asked for two more.
std::byte* common_memory(Member& member, std::size_t bytes);
/// What a construct begins with that has reductions of tasks, or wants as many bytes in common as `memory` points to. Either may be null.
void begin_common(Member& member, Words reductions, void** memory);

/// Before the job starts.
void start_cancellation();
/// A barrier of the team. True: the region is cancelled, and this thread is to go to its end.
[[nodiscard]] bool meet(Member& member);
/// One that the program's code cannot leave: there the job ends if the region is cancelled.
void must_meet(Member& member);
/// Neither the thread's taskgroup nor the region is cancelled.
[[nodiscard]] bool may_begin_task(Member& member);

/// Before the job starts.
void start_doacross();
/// A doacross loop is over for all of the team.
void end_doacross(Member& member);

}  // namespace plait::cluster::omp
