/* multiple with full load balancing: all threads communicate, each a share of the halo, and get so many rows that all end together. */
#include <omp.h>
#include <plait/mpix.h>
#include <plait/subteam.h>

#include "models.h"

enum { kMost = 64 };
const int thread_level = MPI_THREAD_MULTIPLE;
static plait_team team;
static plait_balance balance;
static MPI_Comm comms[kMost];

void begin(const Plate* p) {
  const int threads = omp_get_max_threads();
  team = plait_team_create(threads);
  balance = plait_balance_create(team, 0, threads - 1);
  for (int t = 0; t < threads; ++t) MPI_Comm_dup(p->comm, &comms[t]);
}
void end(void) {
  for (int t = 0; t < omp_get_max_threads(); ++t) MPI_Comm_free(&comms[t]);
  plait_balance_free(&balance), plait_team_free(&team);
}

void step(const Plate* p) {
#pragma omp parallel
  {
    const int me = omp_get_thread_num(), threads = omp_get_num_threads();
    const int first = p->columns * me / threads, last = p->columns * (me + 1) / threads;
    plait_balance_begin(balance, me);
    exchange(p, comms[me], first, last - first);
    PLAIT_FOR_BALANCED(balance, me, i, 2, p->rows) { update(p, (int)i); }
#pragma omp for
    for (int i = 1; i <= p->rows; i += p->rows - 1) update(p, i);
  }
}
