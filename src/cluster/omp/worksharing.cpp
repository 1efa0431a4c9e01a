// What gcc calls for parallel regions, loops, sections, single and barriers (libgomp's interface). A call from outside of a shared team
// goes to libgomp.
#include "cluster/omp/loops.hpp"
#include "cluster/omp/team.hpp"

using namespace plait::cluster;
using namespace plait::cluster::omp;

namespace {

Loop sections(unsigned count) noexcept { return {1, count + std::uint64_t{1}, 1, count, 1, Schedule::dynamic, 0, 0}; }

/// A region: of all processes, or of libgomp with so many threads. `loop`: what it begins with, or null.
template <class Libgomp>
void run(Function function, void* data, unsigned threads, const Loop* loop, Libgomp libgomp) {
  Region region;
  region.function = function;
  region.data = data;
  if (loop) {
    region.loop = *loop;
    region.has_loop = 1;
  }
  if (run_everywhere(region, threads)) return;
  run_inside(function, data, threads, nullptr, libgomp);
}

}  // namespace

// ---- regions

PLAIT_OMP void GOMP_parallel(Function function, void* data, unsigned threads, unsigned flags) {
  run(function, data, threads, nullptr, [=](Function f, void* d, unsigned n) { PLAIT_LIBGOMP(GOMP_parallel)(f, d, n, flags); });
}
PLAIT_OMP void GOMP_parallel_sections(Function function, void* data, unsigned threads, unsigned count, unsigned flags) {
  const Loop loop = sections(count);
  run(function, data, threads, &loop,
      [=](Function f, void* d, unsigned n) { PLAIT_LIBGOMP(GOMP_parallel_sections)(f, d, n, count, flags); });
}

