// stream_hang SECONDS: rank 0 receives on a stream communicator what the last rank sends so much later; another message lies
// there unexpected. With PLAIT_WATCHDOG below that, the wait is told once.
#define _POSIX_C_SOURCE 200809L
#include <mpi.h>
#include <plait/mpix.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "check.h"

int main(int argc, char** argv) {
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const double late = argc > 1 ? atof(argv[1]) : 3;
  MPIX_Stream stream;
  MPI_Comm comm;
  MPIX_Stream_create(MPI_INFO_NULL, &stream);
  MPIX_Stream_comm_create(MPI_COMM_WORLD, stream, &comm);
  MPI_Comm_set_name(comm, "late");
  int in = -1, other = -1;
  if (rank == size - 1) {
    const struct timespec pause = {(time_t)late, (long)((late - (double)(time_t)late) * 1e9)};
    MPI_Send(&rank, 1, MPI_INT, 0, 8, comm);
    nanosleep(&pause, NULL);
    MPI_Send(&size, 1, MPI_INT, 0, 7, comm);
  }
  if (rank == 0) {
    MPI_Recv(&in, 1, MPI_INT, size - 1, 7, comm, MPI_STATUS_IGNORE);
    MPI_Recv(&other, 1, MPI_INT, size - 1, 8, comm, MPI_STATUS_IGNORE);
    CHECK(in == size && other == size - 1);
    printf("the late message came\n");
  }
  MPI_Comm_free(&comm);
  MPIX_Stream_free(&stream);
  MPI_Finalize();
  return 0;
}
