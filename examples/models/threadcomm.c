/* threads as ranks: the program of pure MPI, each thread a rank with a block of its own.
 *
 *     plait cc -O2 -fopenmp threadcomm.c plate.c -o threadcomm && plait run -n 2 -t 2 ./threadcomm
 */
#include <omp.h>
#include <plait/mpix.h>

#include "models.h"

const int thread_level = MPI_THREAD_SINGLE;

void begin(const Plate* p) { (void)p; }
void end(void) {}

void step(const Plate* p) {
  exchange(p, p->comm, 0, p->columns);
  for (int i = 1; i <= p->rows; ++i) update(p, i);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm comm;
  MPIX_Threadcomm_init(MPI_COMM_WORLD, omp_get_max_threads(), &comm);
#pragma omp parallel
  {
    MPIX_Threadcomm_start(comm);
    simulate(comm, 50);
    MPIX_Threadcomm_finish(comm);
  }
  MPIX_Threadcomm_free(&comm);
  MPI_Finalize();
  return 0;
}
