// Who is in a team: if, num_threads, nested regions, serial parts, what omp_* say there, and how large stacks are: OMP_STACKSIZE is 40M.
#include "check.h"

/// More than the system gives to a thread of which nothing is said.
static __attribute__((noinline)) int use_stack(int number) {
  volatile char own[24 << 20];
  int wrong = 0;
  for (size_t i = 0; i < sizeof own; i += 4096) own[i] = (char)number;
  for (size_t i = 0; i < sizeof own; i += 4096) wrong += own[i] != (char)number;
  return wrong;
}

int main(void) {
  const int threads = omp_get_max_threads();
  CHECK(omp_get_num_threads() == 1 && omp_get_thread_num() == 0 && !omp_in_parallel() && omp_get_level() == 0);

  int numbers[1024] = {0}, wrong = 0;
#pragma omp parallel reduction(+ : wrong)
  {
    numbers[omp_get_thread_num()] += 1;
    wrong += omp_get_num_threads() != threads;
    wrong += omp_get_level() != 1;
    wrong += omp_get_team_size(1) != threads;
    wrong += omp_get_team_size(0) != 1;
    wrong += omp_get_ancestor_thread_num(1) != omp_get_thread_num();
    wrong += omp_get_ancestor_thread_num(0) != 0;
    wrong += omp_in_parallel() != (threads > 1);
    // The first thread's is the program's.
    if (omp_get_thread_num() > 0) wrong += use_stack(omp_get_thread_num());
  }
  CHECK(wrong == 0);
  for (int i = 0; i < threads; ++i) CHECK(numbers[i] == 1);

  int alone = 0;
#pragma omp parallel if (0) reduction(+ : alone)
  alone += omp_get_num_threads();
  CHECK(alone == 1);
#pragma omp parallel num_threads(1) reduction(+ : alone)
  alone += omp_get_num_threads();
  CHECK(alone == 2);

  for (int n = 1; n <= threads; ++n) {
    int members = 0, all = 0;
#pragma omp parallel num_threads(n) reduction(+ : members, all)
    {
      members += 1;
      all += omp_get_num_threads();
    }
    CHECK(members >= 1 && members <= n && all == members * members);
  }
  omp_set_num_threads(threads);
  CHECK(omp_get_max_threads() == threads);

  // By default a region within a region has one thread.
  int inner = 0, outer = 0;
#pragma omp parallel reduction(+ : inner, outer)
  {
    outer += 1;
#pragma omp parallel num_threads(2) reduction(+ : inner)
    {
      inner += 1;
      for (int i = 0; i < 10; ++i) {
#pragma omp barrier
      }
    }
  }
  CHECK(outer == threads);
  CHECK(inner == (threads > 1 ? outer : 2));

  // A team that is no multiple of the processes is process 0's; a region within it, too.
  omp_set_max_active_levels(1);
  int within = 0, most = 0;
#pragma omp parallel num_threads(threads + 1) reduction(+ : within) reduction(max : most)
  {
#pragma omp parallel reduction(+ : within) reduction(max : most)
    {
      within += 1;
      most = omp_get_num_threads();
    }
  }
  CHECK(within == threads + 1);
  CHECK(most == 1);

  omp_set_max_active_levels(2);
  static int at[1024][2];
  int levels = 0, tasks = 0;
  long loops = 0;
  wrong = 0;
#pragma omp parallel reduction(+ : levels, loops, wrong, tasks)
  {
    const int mine = omp_get_thread_num();
    const int active = omp_get_active_level();
#pragma omp parallel num_threads(2) reduction(+ : levels, loops, wrong) reduction(task, + : tasks)
    {
      levels += 1;
      wrong += omp_get_level() != 2 || omp_get_active_level() != active + 1 || !omp_in_parallel();
      wrong += omp_get_ancestor_thread_num(1) != mine || omp_get_ancestor_thread_num(2) != omp_get_thread_num();
      wrong += omp_get_team_size(1) != threads || omp_get_team_size(2) != 2;
#pragma omp task in_reduction(+ : tasks)
      tasks += omp_get_level() == 2 && omp_get_team_size(1) == threads;
#pragma omp critical
      at[mine][omp_get_thread_num()] += 1;
#pragma omp for schedule(dynamic)
      for (int i = 0; i < 100; ++i) loops += i;
#pragma omp single
      at[mine][0] += 10;
    }
  }
  CHECK(levels == 2 * threads);
  CHECK(tasks == 2 * threads);
  CHECK(wrong == 0);
  CHECK(loops == 4950L * threads);
  for (int i = 0; i < threads; ++i) CHECK(at[i][0] == 11 && at[i][1] == 1);

  // The threads of those regions forget it.
  wrong = 0;
#pragma omp parallel num_threads(threads + 1) reduction(+ : wrong)
  wrong += omp_get_level() != 1 || omp_get_team_size(1) != omp_get_num_threads();
  CHECK(wrong == 0);
  return end();
}
