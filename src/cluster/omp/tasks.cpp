// Tasks of a shared team run at once, by the thread that creates them, which OpenMP allows of every task: what a task depends on was
// created before it, and has ended. In teams of libgomp's tasks are libgomp's.
#include <cstring>
#include <vector>

#include "cluster/omp/loops.hpp"
#include "cluster/omp/team.hpp"

using namespace plait::cluster;
using namespace plait::cluster::omp;
using plait::fatal;

PLAIT_OMP void GOMP_taskgroup_reduction_register(Words list);

PLAIT_OMP void GOMP_taskgroup_start() {
  if (Member* const m = member()) {
    m->groups.push_back({m->reductions(), false, false});
  } else {
    PLAIT_LIBGOMP(GOMP_taskgroup_start)();
  }
}
PLAIT_OMP void GOMP_taskgroup_end() {
  if (Member* const m = member()) {
    m->groups.pop_back();
  } else {
    PLAIT_LIBGOMP(GOMP_taskgroup_end)();
  }
}

namespace {

using Copy = void (*)(void*, void*);

// Bits of a task's flags.
constexpr unsigned kFinal = 1U << 1;
constexpr unsigned kUp = 1U << 8;
constexpr unsigned kGrainsize = 1U << 9;
constexpr unsigned kNoGroup = 1U << 11;
constexpr unsigned kReduction = 1U << 12;
constexpr unsigned kDetach = 1U << 13;

/// A task's own copy of its data.
class Arguments {
 public:
  Arguments(void* data, Copy copy, long bytes, long alignment) : memory_(static_cast<std::size_t>(bytes + alignment)) {
    const auto at = reinterpret_cast<std::uintptr_t>(memory_.data());
    const auto step = static_cast<std::uintptr_t>(alignment > 0 ? alignment : 1);
    // NOLINTNEXTLINE(performance-no-int-to-ptr)
    data_ = reinterpret_cast<void*>((at + step - 1) / step * step);
    if (copy) {
      copy(data_, data);
    } else if (data) {
      std::memcpy(data_, data, static_cast<std::size_t>(bytes));
    }
  }
  [[nodiscard]] void* get() const noexcept { return data_; }

 private:
  std::vector<char> memory_;
  void* data_;
};

class Final {
 public:
  Final(Member& member, bool is) noexcept : member_(member), is_(is || member.final > 0) { member_.final += is_; }
  ~Final() { member_.final -= is_; }
  Final(const Final&) = delete;
  Final& operator=(const Final&) = delete;

 private:
  Member& member_;
  bool is_;
};

template <class T>
void run_taskloop(Member& m, Function function, void* data, Copy copy, long bytes, long alignment, unsigned flags, unsigned long tasks,
                  T start, T end, T step) {
  const bool up = (flags & kUp) != 0;
  const Ull count = iterations(start, end, step, up);
  const Words* reductions = nullptr;
  // The compiler puts the description behind the bounds.
  if (flags & kReduction) reductions = reinterpret_cast<const Words*>(static_cast<const char*>(data) + 2 * sizeof(T));
  if (count == 0 || !may_begin_task(m)) {
    if (reductions) (*reductions)[2] = 0;  // nothing has been registered
    return;
  }
  const bool groups = (flags & kNoGroup) == 0;
  if (groups) GOMP_taskgroup_start();
  if (reductions) GOMP_taskgroup_reduction_register(*reductions);
  Ull n = 1;
  if (tasks > 0) n = (flags & kGrainsize) ? count / tasks : static_cast<Ull>(tasks);
  n = n == 0 ? 1 : n > count ? count : n;
  const Final final(m, (flags & kFinal) != 0);
  for (Ull i = 0, at = 0; i < n; ++i) {
    if (!may_begin_task(m)) break;
    const Ull here = count / n + (i < count % n ? 1 : 0);
    const Arguments arguments(data, copy, bytes, alignment);
    auto* const bounds = static_cast<T*>(arguments.get());
    bounds[0] = static_cast<T>(static_cast<Ull>(start) + at * static_cast<Ull>(step));
    at += here;
    bounds[1] = at == count ? end : static_cast<T>(static_cast<Ull>(start) + at * static_cast<Ull>(step));
    function(arguments.get());
  }
  if (groups) GOMP_taskgroup_end();
}

}  // namespace

PLAIT_OMP void GOMP_task(Function function, void* data, Copy copy, long bytes, long alignment, bool condition, unsigned flags,
                         void** depend, int priority, void* detach) {
  Member* const m = member();
  if (!m) {
    PLAIT_LIBGOMP(GOMP_task)(function, data, copy, bytes, alignment, condition, flags, depend, priority, detach);
    return;
  }
  if (flags & kDetach) fatal("OpenMP over several nodes: detached tasks are not carried");
  if (!may_begin_task(*m)) return;
  const Final final(*m, (flags & kFinal) != 0);
  if (copy) {
    function(Arguments(data, copy, bytes, alignment).get());
  } else {
    function(data);
  }
}

PLAIT_OMP void GOMP_taskloop(Function function, void* data, Copy copy, long bytes, long alignment, unsigned flags, unsigned long tasks,
                             int priority, long start, long end, long step) {
  if (Member* const m = member()) {
    run_taskloop(*m, function, data, copy, bytes, alignment, flags, tasks, start, end, step);
  } else {
    PLAIT_LIBGOMP(GOMP_taskloop)(function, data, copy, bytes, alignment, flags, tasks, priority, start, end, step);
  }
}
PLAIT_OMP void GOMP_taskloop_ull(Function function, void* data, Copy copy, long bytes, long alignment, unsigned flags, unsigned long tasks,
                                 int priority, Ull start, Ull end, Ull step) {
  if (Member* const m = member()) {
    run_taskloop(*m, function, data, copy, bytes, alignment, flags, tasks, start, end, step);
  } else {
    PLAIT_LIBGOMP(GOMP_taskloop_ull)(function, data, copy, bytes, alignment, flags, tasks, priority, start, end, step);
  }
}

// All tasks have ended.
PLAIT_NOTHING(GOMP_taskwait)
PLAIT_NOTHING(GOMP_taskyield)
PLAIT_OMP void GOMP_taskwait_depend(void** depend) {
  if (!member()) PLAIT_LIBGOMP(GOMP_taskwait_depend)(depend);
}
