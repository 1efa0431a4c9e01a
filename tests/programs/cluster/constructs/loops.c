// Loops of every schedule: each iteration runs once, whatever its range, step and type.
#include "check.h"

enum { N = 5003 };
static int times[N];
static long values[N];

static void clear(void) { memset(times, 0, sizeof times); }
static void once(const char* what) {
  for (int i = 0; i < N; ++i) {
    if (times[i] == 1 && values[i] == 3L * i) continue;
    fprintf(stderr, "%s: iteration %d ran %d times\n", what, i, times[i]);
    ++mistakes;
    break;
  }
  clear();
}

#define LOOP(text, ...)                       \
  _Pragma(text) for (int i = 0; i < N; ++i) { \
    times[i] += 1;                            \
    values[i] = 3L * i;                       \
  }                                           \
  once(text)

int main(void) {
  LOOP("omp parallel for");
  LOOP("omp parallel for schedule(static, 1)");
  LOOP("omp parallel for schedule(static, 7)");
  LOOP("omp parallel for schedule(dynamic)");
  LOOP("omp parallel for schedule(dynamic, 13)");
  LOOP("omp parallel for schedule(monotonic: dynamic, 3)");
  LOOP("omp parallel for schedule(guided)");
  LOOP("omp parallel for schedule(guided, 5)");
  LOOP("omp parallel for schedule(monotonic: guided)");
  LOOP("omp parallel for schedule(auto)");
  LOOP("omp parallel for schedule(runtime)");
  const omp_sched_t kinds[] = {omp_sched_static, omp_sched_dynamic, omp_sched_guided, omp_sched_auto};
  for (int k = 0; k < 4; ++k) {
    for (int chunk = 0; chunk < 4; chunk += 3) {
      omp_set_schedule(kinds[k], chunk);
      LOOP("omp parallel for schedule(runtime)");
    }
  }

  // Several loops in a region, without barriers between them.
#pragma omp parallel
  {
#pragma omp for schedule(dynamic, 2) nowait
    for (int i = 0; i < N; i += 2) times[i] += 1, values[i] = 3L * i;
#pragma omp for schedule(guided) nowait
    for (int i = N / 2 * 2 - 1; i > 0; i -= 2) times[i] += 1, values[i] = 3L * i;
#pragma omp for schedule(dynamic) nowait
    for (int i = 0; i < 0; ++i) times[i] += 100;
#pragma omp for schedule(static, 3)
    for (int i = 0; i < N; ++i) values[i] += 0;
  }
  once("nowait");

  // Many loops in one region.
#pragma omp parallel
  for (int round = 0; round < 40; ++round) {
#pragma omp for schedule(dynamic, 50)
    for (int i = 0; i < N; ++i) times[i] += round == i % 40;
  }
  for (int i = 0; i < N; ++i) values[i] = 3L * i;
  once("many loops");

  // Other types, steps and nests.
  long sum = 0;
  unsigned long long first = ~0ULL - 1010;
#pragma omp parallel for schedule(dynamic, 9) reduction(+ : sum)
  for (unsigned long long i = first; i < ~0ULL - 10; i += 3) sum += (long)(i - first);
  CHECK(sum == 166833);  // 0 + 3 + ... + 999
  sum = 0;
#pragma omp parallel for schedule(guided, 2) reduction(+ : sum)
  for (long i = 1000; i >= -1000; i -= 7) sum += i;
  long right = 0;
  for (long i = 1000; i >= -1000; i -= 7) right += i;
  CHECK(sum == right);
  sum = 0;
#pragma omp parallel for collapse(3) schedule(dynamic, 4) reduction(+ : sum)
  for (int i = 0; i < 11; ++i)
    for (int j = 0; j < 7; ++j)
      for (int k = 0; k < 5; ++k) sum += 100 * i + 10 * j + k;
  CHECK(sum == 35L * 55 * 100 + 55L * 21 * 10 + 77L * 10);
  sum = 0;
  int last = -1;
#pragma omp parallel for schedule(dynamic, 3) lastprivate(last) firstprivate(right)
  for (int i = 0; i < 100; i += 3) last = i + (int)(right - right);
  CHECK(last == 99);
  return end();
}
