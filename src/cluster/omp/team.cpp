#include "cluster/omp/team.hpp"

#include <sched.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <span>
#include <utility>

#include "cluster/omp/atomic.hpp"
#include "cluster/omp/loops.hpp"
#include "cluster/omp/places.hpp"
#include "cluster/omp/stack.hpp"

PLAIT_OMP int omp_get_max_threads();
PLAIT_OMP void omp_set_max_active_levels(int levels);
PLAIT_OMP int omp_get_max_active_levels();
PLAIT_OMP int omp_get_active_level();
PLAIT_OMP int omp_get_dynamic();
PLAIT_OMP void omp_set_dynamic(int dynamic);
PLAIT_OMP int omp_get_default_device();
PLAIT_OMP void omp_set_default_device(int device);
PLAIT_OMP void omp_get_schedule(int* kind, int* chunk);
PLAIT_OMP void omp_set_schedule(int kind, int chunk);
PLAIT_OMP void omp_set_num_threads(int threads);
PLAIT_OMP int omp_get_cancellation();

namespace plait::cluster::omp {

thread_local Member* this_member = nullptr;

namespace {

/// Looks and yields before a thread sleeps. Threads may outnumber cores, so that few looks are worth while.
constexpr int kLooks = 200;
constexpr int kYields = 50;

/// Waits until a counter has another value than this.
void wait_beyond(const std::atomic<std::uint32_t>& counter, std::uint32_t value) {
  for (int i = 0; i < kLooks; ++i) {
    if (counter.load(std::memory_order_acquire) != value) return;
  }
  for (int i = 0; i < kYields; ++i) {
    if (counter.load(std::memory_order_acquire) != value) return;
    sched_yield();
  }
  while (counter.load(std::memory_order_acquire) == value) counter.wait(value, std::memory_order_acquire);
}

/// The threads of this process meet; the last to come does what is to be done once.
class Meeting {  // NOLINT(clang-analyzer-optin.performance.Padding): the round has a line of its own
 public:
  template <class Once>
  void meet(int threads, Once once) {
    // acquire: so that it is read before this thread counts, and does not change until it has.
    const std::uint32_t round = round_.load(std::memory_order_acquire);
    // acq_rel: what all have done before is seen by the last, which passes it on by the round.
    if (come_.fetch_add(1, std::memory_order_acq_rel) + 1 == threads) {
      come_.store(0, std::memory_order_relaxed);
      once();
      round_.fetch_add(1, std::memory_order_release);
      round_.notify_all();
    } else {
      wait_beyond(round_, round);
    }
  }

