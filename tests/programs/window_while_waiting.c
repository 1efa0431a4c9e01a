// window_while_waiting N: process 0 adds N times to a counter of process 1's, by MPI_Fetch_and_op, while process 1 waits for a message that
// plait carries. Where the MPI needs the other side for that, it is there: each addition takes far less than the 10 ms that a process
// which waits for long may sleep at a time.
#include <mpi.h>
#include <stdlib.h>

#include "check.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const long n = argc > 1 ? atol(argv[1]) : 1000;
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  long counter = 0;
  MPI_Win window;
  MPI_Win_create(&counter, sizeof counter, sizeof counter, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  if (rank == 0) {
    const long one = 1;
    long before = -1;
    for (long i = 0; i < n; ++i) {
      MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, window);
      MPI_Fetch_and_op(&one, &before, MPI_LONG, 1, 0, MPI_SUM, window);
      MPI_Win_unlock(1, window);
      CHECK(before == i);
    }
    MPI_Send(NULL, 0, MPI_INT, 1, 0, MPI_COMM_WORLD);
  } else if (rank == 1) {
    MPI_Recv(NULL, 0, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, window);
    CHECK(counter == n);
    MPI_Win_unlock(1, window);
    printf("%ld additions while it waited\n", n);
  }
  MPI_Win_free(&window);
  MPI_Finalize();
  return 0;
}
