// stream_killed: the last process is killed in the middle of traffic. The others stay in calls that can never end; the
// launcher ends the job.
#define _POSIX_C_SOURCE 200809L
#include <mpi.h>
#include <plait/mpix.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

enum { LARGEST = 300000 };

int main(int argc, char** argv) {
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPIX_Stream stream;
  MPI_Comm comm;
  MPIX_Stream_create(MPI_INFO_NULL, &stream);
  MPIX_Stream_comm_create(MPI_COMM_WORLD, stream, &comm);
  unsigned char *out = calloc(1, LARGEST), *in = calloc(1, LARGEST);
  for (int i = 0;; ++i) {
    MPI_Request send;
    const int bytes = i % 3 ? 8 : LARGEST;
    MPI_Isend(out, bytes, MPI_BYTE, (rank + 1) % size, 0, comm, &send);
    if (rank == size - 1 && i == 300) raise(SIGKILL);
    MPI_Recv(in, LARGEST, MPI_BYTE, (rank + size - 1) % size, 0, comm, MPI_STATUS_IGNORE);
    MPI_Wait(&send, MPI_STATUS_IGNORE);
  }
}
