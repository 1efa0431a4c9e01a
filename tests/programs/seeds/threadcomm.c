// threadcomm: four threads in each process are ranks, the example of the paper on MPICH's extensions.
#include <assert.h>
#include <mpi.h>
#include <omp.h>
#include <plait/mpix.h>
#include <stdio.h>

#define NT 4

int main(void) {
  MPI_Comm threadcomm;

  MPI_Init(NULL, NULL);
  MPIX_Threadcomm_init(MPI_COMM_WORLD, NT, &threadcomm);

#pragma omp parallel num_threads(NT)
  {
    assert(omp_get_num_threads() == NT);
    int rank, size;
    MPIX_Threadcomm_start(threadcomm);
    MPI_Comm_size(threadcomm, &size);
    MPI_Comm_rank(threadcomm, &rank);
    printf(" Rank %d / %d\n", rank, size);

    /* MPI operations over threadcomm */

    MPIX_Threadcomm_finish(threadcomm);
  }

  MPIX_Threadcomm_free(&threadcomm);
  MPI_Finalize();
  return 0;
}
