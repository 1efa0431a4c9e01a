// The calls that gcc makes for parallel regions. clang's library has them, too.
#include <optional>

#include "lend/omp/region.hpp"

namespace plait::lend::omp {
namespace {

using Body = void (*)(void*);

/// What each thread of a region runs.
struct Task {
  Body body;
  void* data;
  const Region* region;
};

int thread_number() noexcept {
  static const auto ask = reinterpret_cast<int (*)()>(next("omp_get_thread_num"));
  return ask();
}

void run_task(void* task) {
  const Task& t = *static_cast<const Task*>(task);
  t.region->enter(thread_number());
  t.body(t.data);
}

/// `real` begins the region, and takes the rest behind the number of threads.
template <class... Rest, class... Given>
void run(void (*real)(Body, void*, unsigned, Rest...), Body body, void* data, unsigned threads, Given... rest) {
  if (is_nested()) return real(body, data, threads, rest...);
  const Region region(threads == 0);
  Task task{body, data, &region};
  real(run_task, &task, region.threads() > 0 ? region.threads() : threads, rest...);
}

}  // namespace
}  // namespace plait::lend::omp

using namespace plait::lend::omp;  // NOLINT(google-build-using-namespace)

#pragma GCC visibility push(default)

extern "C" void GOMP_parallel(void (*body)(void*), void* data, unsigned threads, unsigned flags) {
  static const auto real = next_of(GOMP_parallel, "GOMP_parallel");
  run(real, body, data, threads, flags);
}

extern "C" void GOMP_parallel_sections(void (*body)(void*), void* data, unsigned threads, unsigned count, unsigned flags) {
  static const auto real = next_of(GOMP_parallel_sections, "GOMP_parallel_sections");
  run(real, body, data, threads, count, flags);
}

// It looks for the reductions of tasks in the body's own data: such a region has OpenMP's own threads.
extern "C" unsigned GOMP_parallel_reductions(void (*body)(void*), void* data, unsigned threads, unsigned flags) {
  static const auto real = next_of(GOMP_parallel_reductions, "GOMP_parallel_reductions");
  std::optional<Region> region;
  if (!is_nested()) region.emplace(false);
  return real(body, data, threads, flags);
}

#define PLAIT_LOOP(NAME)                                                                                                                 \
  extern "C" void NAME(void (*body)(void*), void* data, unsigned threads, long start, long end, long step, long chunk, unsigned flags) { \
    static const auto real = next_of(NAME, #NAME);                                                                                       \
    run(real, body, data, threads, start, end, step, chunk, flags);                                                                      \
  }
#define PLAIT_LOOP_WITHOUT_CHUNK(NAME)                                                                                       \
  extern "C" void NAME(void (*body)(void*), void* data, unsigned threads, long start, long end, long step, unsigned flags) { \
    static const auto real = next_of(NAME, #NAME);                                                                           \
    run(real, body, data, threads, start, end, step, flags);                                                                 \
  }

PLAIT_LOOP(GOMP_parallel_loop_static)
PLAIT_LOOP(GOMP_parallel_loop_dynamic)
PLAIT_LOOP(GOMP_parallel_loop_guided)
PLAIT_LOOP(GOMP_parallel_loop_nonmonotonic_dynamic)
PLAIT_LOOP(GOMP_parallel_loop_nonmonotonic_guided)
PLAIT_LOOP_WITHOUT_CHUNK(GOMP_parallel_loop_runtime)
PLAIT_LOOP_WITHOUT_CHUNK(GOMP_parallel_loop_nonmonotonic_runtime)
PLAIT_LOOP_WITHOUT_CHUNK(GOMP_parallel_loop_maybe_nonmonotonic_runtime)

#pragma GCC visibility pop
