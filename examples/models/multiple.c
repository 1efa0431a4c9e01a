/* multiple: each thread exchanges its share of the halo, on a stream of its own: none waits for the MPI's locks. */
#include <omp.h>
#include <plait/mpix.h>

#include "models.h"

enum { kMost = 64 };
const int thread_level = MPI_THREAD_MULTIPLE;
static MPIX_Stream streams[kMost];
static MPI_Comm comms[kMost];

void begin(const Plate* p) {
  for (int t = 0; t < omp_get_max_threads(); ++t) {
    MPIX_Stream_create(MPI_INFO_NULL, &streams[t]);
    MPIX_Stream_comm_create(p->comm, streams[t], &comms[t]);
  }
}
void end(void) {
  for (int t = 0; t < omp_get_max_threads(); ++t) MPI_Comm_free(&comms[t]), MPIX_Stream_free(&streams[t]);
}

void step(const Plate* p) {
#pragma omp parallel
  {
    const int me = omp_get_thread_num(), threads = omp_get_num_threads();
    const int first = p->columns * me / threads, last = p->columns * (me + 1) / threads;
    exchange(p, comms[me], first, last - first);
#pragma omp barrier
#pragma omp for
    for (int i = 1; i <= p->rows; ++i) update(p, i);
  }
}
