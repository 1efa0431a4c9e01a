// Cancellation, with OMP_CANCELLATION=true and without.
#include "check.h"

enum { N = 400 };
static char done[N];

static int cancelled_loop(int at) {
  int found = -1, later = 0;
  memset(done, 0, sizeof done);
#pragma omp parallel
  {
#pragma omp for
    for (int i = 0; i < N; ++i) {
#pragma omp cancellation point for
      if (i == at) {
#pragma omp atomic write
        found = i;
#pragma omp cancel for
      }
      done[i] = 1;
    }
    // The team goes on.
#pragma omp for schedule(dynamic, 5) reduction(+ : later)
    for (int i = 0; i < N; ++i) ++later;
  }
  CHECK(later == N);
  CHECK(!done[at]);
  return found;
}

/// All threads go round until one of them, the last to come, cancels.
static void dynamic_loop(void) {
  int seen = 0, begun = 0;
#pragma omp parallel num_threads(omp_get_max_threads())
  {
    const int threads = omp_get_num_threads();
#pragma omp for schedule(static, 1)
    for (int i = 0; i < threads; ++i) {
#pragma omp atomic
      ++begun;
      for (;;) {
        int now;
#pragma omp atomic read
        now = begun;
        if (now == threads && omp_get_thread_num() == threads - 1) {
#pragma omp cancel for
        }
#pragma omp cancellation point for
      }
    }
#pragma omp atomic
    ++seen;
  }
  CHECK(seen == omp_get_max_threads());
  CHECK(begun == omp_get_max_threads());
}

static void cancelled_sections(void) {
  int first = 0, last = 0, after = 0;
#pragma omp parallel num_threads(omp_get_max_threads())
  {
#pragma omp sections
    {
#pragma omp section
      {
#pragma omp atomic write
        first = 1;
#pragma omp cancel sections
#pragma omp atomic write
        last = 1;
      }
#pragma omp section
      {
#pragma omp cancellation point sections
      }
    }
#pragma omp atomic
    ++after;
  }
  CHECK(first == 1 && last == 0);
  CHECK(after == omp_get_max_threads());
}

/// Threads wait at a barrier that one of them never comes to.
static void cancelled_region(int who) {
  int passed = 0, before = 0;
#pragma omp parallel
  {
#pragma omp atomic
    ++before;
#pragma omp barrier
    if (omp_get_thread_num() == who) {
#pragma omp cancel parallel
    }
#pragma omp barrier
#pragma omp atomic
    ++passed;
  }
  CHECK(before == omp_get_max_threads());
  CHECK(passed == 0);
}

/// Threads work until one says that it is over; a loop's end is a barrier as well.
static void cancelled_work(int who) {
  int passed = 0;
#pragma omp parallel
  {
    if (omp_get_thread_num() == who) {
#pragma omp cancel parallel
    }
    if (omp_get_thread_num() % 2 == who % 2) {
      for (;;) {
#pragma omp cancellation point parallel
      }
    }
#pragma omp for schedule(dynamic)
    for (int i = 0; i < 10; ++i) done[i] = 2;
#pragma omp atomic
    ++passed;
  }
  CHECK(passed == 0);
}

static void cancelled_group(void) {
  int count = 0, outside = 0, conditional = 0, looped = 0;
#pragma omp parallel
#pragma omp single
  {
#pragma omp taskgroup
    {
      for (int i = 0; i < 100; ++i) {
#pragma omp task firstprivate(i)
        {
          if (i == 10) {
#pragma omp cancel taskgroup
          }
#pragma omp cancellation point taskgroup
#pragma omp atomic
          ++count;
        }
      }
    }
    // A taskloop's tasks are the group's, too.
#pragma omp taskgroup
    {
#pragma omp task if (0)
      {
#pragma omp cancel taskgroup
      }
#pragma omp taskloop nogroup grainsize(1)
      for (int i = 0; i < 50; ++i) {
#pragma omp atomic
        ++looped;
      }
    }
#pragma omp task
#pragma omp atomic
    ++outside;
#pragma omp taskgroup
    for (int i = 0; i < 20; ++i) {
#pragma omp task firstprivate(i)
      {
#pragma omp cancel taskgroup if (i < 0)
#pragma omp atomic
        ++conditional;
      }
    }
  }
  CHECK(count < 100);
  CHECK(looped == 0);
  CHECK(outside == 1);
  CHECK(conditional == 20);
}

/// Many in one region: by each schedule, by each thread, between others that nobody cancels.
static void one_after_the_other(void) {
  int complete = 0, wrong = 0;
#pragma omp parallel reduction(+ : complete, wrong)
  {
    for (int turn = 0; turn < 200; ++turn) {
#pragma omp for schedule(dynamic, 3)
      for (int i = 0; i < N; ++i) {
#pragma omp cancel for if (i >= turn)
#pragma omp cancellation point for
      }
#pragma omp for schedule(guided)
      for (int i = 0; i < N; ++i) done[i] = (char)turn;
#pragma omp for schedule(monotonic : dynamic) nowait
      for (int i = 0; i < 10; ++i) ++complete;
#pragma omp for schedule(runtime)
      for (int i = 0; i < N; ++i) {
        wrong += done[i] != (char)turn;
#pragma omp cancel for if (i == turn)
      }
    }
  }
  CHECK(complete == 10 * 200);
  CHECK(wrong == 0);
}

/// Where the environment does not allow it, nothing is cancelled.
static void ignored(void) {
  int all = 0, tasks = 0, passed = 0;
#pragma omp parallel reduction(+ : all)
  {
#pragma omp for
    for (int i = 0; i < N; ++i) {
#pragma omp cancel for
#pragma omp cancellation point for
      ++all;
    }
#pragma omp single
#pragma omp taskgroup
    for (int i = 0; i < 10; ++i) {
#pragma omp task
      {
#pragma omp cancel taskgroup
#pragma omp atomic
        ++tasks;
      }
    }
#pragma omp cancel parallel
#pragma omp barrier
#pragma omp atomic
    ++passed;
  }
  CHECK(all == N);
  CHECK(tasks == 10);
  CHECK(passed == omp_get_max_threads());
}

int main(void) {
  const int threads = omp_get_max_threads();
  if (!omp_get_cancellation()) {
    ignored();
    puts("nothing is cancelled");
    return end();
  }
  for (int at = 0; at < N; at += 57) CHECK(cancelled_loop(at) == at);
  dynamic_loop();
  cancelled_sections();
  for (int who = 0; who < threads; ++who) cancelled_region(who);
  for (int who = 0; who < threads; ++who) cancelled_work(who);
  cancelled_group();
  one_after_the_other();
  return end();
}
