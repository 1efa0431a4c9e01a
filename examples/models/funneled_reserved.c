/* funneled and reserved: thread 0 communicates and does nothing else; the others share the rows that need no halo. */
#include <omp.h>
#include <plait/subteam.h>

#include "models.h"

const int thread_level = MPI_THREAD_FUNNELED;
static plait_team team;

void begin(const Plate* p) { (void)p, team = plait_team_create(omp_get_max_threads()); }
void end(void) { plait_team_free(&team); }

void step(const Plate* p) {
#pragma omp parallel
  {
    const int me = omp_get_thread_num(), threads = omp_get_num_threads();
    PLAIT_SINGLE_ONTHREADS(team, me, 0, 0) { exchange(p, p->comm, 0, p->columns); }
    PLAIT_FOR_ONTHREADS(team, me, 1, threads - 1, i, 2, p->rows) { update(p, (int)i); }
#pragma omp barrier
#pragma omp for
    for (int i = 1; i <= p->rows; i += p->rows - 1) update(p, i); /* the first row and the last */
  }
}
