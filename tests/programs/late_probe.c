// late_probe N: N messages, each taken out by MPI_Mprobe. The sender waits for 0 to 300 us, so that some come just when the receiver goes
// to sleep. 2 processes.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char** argv) {
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const int messages = argc > 1 ? atoi(argv[1]) : 1000;
  for (int i = 0; i < messages; ++i) {
    int number = -1;
    if (rank == 0) {
      MPI_Recv(&number, 1, MPI_INT, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      for (const double until = MPI_Wtime() + i % 3000 * 1e-7; MPI_Wtime() < until;);
      MPI_Send(&i, 1, MPI_INT, 1, 1, MPI_COMM_WORLD);
    } else {
      MPI_Message message;
      MPI_Status status;
      MPI_Send(&i, 1, MPI_INT, 0, 2, MPI_COMM_WORLD);
      MPI_Mprobe(0, 1, MPI_COMM_WORLD, &message, &status);
      MPI_Mrecv(&number, 1, MPI_INT, &message, &status);
      if (number != i) {
        fprintf(stderr, "message %d has %d in it\n", i, number);
        MPI_Abort(MPI_COMM_WORLD, 1);
      }
    }
  }
  if (rank == 1) printf("%d messages\n", messages);
  MPI_Finalize();
  return 0;
}
