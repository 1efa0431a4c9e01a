// Barriers, singles, copyprivate, master, sections, critical sections, atomics, locks and threadprivate data.
#include "check.h"

enum { N = 20 };
static int seen[1024];
static long counters[8];
static int own = 5;
#pragma omp threadprivate(own)
static omp_lock_t lock;
static omp_nest_lock_t nested;

int main(void) {
  int threads = 0;
#pragma omp parallel
  {
#pragma omp master
    threads = omp_get_num_threads();
    seen[omp_get_thread_num()] += 1;
  }
  CHECK(threads == omp_get_max_threads());
  for (int i = 0; i < threads; ++i) CHECK(seen[i] == 1);

  // Who passes a barrier sees what all have written before it.
  int wrong = 0;
#pragma omp parallel reduction(+ : wrong)
  for (int round = 0; round < N; ++round) {
    seen[omp_get_thread_num()] = 100 * round + omp_get_thread_num();
#pragma omp barrier
    for (int i = 0; i < omp_get_num_threads(); ++i) wrong += seen[i] != 100 * round + i;
#pragma omp barrier
  }
  CHECK(wrong == 0);

  int singles = 0;
  int got[1024] = {0};
#pragma omp parallel
  {
    int handed = -1;
    char text[40] = "";
    for (int round = 0; round < N; ++round) {
#pragma omp single
      ++singles;
#pragma omp single nowait
      {
#pragma omp atomic
        ++counters[0];
      }
#pragma omp single copyprivate(handed, text)
      {
        handed = 7 * round;
        snprintf(text, sizeof text, "round %d", round);
      }
      char right[40];
      snprintf(right, sizeof right, "round %d", round);
      if (handed == 7 * round && strcmp(text, right) == 0) got[omp_get_thread_num()] += 1;
    }
  }
  CHECK(singles == N);
  CHECK(counters[0] == N);
  for (int i = 0; i < threads; ++i) CHECK(got[i] == N);

  int sections[5] = {0};
#pragma omp parallel sections
  {
    sections[0] += 1;
#pragma omp section
    sections[1] += 1;
#pragma omp section
    sections[2] += 1;
  }
#pragma omp parallel
  {
#pragma omp sections nowait
    {
      sections[3] += 1;
#pragma omp section
      sections[4] += 1;
    }
  }
  for (int i = 0; i < 5; ++i) CHECK(sections[i] == 1);

  long plain = 0, named = 0, order[3] = {0};
  omp_init_lock(&lock);
  omp_init_nest_lock(&nested);
  long locked = 0, inner = 0, tried = 0;
#pragma omp parallel
  for (int i = 0; i < N; ++i) {
#pragma omp critical
    plain = plain * 1 + 1;
#pragma omp critical(with_a_name)
    {
      named += 2;
      order[0] = order[1] + 1;
      order[1] = order[0];
    }
    omp_set_lock(&lock);
    ++locked;
    omp_unset_lock(&lock);
    omp_set_nest_lock(&nested);
    omp_set_nest_lock(&nested);
    ++inner;
    omp_unset_nest_lock(&nested);
    ++inner;
    omp_unset_nest_lock(&nested);
    while (!omp_test_lock(&lock)) {
    }
    ++tried;
    omp_unset_lock(&lock);
  }
  CHECK(plain == (long)N * threads);
  CHECK(named == 2L * N * threads);
  CHECK(order[1] == (long)N * threads);
  CHECK(locked == (long)N * threads);
  CHECK(inner == 2L * N * threads);
  CHECK(tried == (long)N * threads);
  omp_destroy_lock(&lock);
  omp_destroy_nest_lock(&nested);

  own = 17;
  int copies = 0, kept = 0;
#pragma omp parallel copyin(own) reduction(+ : copies)
  {
    copies += own == 17;
    own = omp_get_thread_num();
  }
#pragma omp parallel reduction(+ : kept)
  kept += own == omp_get_thread_num();
  CHECK(copies == threads);
  CHECK(kept == threads);
  return end();
}
