// Receives in C what carried.F90 sends: both have to be carried, or neither.
#include <mpi.h>
#include <stdio.h>

enum { N = 5000 };

void received_in_c(int source, int number) {
  static int got[N];
  MPI_Recv(got, N, MPI_INT, source, 11, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  for (int i = 0; i < N; ++i) {
    if (got[i] == number) continue;
    fprintf(stderr, "received.c: %d, not %d\n", got[i], number);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
}
