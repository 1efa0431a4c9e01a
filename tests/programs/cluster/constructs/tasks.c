// Tasks: all are done at the next barrier, in the order that their dependences want.
#include "check.h"

static long fib(int n) {
  if (n < 2) return n;
  long a, b;
#pragma omp task shared(a) if (n > 8)
  a = fib(n - 1);
#pragma omp task shared(b) final(n < 6) mergeable
  b = fib(n - 2);
#pragma omp taskwait
  return a + b;
}

int main(void) {
  const int threads = omp_get_max_threads();
  long result = 0;
#pragma omp parallel
#pragma omp single
  result = fib(16);
  CHECK(result == 987);

  static int done[1000];
#pragma omp parallel
  {
#pragma omp single
    for (int i = 0; i < 1000; ++i) {
#pragma omp task firstprivate(i)
      done[i] = i + 1;
    }
  }
  for (int i = 0; i < 1000; ++i) CHECK(done[i] == i + 1);

  // Every thread makes tasks; a barrier ends them.
  int wrong = 0;
  static int by[1024][50];
#pragma omp parallel reduction(+ : wrong)
  {
    const int mine = omp_get_thread_num();
    for (int i = 0; i < 50; ++i) {
#pragma omp task firstprivate(i, mine) priority(i % 3)
      by[mine][i] = 3 * i;
    }
#pragma omp barrier
    for (int t = 0; t < omp_get_num_threads(); ++t)
      for (int i = 0; i < 50; ++i) wrong += by[t][i] != 3 * i;
  }
  CHECK(wrong == 0);

  int x = 0, y = 0, z = 0;
#pragma omp parallel
#pragma omp single
  {
#pragma omp task depend(out : x)
    x = 1;
#pragma omp task depend(in : x) depend(out : y)
    y = x + 1;
#pragma omp task depend(in : x) depend(out : z)
    z = x + 2;
#pragma omp task depend(in : y, z) depend(inout : x)
    x = 10 * y + z;
#pragma omp taskwait
  }
  CHECK(x == 23);

  static long squares[500];
  int grouped = 0;
#pragma omp parallel
#pragma omp single
  {
#pragma omp taskgroup
    {
#pragma omp taskloop grainsize(20) nogroup
      for (int i = 0; i < 500; ++i) squares[i] = (long)i * i;
    }
    for (int i = 0; i < 500; ++i) grouped += squares[i] == (long)i * i;
#pragma omp taskyield
#pragma omp taskloop num_tasks(7)
    for (unsigned long long i = 0; i < 500; ++i) squares[i] += 1;
  }
  CHECK(grouped == 500);
  for (int i = 0; i < 500; ++i) CHECK(squares[i] == (long)i * i + 1);
  (void)threads;
  return end();
}
