/* multiple and reserved: half of the threads communicate, each a share of the halo; the others share the rows that need none. */
#include <omp.h>
#include <plait/mpix.h>
#include <plait/subteam.h>

#include "models.h"

enum { kMost = 64 };
const int thread_level = MPI_THREAD_MULTIPLE;
static plait_team team;
static MPI_Comm comms[kMost];
static int reserved;

void begin(const Plate* p) {
  team = plait_team_create(omp_get_max_threads());
  reserved = omp_get_max_threads() / 2;
  for (int t = 0; t < reserved; ++t) MPI_Comm_dup(p->comm, &comms[t]);
}
void end(void) {
  for (int t = 0; t < reserved; ++t) MPI_Comm_free(&comms[t]);
  plait_team_free(&team);
}

void step(const Plate* p) {
#pragma omp parallel
  {
    const int me = omp_get_thread_num(), threads = omp_get_num_threads();
    if (me < reserved) {
      const int first = p->columns * me / reserved, last = p->columns * (me + 1) / reserved;
      exchange(p, comms[me], first, last - first);
    }
    PLAIT_FOR_ONTHREADS(team, me, reserved, threads - 1, i, 2, p->rows) { update(p, (int)i); }
#pragma omp barrier
#pragma omp for
    for (int i = 1; i <= p->rows; i += p->rows - 1) update(p, i);
  }
}
