/* funneled with full load balancing: thread 0 communicates, and gets so many rows that all end together. */
#include <omp.h>
#include <plait/subteam.h>

#include "models.h"

const int thread_level = MPI_THREAD_FUNNELED;
static plait_team team;
static plait_balance balance;

void begin(const Plate* p) {
  (void)p;
  team = plait_team_create(omp_get_max_threads());
  balance = plait_balance_create(team, 0, omp_get_max_threads() - 1);
}
void end(void) { plait_balance_free(&balance), plait_team_free(&team); }

void step(const Plate* p) {
#pragma omp parallel
  {
    const int me = omp_get_thread_num();
    plait_balance_begin(balance, me);
    if (me == 0) exchange(p, p->comm, 0, p->columns);
    PLAIT_FOR_BALANCED(balance, me, i, 2, p->rows) { update(p, (int)i); }
#pragma omp for
    for (int i = 1; i <= p->rows; i += p->rows - 1) update(p, i);
  }
}
