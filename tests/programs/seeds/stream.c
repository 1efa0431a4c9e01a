// stream: four threads of rank 0 send to four of rank 1, each on a stream of its own: the example of the paper on MPICH's extensions.
#include <mpi.h>
#include <omp.h>
#include <plait/mpix.h>
#include <stdio.h>

#include "../check.h"

#define NT 4

int main(void) {
  int rank;
  int tl;
  MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &tl);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);

  MPIX_Stream streams[NT];
  MPI_Comm comms[NT];
  for (int i = 0; i < NT; i++) {
    MPIX_Stream_create(MPI_INFO_NULL, &streams[i]);
    MPIX_Stream_comm_create(MPI_COMM_WORLD, streams[i], &comms[i]);
  }

#pragma omp parallel num_threads(NT)
  {
    int id = omp_get_thread_num();
    char buf[100];
    int tag = 0;
    if (rank == 0) {
      fill((unsigned char*)buf, 100, 0, (unsigned)id);
      MPI_Send(buf, 100, MPI_CHAR, 1, tag, comms[id]);
    } else if (rank == 1) {
      MPI_Recv(buf, 100, MPI_CHAR, 0, tag, comms[id], MPI_STATUS_IGNORE);
      CHECK(is_filled((unsigned char*)buf, 100, 0, (unsigned)id));
    }
  }
  for (int i = 0; i < NT; i++) {
    CHECK(MPI_Comm_free(&comms[i]) == MPI_SUCCESS);
    CHECK(MPIX_Stream_free(&streams[i]) == MPI_SUCCESS);
  }

  if (rank == 1) printf("messages of %d streams: right\n", NT);
  MPI_Finalize();
  return 0;
}
