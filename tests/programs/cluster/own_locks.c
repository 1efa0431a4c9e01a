// Each thread has a lock of its own on its stack, at the same address in several processes, and all hold theirs at once.
#include <omp.h>
#include <stdio.h>

static int holders;

int main(void) {
#pragma omp parallel
  {
    omp_lock_t own;
    omp_init_lock(&own);
    omp_set_lock(&own);
    int all = 0;
#pragma omp atomic
    ++holders;
    while (all < omp_get_num_threads()) {
#pragma omp atomic read
      all = holders;
    }
    omp_unset_lock(&own);
    omp_destroy_lock(&own);
  }
  puts(holders == omp_get_max_threads() ? "right" : "wrong");
}
