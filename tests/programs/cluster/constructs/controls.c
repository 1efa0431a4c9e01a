// What omp_set_* has set is so in the regions that follow, in all threads; what a thread sets in a region is its own there.
#include "check.h"

enum { N = 1000, DEVICE = 3 };
static int who[N];

static int is(omp_sched_t wanted, int chunk) {
  omp_sched_t kind;
  int found;
  omp_get_schedule(&kind, &found);
  return kind == wanted && found == chunk;
}

/// A schedule(runtime) loop gives each thread the chunks of a static one.
static int is_static(int chunk, int threads) {
  int wrong = 0;
  for (int i = 0; i < N; ++i) wrong += who[i] != i / chunk % threads;
  return wrong == 0;
}

/// What the thread that begins regions has set, all find.
static void inherited(omp_sched_t kind, int chunk, int dynamic, int levels) {
  int wrong = 0, members = 0;
  omp_set_schedule(kind, chunk);
  omp_set_dynamic(dynamic);
  omp_set_max_active_levels(levels);
  omp_set_default_device(DEVICE);
#pragma omp parallel reduction(+ : wrong, members)
  {
    ++members;
    wrong += !is(kind, chunk);
    wrong += omp_get_dynamic() != dynamic;
    wrong += omp_get_max_active_levels() != levels;
    wrong += omp_get_default_device() != DEVICE;
    // In a region within as well.
#pragma omp parallel num_threads(1) reduction(+ : wrong)
    wrong += !is(kind, chunk) + (omp_get_dynamic() != dynamic);
  }
  CHECK(members >= 1);
  CHECK(wrong == 0);
}

/// What threads set in a region ends with it.
static void own(void) {
  int wrong = 0, members = 0;
  omp_set_schedule(omp_sched_static, 3);
  omp_set_max_active_levels(2);
#pragma omp parallel reduction(+ : wrong, members)
  {
    const int mine = omp_get_thread_num();
    ++members;
    omp_set_schedule(omp_sched_guided, mine + 10);
    omp_set_dynamic(1);
    omp_set_max_active_levels(mine + 5);
    omp_set_num_threads(mine + 2);
#pragma omp barrier
    wrong += !is(omp_sched_guided, mine + 10);
    wrong += omp_get_dynamic() != 1;
    wrong += omp_get_max_active_levels() != mine + 5;
    wrong += omp_get_max_threads() != mine + 2;
  }
  CHECK(members == omp_get_max_threads());
  CHECK(wrong == 0);
  CHECK(is(omp_sched_static, 3));
  CHECK(omp_get_max_active_levels() == 2);
  CHECK(!omp_get_dynamic());
  members = 0;
#pragma omp parallel reduction(+ : wrong, members)
  {
    ++members;
    wrong += !is(omp_sched_static, 3);
    wrong += omp_get_dynamic() != 0;
    wrong += omp_get_max_active_levels() != 2;
    wrong += omp_get_max_threads() != omp_get_num_threads();
  }
  CHECK(members == omp_get_max_threads());
  CHECK(wrong == 0);
}

int main(void) {
  const int threads = omp_get_max_threads();
  inherited(omp_sched_dynamic, 7, 0, 1);
  inherited(omp_sched_guided, 5, 1, 4);
  inherited(omp_sched_static, 9, 0, 2);
  own();

  omp_set_schedule(omp_sched_static, 4);
#pragma omp parallel for schedule(runtime)
  for (int i = 0; i < N; ++i) who[i] = omp_get_thread_num();
  CHECK(is_static(4, threads));
  // All threads may set it for a loop of their region.
#pragma omp parallel
  {
    omp_set_schedule(omp_sched_static, 6);
#pragma omp for schedule(runtime)
    for (int i = 0; i < N; ++i) who[i] = omp_get_thread_num();
  }
  CHECK(is_static(6, threads));

  // Regions within have as many threads as was asked for last.
  int within = 0;
  omp_set_max_active_levels(2);
#pragma omp parallel reduction(+ : within)
  {
    omp_set_num_threads(3);
#pragma omp parallel reduction(+ : within)
    within += 1;
  }
  CHECK(within == 3 * threads);
  CHECK(omp_get_max_threads() == threads);

  // No level may be active.
  int members = 0;
  omp_set_max_active_levels(0);
#pragma omp parallel reduction(+ : members)
  members += omp_get_num_threads();
  CHECK(members == 1);
  return end();
}
