// stream_unfinished: ends with receives that nobody sends to, sends that nobody receives, large and small, and communicators
// and streams that were not freed; MPI_Finalize comes back all the same.
#include <mpi.h>
#include <plait/mpix.h>
#include <stdio.h>

enum { LARGE = 1000000 };

int main(int argc, char** argv) {
  static unsigned char out[LARGE], in[LARGE];
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPIX_Stream streams[2];
  MPI_Comm comms[2];
  for (int i = 0; i < 2; ++i) {
    MPIX_Stream_create(MPI_INFO_NULL, &streams[i]);
    MPIX_Stream_comm_create(MPI_COMM_WORLD, streams[i], &comms[i]);
    MPI_Request r;
    MPI_Irecv(in, LARGE, MPI_BYTE, (rank + 1) % size, 1, comms[i], &r);
    MPI_Irecv(in, LARGE, MPI_BYTE, MPI_ANY_SOURCE, 2, comms[i], &r);
    for (int n = 0; n < 300; ++n) MPI_Isend(out, 8, MPI_BYTE, (rank + 1) % size, 3, comms[i], &r);
    MPI_Isend(out, LARGE, MPI_BYTE, (rank + 1) % size, 4, comms[i], &r);
    MPI_Request_free(&r);
    MPI_Issend(out, 8, MPI_BYTE, (rank + 1) % size, 5, comms[i], &r);
    MPI_Recv_init(in, 8, MPI_BYTE, rank, 6, comms[i], &r);
    MPI_Start(&r);
  }
  MPI_Comm_free(&comms[0]);
  if (rank == 0) printf("over with unfinished messages in %d processes\n", size);
  MPI_Finalize();
  return 0;
}
