// The team of a parallel region that all processes of the job share: per process equally many threads, of which the first is the one that
// runs the program (process 0) or serves regions (the others). Everything else, a team of another size or a region within a region, is
// libgomp's, inside its process.
#pragma once

#include <cstdint>
#include <type_traits>
#include <vector>

#include "cluster/engine.hpp"
#include "cluster/next.hpp"

namespace plait::cluster::omp {

using Function = void (*)(void*);
using Ull = unsigned long long;
using Words = std::uintptr_t*;  ///< how the compiler describes reductions of tasks: reductions.cpp

enum class Schedule : std::uint32_t { fixed, dynamic, monotonic, guided };  // fixed: OpenMP's static

/// A loop that is shared: `count` iterations from `start` in steps of `step`, in the arithmetic of the loop's own type.
struct Loop {
  std::uint64_t start = 0;
  std::uint64_t end = 0;
  std::uint64_t step = 0;
  std::uint64_t count = 0;
  std::uint64_t chunk = 0;  ///< 0: of fixed schedules, one block a thread
  Schedule schedule = Schedule::fixed;
  std::uint32_t ordered = 0;
  std::uint32_t doacross = 0;
};

/// What a task hands on to the region that it begins: of OpenMP's internal control variables those that a program can set. libgomp keeps
/// them, for each thread.
struct Controls {
  std::int32_t most_levels = 1;  ///< max-active-levels, and so nested
  std::int32_t dynamic = 0;
  std::int32_t schedule = 1;  ///< of schedule(runtime)
  std::int32_t chunk = 0;
  std::int32_t device = 0;
  std::int32_t threads = 0;  ///< of regions within
};

/// What process 0 tells the others of a region. Code and data lie at the same addresses everywhere.
struct Region {
  Function function = nullptr;
  void* data = nullptr;
  std::uint64_t number = 0;
  std::int32_t per_process = 1;  ///< threads
  std::int32_t usual = 0;        ///< threads, as omp_set_num_threads has it; 0: not called
  std::int32_t may_cancel = 0;   ///< OMP_CANCELLATION
  Controls controls;
  Loop loop;  ///< that the region begins with
  std::uint32_t has_loop = 0;
  void** copied = nullptr;  ///< in shared memory: what copyprivate is copied from
  void** common = nullptr;  ///< two more: memory of constructs
  Words reductions = nullptr;
};
static_assert(std::is_trivially_copyable_v<Region>);

/// A taskgroup, or a construct with reductions of tasks.
struct Group {
  Words reductions = nullptr;  ///< and those around
  bool is_construct = false;
  bool cancelled = false;  ///< a taskgroup
};

/// A thread in a region.
struct Member {
  const Region* region = nullptr;
  int number = 0;           ///< in the team
  int inner = 0;            ///< regions of libgomp around the code that runs; in their other threads: the one that they are of
  int usual = 0;            ///< threads of regions within, if it has called omp_set_num_threads
  std::uint64_t share = 0;  ///< work shares so far
  Loop loop;                ///< the one it is in
  std::uint64_t key = 0;
  std::uint64_t over = 0;  ///< loops so far have ended for all
  std::uint64_t turn = 0;  ///< fixed schedules: chunks taken
  std::uint64_t low = 0;   ///< the iterations that it works on
  std::uint64_t high = 0;
  bool has_turn = false;             ///< of an ordered loop
  std::vector<std::uint64_t> sizes;  ///< doacross loops: of each dimension
  int final = 0;                     ///< final tasks around
  /// The last atomic operation since the region began or the last barrier, if another process did it.
  enum class Atomic : std::uint8_t { none, other, failed_exchange } atomic = Atomic::none;
  const volatile void* exchanged = nullptr;  ///< what a failed exchange was on, and what was there
  std::uint64_t found = 0;
  std::vector<Group> groups;
  std::uint64_t commons = 0;   ///< blocks of common memory so far
  std::uint64_t meetings = 0;  ///< barriers so far, where the region may be cancelled

  [[nodiscard]] Words reductions() const noexcept { return groups.empty() ? region->reductions : groups.back().reductions; }
};

extern thread_local Member* this_member;

/// The thread's place in the shared team; null outside, and within regions inside a process.
inline Member* member() noexcept {
  Member* const m = this_member;
  return m && m->inner == 0 ? m : nullptr;
}
/// Several processes: what the program runs is not libgomp's alone.
inline bool is_job() noexcept { return job().processes > 1; }
[[nodiscard]] inline int team_size(const Member& m) noexcept { return m.region->per_process * job().processes; }

/// All threads of the team.
void team_barrier(Member& member);
/// Of how many threads a team is that all processes share, if `threads` (0: as many as usual) can be that and this thread may begin a
/// region; or 0.
int team_of_all(unsigned threads) noexcept;
/// Runs a region on all processes, if a team of `threads` (0: as many as usual) can be shared and this thread may begin one.
bool run_everywhere(Region& region, unsigned threads);
/// As omp_set_num_threads and omp_get_max_threads have it.
void set_usual_threads(int threads) noexcept;
int usual_threads() noexcept;
/// As this thread's omp_get_max_active_levels has it.
int most_levels() noexcept;
int all_threads() noexcept;

// The run time's own locks; those of the program are addresses, and atomic.cpp has numbers from 0xA << 60 on.
inline constexpr LockId kCriticalLock = LockId{0xC} << 60;
inline constexpr LockId kAtomicLock = kCriticalLock + 1;
inline constexpr LockId kOrderedLock = kCriticalLock + 2;
inline constexpr LockId kPostLocks = LockId{0xD} << 60;  ///< one a process

/// Around what libgomp runs for a thread of a shared team.
class Inner {
 public:
  explicit Inner(Member* member) noexcept : member_(member) {
    if (member_) ++member_->inner;
  }
  ~Inner() {
    if (member_) --member_->inner;
  }
  Inner(const Inner&) = delete;
  Inner& operator=(const Inner&) = delete;
  /// Regions within regions have one thread, unless the program allows more levels.
  [[nodiscard]] unsigned threads(unsigned wanted) const noexcept { return member_ && most_levels() <= 1 ? 1 : wanted; }

 private:
  Member* member_;
};

/// A region of libgomp's, as its threads get it: each has to know the thread of the shared team that the region is within.
struct Inside {
  void* first;  ///< libgomp looks at the first word of what it gets, if the region has reductions of tasks
  Function function;
  void* data;
  const Member* around;  ///< null where there is none
};
void run_as_inside(void* inside);

/// Has libgomp run a region inside this process: of as many threads as usual where nothing is said.
template <class Libgomp>
void run_inside(Function function, void* data, unsigned threads, void* first, Libgomp libgomp) {
  const Inner inner(this_member);
  if (threads == 0 && !this_member && is_job()) threads = static_cast<unsigned>(usual_threads());
  if (!is_job()) {
    libgomp(function, data, inner.threads(threads));
    return;
  }
  Inside inside{first, function, data, this_member};
  libgomp(run_as_inside, &inside, inner.threads(threads));
}

/// libgomp's function of this name, which ours stands before.
#define PLAIT_LIBGOMP(name)                                            \
  ([] {                                                                \
    static constinit plait::cluster::Next<decltype(name)> real(#name); \
    return real.get();                                                 \
  }())
#define PLAIT_OMP extern "C" [[gnu::visibility("default")]]
/// In a shared team there is nothing to do.
#define PLAIT_NOTHING(name)               \
  PLAIT_OMP void name() {                 \
    if (!member()) PLAIT_LIBGOMP(name)(); \
  }

}  // namespace plait::cluster::omp