 private:
  std::atomic<int> come_{0};
  alignas(64) std::atomic<std::uint32_t> round_{0};
};

/// Never destroyed: threads wait in it when the process ends.
struct Pool {                           // NOLINT(clang-analyzer-optin.performance.Padding)
  std::atomic<std::uint32_t> begun{0};  ///< regions
  Region region;
  Meeting team, end;
  int threads = 1;      ///< that there are, with the one that leads
  bool placed = false;  ///< that one
};
Pool& pool() {
  static Pool& made = *new Pool;
  return made;
}

int threads_wanted = 0;  ///< omp_set_num_threads; 0: not called
std::uint64_t regions = 0;

/// Those of this thread. Its regions within have as many threads as the program has asked for last, or as OMP_NUM_THREADS says.
Controls controls_here() noexcept {
  Controls c;
  c.most_levels = omp_get_max_active_levels();
  c.dynamic = omp_get_dynamic();
  omp_get_schedule(&c.schedule, &c.chunk);
  c.device = omp_get_default_device();
  c.threads = threads_wanted > 0 ? threads_wanted : job().threads;
  return c;
}
void take_on(const Controls& c) {
  omp_set_max_active_levels(c.most_levels);
  omp_set_dynamic(c.dynamic);
  omp_set_schedule(c.schedule, c.chunk);
  omp_set_default_device(c.device);
  PLAIT_LIBGOMP(omp_set_num_threads)(c.threads);
}

void run_member(const Region& region, int local) {
  Member me;
  me.region = &region;
  me.number = job().process * region.per_process + local;
  me.key = me.over = region.number << 32;
  this_member = &me;
  take_on(region.controls);
  if (region.has_loop) begin_loop(me, region.loop);
  region.function(region.data);
  this_member = nullptr;
}

void serve(int local, std::uint32_t seen) {
  Pool& p = pool();
  take_place(local, std::max(job().threads, local + 1));
  for (;;) {
    wait_beyond(p.begun, seen);
    ++seen;
    if (local < p.region.per_process) run_member(p.region, local);
    p.end.meet(p.threads, [] { barrier(); });
  }
}

/// What `serve` begins with.
struct Serving {
  int local;
  std::uint32_t seen;
};

/// The part of a region that this process runs, by the thread that leads. At its end all processes have met.
void run_here(const Region& region) {
  Pool& p = pool();
  if (!std::exchange(p.placed, true)) take_place(0, job().threads);
  for (; p.threads < region.per_process; ++p.threads) {
    const auto begin = [](void* pointer) -> void* {
      const std::unique_ptr<Serving> from(static_cast<Serving*>(pointer));
      serve(from->local, from->seen);
      return nullptr;
    };
    pthread_detach(start_thread(begin, new Serving{p.threads, p.begun.load(std::memory_order_relaxed)}));
  }
  threads_wanted = region.usual;
  p.region = region;
  // release: the region.
  p.begun.fetch_add(1, std::memory_order_release);
  p.begun.notify_all();
  run_member(p.region, 0);
  // All threads that there are: the region must stay as it is until they have looked at it.
  p.end.meet(p.threads, [] { barrier(); });
}

/// Main's stack is the one that is shared: no other thread of the program begins a region that all processes share.
bool leads() noexcept { return shared(__builtin_frame_address(0)); }

}  // namespace

void run_as_inside(void* pointer) {
  const Inside& inside = *static_cast<const Inside*>(pointer);
  // The thread that has begun the region is what it was. The others, which libgomp keeps, stay what they are until their next region: they
  // may run tasks of this one after its function has returned.
  if (this_member != inside.around) {
    static thread_local Member within;
    within.inner = 1;
    this_member = nullptr;
    if (inside.around) {
      within.region = inside.around->region;
      within.number = inside.around->number;
      this_member = &within;
    }
  }
  inside.function(inside.data);
}

void team_barrier(Member& m) {
  m.atomic = Member::Atomic::none;
  pool().team.meet(m.region->per_process, [] { barrier(); });
}

void set_usual_threads(int threads) noexcept { threads_wanted = threads > 0 ? threads : 1; }
int all_threads() noexcept { return job().processes * job().threads; }
int most_levels() noexcept { return omp_get_max_active_levels(); }
int usual_threads() noexcept { return threads_wanted > 0 ? threads_wanted : all_threads(); }

int team_of_all(unsigned threads) noexcept {
  const int processes = job().processes;
  const int wanted = threads > 0 ? static_cast<int>(threads) : usual_threads();
  if (processes == 1 || this_member || job().process != 0 || !leads() || wanted == 1 || wanted % processes != 0) return 0;
  // Within a team of libgomp's on process 0: its other threads run, and a region within one is its process's.
  return omp_get_active_level() > 0 || most_levels() < 1 ? 0 : wanted;
}

bool run_everywhere(Region& region, unsigned threads) {
  const int team = team_of_all(threads);
  if (team == 0) return false;
  region.number = ++regions;
  region.usual = threads_wanted;
  region.per_process = team / job().processes;
  region.may_cancel = omp_get_cancellation();
  region.controls = controls_here();
  static void** const slots = static_cast<void**>(allocate(3 * sizeof(void*), alignof(void*)));
  region.copied = slots;
  region.common = slots + 1;
  alone.store(false, std::memory_order_relaxed);
  fork(std::as_bytes(std::span(&region, 1)));
  run_here(region);
  // What this thread has set in the region was its own there.
  take_on(region.controls);
  alone.store(true, std::memory_order_relaxed);
  return true;
}

}  // namespace plait::cluster::omp

namespace plait::cluster {

using namespace omp;

void prepare(Job& job) {
  job.threads = std::max(1, PLAIT_LIBGOMP(omp_get_max_threads)());
  // libgomp counts on its first thread to be where it has bound it.
  if (job.processes == 1) take_place(0, job.threads);
  start_loops();
}

namespace {

void* serve_regions(void*) {
  for (Region region; await_fork(std::as_writable_bytes(std::span(&region, 1)));) run_here(region);
  return nullptr;
}

}  // namespace

int run_worker() {
  // This thread is one that OpenMP makes, to the program: its stack is as large as those.
  rlimit limit{};
  getrlimit(RLIMIT_STACK, &limit);
  if (stack_wanted() > limit.rlim_cur) {
    pthread_join(start_thread(serve_regions, nullptr), nullptr);
  } else {
    serve_regions(nullptr);
  }
  return 0;
}

bool in_serial_part() noexcept { return job().process == 0 && !this_member && leads(); }

}  // namespace plait::cluster