#define PLAIT_PARALLEL_LOOP(name, schedule)                                                                                              \
  PLAIT_OMP void GOMP_parallel_loop_##name(Function function, void* data, unsigned threads, long start, long end, long step, long chunk, \
                                           unsigned flags) {                                                                             \
    const Loop loop = loop_of(start, end, step, step > 0, static_cast<std::uint64_t>(chunk), schedule, false);                           \
    run(function, data, threads, &loop,                                                                                                  \
        [=](Function f, void* d, unsigned n) { PLAIT_LIBGOMP(GOMP_parallel_loop_##name)(f, d, n, start, end, step, chunk, flags); });    \
  }
PLAIT_PARALLEL_LOOP(static, Schedule::fixed)
PLAIT_PARALLEL_LOOP(dynamic, Schedule::monotonic)
PLAIT_PARALLEL_LOOP(guided, Schedule::monotonic)
PLAIT_PARALLEL_LOOP(nonmonotonic_dynamic, Schedule::dynamic)
PLAIT_PARALLEL_LOOP(nonmonotonic_guided, Schedule::guided)

#define PLAIT_PARALLEL_RUNTIME(name)                                                                                           \
  PLAIT_OMP void GOMP_parallel_loop_##name(Function function, void* data, unsigned threads, long start, long end, long step,   \
                                           unsigned flags) {                                                                   \
    const Loop loop = loop_of(start, end, step, step > 0, kRuntimeChunk, Schedule::fixed, false);                              \
    run(function, data, threads, &loop,                                                                                        \
        [=](Function f, void* d, unsigned n) { PLAIT_LIBGOMP(GOMP_parallel_loop_##name)(f, d, n, start, end, step, flags); }); \
  }
PLAIT_PARALLEL_RUNTIME(runtime)
PLAIT_PARALLEL_RUNTIME(nonmonotonic_runtime)
PLAIT_PARALLEL_RUNTIME(maybe_nonmonotonic_runtime)

// ---- loops

#define PLAIT_LOOP(name, schedule, ordered)                                                                            \
  PLAIT_OMP bool GOMP_loop_##name##_start(long start, long end, long step, long chunk, long* low, long* high) {        \
    Member* const m = member();                                                                                        \
    if (!m) return PLAIT_LIBGOMP(GOMP_loop_##name##_start)(start, end, step, chunk, low, high);                        \
    begin_loop(*m, loop_of(start, end, step, step > 0, static_cast<std::uint64_t>(chunk), schedule, ordered));         \
    return next(*m, low, high);                                                                                        \
  }                                                                                                                    \
  PLAIT_OMP bool GOMP_loop_##name##_next(long* low, long* high) {                                                      \
    Member* const m = member();                                                                                        \
    return m ? next(*m, low, high) : PLAIT_LIBGOMP(GOMP_loop_##name##_next)(low, high);                                \
  }                                                                                                                    \
  PLAIT_OMP bool GOMP_loop_ull_##name##_start(bool up, Ull start, Ull end, Ull step, Ull chunk, Ull* low, Ull* high) { \
    Member* const m = member();                                                                                        \
    if (!m) return PLAIT_LIBGOMP(GOMP_loop_ull_##name##_start)(up, start, end, step, chunk, low, high);                \
    begin_loop(*m, loop_of(start, end, step, up, chunk, schedule, ordered));                                           \
    return next(*m, low, high);                                                                                        \
  }                                                                                                                    \
  PLAIT_OMP bool GOMP_loop_ull_##name##_next(Ull* low, Ull* high) {                                                    \
    Member* const m = member();                                                                                        \
    return m ? next(*m, low, high) : PLAIT_LIBGOMP(GOMP_loop_ull_##name##_next)(low, high);                            \
  }
PLAIT_LOOP(static, Schedule::fixed, false)
PLAIT_LOOP(dynamic, Schedule::monotonic, false)
PLAIT_LOOP(guided, Schedule::monotonic, false)
PLAIT_LOOP(nonmonotonic_dynamic, Schedule::dynamic, false)
PLAIT_LOOP(nonmonotonic_guided, Schedule::guided, false)
PLAIT_LOOP(ordered_static, Schedule::fixed, true)
PLAIT_LOOP(ordered_dynamic, Schedule::monotonic, true)
PLAIT_LOOP(ordered_guided, Schedule::monotonic, true)

#define PLAIT_RUNTIME_LOOP(name, ordered)                                                                   \
  PLAIT_OMP bool GOMP_loop_##name##_start(long start, long end, long step, long* low, long* high) {         \
    Member* const m = member();                                                                             \
    if (!m) return PLAIT_LIBGOMP(GOMP_loop_##name##_start)(start, end, step, low, high);                    \
    begin_loop(*m, loop_of(start, end, step, step > 0, kRuntimeChunk, Schedule::fixed, ordered));           \
    return next(*m, low, high);                                                                             \
  }                                                                                                         \
  PLAIT_OMP bool GOMP_loop_##name##_next(long* low, long* high) {                                           \
    Member* const m = member();                                                                             \
    return m ? next(*m, low, high) : PLAIT_LIBGOMP(GOMP_loop_##name##_next)(low, high);                     \
  }                                                                                                         \
  PLAIT_OMP bool GOMP_loop_ull_##name##_start(bool up, Ull start, Ull end, Ull step, Ull* low, Ull* high) { \
    Member* const m = member();                                                                             \
    if (!m) return PLAIT_LIBGOMP(GOMP_loop_ull_##name##_start)(up, start, end, step, low, high);            \
    begin_loop(*m, loop_of(start, end, step, up, kRuntimeChunk, Schedule::fixed, ordered));                 \
    return next(*m, low, high);                                                                             \
  }                                                                                                         \
  PLAIT_OMP bool GOMP_loop_ull_##name##_next(Ull* low, Ull* high) {                                         \
    Member* const m = member();                                                                             \
    return m ? next(*m, low, high) : PLAIT_LIBGOMP(GOMP_loop_ull_##name##_next)(low, high);                 \
  }
PLAIT_RUNTIME_LOOP(runtime, false)
PLAIT_RUNTIME_LOOP(nonmonotonic_runtime, false)
PLAIT_RUNTIME_LOOP(maybe_nonmonotonic_runtime, false)
PLAIT_RUNTIME_LOOP(ordered_runtime, true)

/// Loops with reductions of tasks, or that want memory in common. 0 is libgomp's number of schedule(runtime).
#define PLAIT_LOOP_WITH(name, is_ordered)                                                                                                 \
  PLAIT_OMP bool GOMP_loop_##name(long start, long end, long step, long kind, long chunk, long* low, long* high, Words reductions,        \
                                  void** memory) {                                                                                        \
    Member* const m = member();                                                                                                           \
    if (!m) return PLAIT_LIBGOMP(GOMP_loop_##name)(start, end, step, kind, chunk, low, high, reductions, memory);                         \
    begin_common(*m, reductions, memory);                                                                                                 \
    begin_loop(*m, loop_of(start, end, step, step > 0, chunk_of(kind, static_cast<Ull>(chunk)), schedule_of(static_cast<int>(kind)),      \
                           is_ordered));                                                                                                  \
    return !low || next(*m, low, high);                                                                                                   \
  }                                                                                                                                       \
  PLAIT_OMP bool GOMP_loop_ull_##name(bool up, Ull start, Ull end, Ull step, long kind, Ull chunk, Ull* low, Ull* high, Words reductions, \
                                      void** memory) {                                                                                    \
    Member* const m = member();                                                                                                           \
    if (!m) return PLAIT_LIBGOMP(GOMP_loop_ull_##name)(up, start, end, step, kind, chunk, low, high, reductions, memory);                 \
    begin_common(*m, reductions, memory);                                                                                                 \
    begin_loop(*m, loop_of(start, end, step, up, chunk_of(kind, chunk), schedule_of(static_cast<int>(kind)), is_ordered));                \
    return !low || next(*m, low, high);                                                                                                   \
  }
PLAIT_LOOP_WITH(start, false)
PLAIT_LOOP_WITH(ordered_start, true)

// ---- where the team meets

/// The second form is where the region may be cancelled: true if it is. gcc calls the first where it does not see that.
#define PLAIT_MEETING(name)                               \
  PLAIT_OMP void name() {                                 \
    if (Member* const m = member()) {                     \
      must_meet(*m);                                      \
    } else {                                              \
      PLAIT_LIBGOMP(name)();                              \
    }                                                     \
  }                                                       \
  PLAIT_OMP bool name##_cancel() {                        \
    Member* const m = member();                           \
    return m ? meet(*m) : PLAIT_LIBGOMP(name##_cancel)(); \
  }
PLAIT_MEETING(GOMP_barrier)
PLAIT_MEETING(GOMP_loop_end)
PLAIT_MEETING(GOMP_sections_end)
PLAIT_NOTHING(GOMP_loop_end_nowait)
PLAIT_NOTHING(GOMP_sections_end_nowait)

// ---- ordered

PLAIT_OMP void GOMP_ordered_start() {
  Member* const m = member();
  if (!m) {
    PLAIT_LIBGOMP(GOMP_ordered_start)();
    return;
  }
  await_turn(*m);
  lock(kOrderedLock);
}
PLAIT_OMP void GOMP_ordered_end() {
  if (member()) {
    unlock(kOrderedLock);
  } else {
    PLAIT_LIBGOMP(GOMP_ordered_end)();
  }
}

// ---- sections and single

PLAIT_OMP unsigned GOMP_sections_next() {
  Member* const m = member();
  if (!m) return PLAIT_LIBGOMP(GOMP_sections_next)();
  return next_chunk(*m) ? static_cast<unsigned>(m->low + 1) : 0;
}
PLAIT_OMP unsigned GOMP_sections_start(unsigned count) {
  Member* const m = member();
  if (!m) return PLAIT_LIBGOMP(GOMP_sections_start)(count);
  begin_loop(*m, sections(count));
  return GOMP_sections_next();
}
PLAIT_OMP unsigned GOMP_sections2_start(unsigned count, Words reductions, void** memory) {
  Member* const m = member();
  if (!m) return PLAIT_LIBGOMP(GOMP_sections2_start)(count, reductions, memory);
  begin_common(*m, reductions, memory);
  return GOMP_sections_start(count);
}

/// The first thread does it: that needs no message, and what it allocates is where serial parts will use it.
PLAIT_OMP bool GOMP_single_start() {
  Member* const m = member();
  return m ? m->number == 0 : PLAIT_LIBGOMP(GOMP_single_start)();
}
PLAIT_OMP void* GOMP_single_copy_start() {
  Member* const m = member();
  if (!m) return PLAIT_LIBGOMP(GOMP_single_copy_start)();
  if (m->number == 0) return nullptr;
  must_meet(*m);
  return *m->region->copied;
}
PLAIT_OMP void GOMP_single_copy_end(void* data) {
  Member* const m = member();
  if (!m) {
    PLAIT_LIBGOMP(GOMP_single_copy_end)(data);
    return;
  }
  // It lies on main's stack, as this is the first thread.
  *m->region->copied = data;
  must_meet(*m);
}
