/* partitioned: one message for each neighbour, to which each thread adds its share when that is ready. The rows that need no halo are
 * updated while the messages are on their way. */
#include <omp.h>
#include <plait/partitioned.h>

#include "models.h"

const int thread_level = MPI_THREAD_MULTIPLE;
static MPI_Request requests[2][4]; /* for the points that are `now` and `next` in the first step */
static const double* first_now;

static void make(const Plate* p, double* at, MPI_Request* r) {
  const int n = omp_get_max_threads(), c = p->columns / n; /* the columns are a multiple of the threads */
  double *first = at + p->columns, *last = at + (long)p->rows * p->columns;
  MPI_Precv_init(at, n, c, MPI_DOUBLE, p->up, 1, p->comm, MPI_INFO_NULL, &r[0]);
  MPI_Precv_init(last + p->columns, n, c, MPI_DOUBLE, p->down, 0, p->comm, MPI_INFO_NULL, &r[1]);
  MPI_Psend_init(first, n, c, MPI_DOUBLE, p->up, 0, p->comm, MPI_INFO_NULL, &r[2]);
  MPI_Psend_init(last, n, c, MPI_DOUBLE, p->down, 1, p->comm, MPI_INFO_NULL, &r[3]);
}
void begin(const Plate* p) {
  first_now = p->now;
  make(p, p->now, requests[0]);
  make(p, p->next, requests[1]);
}
void end(void) {
  for (int i = 0; i < 8; ++i) MPI_Request_free(&requests[i / 4][i % 4]);
}

void step(const Plate* p) {
  MPI_Request* const r = requests[p->now != first_now];
  MPI_Startall(4, r);
#pragma omp parallel
  {
    MPI_Pready(omp_get_thread_num(), r[2]);
    MPI_Pready(omp_get_thread_num(), r[3]);
#pragma omp for nowait
    for (int i = 2; i < p->rows; ++i) update(p, i);
#pragma omp single
    MPI_Waitall(4, r, MPI_STATUSES_IGNORE);
#pragma omp for
    for (int i = 1; i <= p->rows; i += p->rows - 1) update(p, i);
  }
}
