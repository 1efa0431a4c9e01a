// Where OMP_PLACES and OMP_PROC_BIND=close bind threads, those of a process are on cores of their own.
#define _GNU_SOURCE
#include <sched.h>

#include "constructs/check.h"

enum { MOST = 1024 };
static int cpus[MOST], first[MOST];

static void look(void) {
  cpu_set_t set;
  CPU_ZERO(&set);
  sched_getaffinity(0, sizeof set, &set);
  const int mine = omp_get_thread_num();
  cpus[mine] = CPU_COUNT(&set);
  for (int i = 0; i < CPU_SETSIZE; ++i) {
    if (CPU_ISSET(i, &set)) {
      first[mine] = i;
      break;
    }
  }
}

static void check(int threads, int each) {
  for (int i = 0; i < threads; ++i) {
    CHECK(cpus[i] == 1);
    // In the same process.
    for (int k = i / each * each; k < i; ++k) CHECK(first[k] != first[i]);
  }
}

int main(void) {
  const int threads = omp_get_max_threads(), each = atoi(getenv("OMP_NUM_THREADS"));
  // All places are of one hardware thread.
  CHECK(omp_get_num_places() > 0 && omp_get_proc_bind() == omp_proc_bind_close);
#pragma omp parallel
  look();
  check(threads, each);
  // libgomp has begun a region within, of one thread.
#pragma omp parallel
  {
#pragma omp parallel num_threads(1)
    omp_get_level();
#pragma omp barrier
    look();
  }
  check(threads, each);
  return end();
}
