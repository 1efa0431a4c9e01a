// threadcomm: the example of the paper. Two processes of four threads each are the ranks 0 to 7 of 8.
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
    // Each sends to the next one, whichever process that is in.
    int left = -1;
    MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 0, &left, 1, MPI_INT, MPI_ANY_SOURCE, 0, threadcomm, MPI_STATUS_IGNORE);
    int right = left == (rank + size - 1) % size;
    MPI_Allreduce(MPI_IN_PLACE, &right, 1, MPI_INT, MPI_MIN, threadcomm);
    MPI_Barrier(threadcomm);
    if (rank == 0) printf("the ring is %s\n", right ? "right" : "wrong");
    MPIX_Threadcomm_finish(threadcomm);
  }
  MPIX_Threadcomm_free(&threadcomm);
  MPI_Finalize();
  return 0;
}
