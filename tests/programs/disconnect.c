// MPI_Comm_disconnect waits until what was sent on a stream communicator has left: a buffered send, and one whose request was freed.
// 2 processes of one node.
#include <mpi.h>
#include <plait/mpix.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "check.h"

enum { kBytes = 1 << 20 };

int main(int argc, char** argv) {
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  _Atomic int *comes, *shared;
  MPI_Win window;
  MPI_Win_allocate_shared(rank == 1 ? sizeof(int) : 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &shared, &window);
  MPI_Aint bytes;
  int unit;
  MPI_Win_shared_query(window, 1, &bytes, &unit, &comes);
  MPIX_Stream stream;
  MPIX_Stream_create(MPI_INFO_NULL, &stream);
  unsigned char* const data = malloc(kBytes);
  for (int way = 0; way < 2; ++way) {
    MPI_Comm comm;
    MPIX_Stream_comm_create(MPI_COMM_WORLD, stream, &comm);
    if (rank == 1) atomic_store(comes, 0);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
      fill(data, kBytes, 3, (unsigned)way);
      if (way == 0) {
        MPI_Bsend(data, kBytes, MPI_BYTE, 1, 0, comm);
      } else {
        MPI_Request request;
        MPI_Isend(data, kBytes, MPI_BYTE, 1, 0, comm, &request);
        MPI_Request_free(&request);
      }
      MPI_Comm_disconnect(&comm);
      CHECK(comm == MPI_COMM_NULL);
      CHECK(atomic_load(comes) == 1);  // it cannot have left before
    } else if (rank == 1) {
      const struct timespec while_the_other_waits = {0, 200000000};
      nanosleep(&while_the_other_waits, NULL);
      atomic_store(comes, 1);
      MPI_Recv(data, kBytes, MPI_BYTE, 0, 0, comm, MPI_STATUS_IGNORE);
      CHECK(is_filled(data, kBytes, 3, (unsigned)way));
      MPI_Comm_disconnect(&comm);
    } else {
      MPI_Comm_disconnect(&comm);
    }
  }
  MPIX_Stream_free(&stream);
  MPI_Win_free(&window);
  free(data);
  if (rank == 0) puts("nothing is left behind");
  MPI_Finalize();
  return 0;
}
