// Reductions of tasks: in taskgroups, taskloops, regions, loops, sections and scopes; and conditional lastprivate, whose loops have memory
// in common.
#include "check.h"

struct pair {
  long sum, times;
};
static void add(struct pair* out, const struct pair* in) {
  out->sum += in->sum;
  out->times += in->times;
}
#pragma omp declare reduction(plus : struct pair : add(&omp_out, &omp_in)) initializer(omp_priv = (struct pair){0, 0})

static void groups(void) {
  long sum = 1, product = 1, most = -1;
  long array[5] = {0};
  struct pair pair = {0, 0};
#pragma omp parallel
#pragma omp single
  {
#pragma omp taskgroup task_reduction(+ : sum, array) task_reduction(plus : pair) task_reduction(max : most)
    for (int i = 0; i < 40; ++i) {
#pragma omp task in_reduction(+ : sum, array) in_reduction(plus : pair) in_reduction(max : most) firstprivate(i)
      {
        sum += i;
        array[i % 5] += i;
        pair.sum += 2 * i;
        ++pair.times;
        if (i > most) most = i;
        // A task within sees the same copy.
#pragma omp task in_reduction(+ : sum)
        sum += 1000;
      }
    }
#pragma omp taskgroup task_reduction(* : product)
    {
      // A group within has its own variables and those of the groups around.
#pragma omp taskgroup task_reduction(+ : sum)
      {
#pragma omp task in_reduction(+ : sum) in_reduction(* : product)
        {
          sum += 5;
          product *= 3;
        }
      }
#pragma omp task in_reduction(* : product)
      product *= 7;
    }
  }
  CHECK(sum == 1 + 780 + 40000 + 5);
  CHECK(product == 21);
  CHECK(most == 39);
  for (int i = 0; i < 5; ++i) CHECK(array[i] == 140 + 8 * i);
  CHECK(pair.sum == 1560 && pair.times == 40);
}

static void taskloops(void) {
  long sum = 3, all = 0, none = 4, outer = 0;
#pragma omp parallel
#pragma omp single
  {
#pragma omp taskloop reduction(+ : sum) grainsize(7)
    for (int i = 0; i < 100; ++i) sum += i;
#pragma omp taskloop reduction(+ : all) num_tasks(9) collapse(2)
    for (unsigned long long i = 0; i < 10; ++i)
      for (int j = 0; j < 10; ++j) all += 10 * (long)i + j;
#pragma omp taskloop reduction(+ : none)
    for (int i = 0; i < none - 4; ++i) none += 100;
#pragma omp taskgroup task_reduction(+ : outer)
    {
#pragma omp taskloop in_reduction(+ : outer)
      for (int i = 1; i <= 10; ++i) outer += i;
    }
  }
  CHECK(sum == 3 + 4950);
  CHECK(all == 4950);
  CHECK(none == 4);
  CHECK(outer == 55);
}

static void regions(void) {
  const int threads = omp_get_max_threads();
  long sum = 2, one = 0;
  double most = -1;
#pragma omp parallel reduction(task, + : sum) reduction(task, max : most)
  {
    sum += 1;
    for (int i = 0; i < 6; ++i) {
#pragma omp task in_reduction(+ : sum) in_reduction(max : most) firstprivate(i)
      {
        sum += 10;
        if (most < omp_get_thread_num() + i / 10.0) most = omp_get_thread_num() + i / 10.0;
      }
    }
  }
  CHECK(sum == 2 + 61L * threads);
  CHECK(most >= 0.5);
#pragma omp parallel num_threads(1) reduction(task, + : one)
  {
#pragma omp task in_reduction(+ : one)
    ++one;
  }
  CHECK(one == 1);
}

static void constructs(void) {
  const int threads = omp_get_max_threads();
  long loop = 0, fixed = 0, big = 0, parts = 0, scope = 0, plain = 0, both = 0;
#pragma omp parallel
  {
#pragma omp for reduction(task, + : loop) schedule(dynamic, 3)
    for (int i = 0; i < 100; ++i) {
#pragma omp task in_reduction(+ : loop) firstprivate(i)
      loop += i;
    }
#pragma omp for reduction(task, + : fixed) schedule(static)
    for (int i = 0; i < 100; ++i) {
      fixed += 1000;
#pragma omp task in_reduction(+ : fixed) firstprivate(i)
      fixed += i;
    }
#pragma omp for reduction(task, + : big) schedule(guided)
    for (unsigned long long i = 0; i < 50; ++i) {
#pragma omp task in_reduction(+ : big) firstprivate(i)
      big += (long)i;
    }
#pragma omp sections reduction(task, + : parts)
    {
#pragma omp section
      {
#pragma omp task in_reduction(+ : parts)
        parts += 1;
      }
#pragma omp section
      parts += 10;
#pragma omp section
      {
#pragma omp task in_reduction(+ : parts)
        parts += 100;
      }
    }
#pragma omp scope reduction(task, + : scope)
    {
#pragma omp task in_reduction(+ : scope)
      scope += 2;
    }
#pragma omp scope reduction(+ : plain)
    plain += 3;
#pragma omp for reduction(task, + : both) schedule(runtime) collapse(2)
    for (int i = 0; i < 8; ++i)
      for (int j = 0; j < 8; ++j) {
#pragma omp taskgroup task_reduction(+ : loop)
        {
#pragma omp task in_reduction(+ : both) firstprivate(i, j)
          both += i * j;
        }
      }
  }
  CHECK(loop == 4950);
  CHECK(fixed == 104950);
  CHECK(big == 1225);
  CHECK(parts == 111);
  CHECK(scope == 2L * threads);
  CHECK(plain == 3L * threads);
  CHECK(both == 28 * 28);
}

static void conditional(void) {
  long a = -1, b = -1, c = -1, d = -1;
#pragma omp parallel
  {
#pragma omp for lastprivate(conditional : a) schedule(dynamic, 2)
    for (int i = 0; i < 50; ++i)
      if (i % 7 == 3) a = i;
#pragma omp for lastprivate(conditional : b) schedule(static) nowait
    for (int i = 0; i < 50; ++i)
      if (i % 11 == 3) b = i;
#pragma omp for lastprivate(conditional : c) schedule(static, 3)
    for (unsigned long long i = 0; i < 50; ++i)
      if (i % 9 == 8) c = (long)i;
#pragma omp sections lastprivate(conditional : d)
    {
#pragma omp section
      d = 1;
#pragma omp section
      d = 2;
    }
  }
  CHECK(a == 45);
  CHECK(b == 47);
  CHECK(c == 44);
  CHECK(d == 2);
}

int main(void) {
  groups();
  taskloops();
  regions();
  constructs();
  conditional();
  return end();
}
