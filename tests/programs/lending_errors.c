/* lending_errors: mistakes in calls that lending polls, of which the program's own error handler is told: each once, and the call comes
 * back. 2 processes. */
#include <mpi.h>
#include <stdio.h>

static int told;

static void count(MPI_Comm* comm, int* code, ...) {
  (void)comm, (void)code;
  ++told;
}

static int right = 1;

static void once(const char* call) {
  if (told != 1) fprintf(stderr, "%s has told the error handler %d times\n", call, told), right = 0;
  told = 0;
}

#define ONCE(call) (void)(call), once(#call)

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, byte = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Errhandler handler;
  MPI_Comm_create_errhandler(count, &handler);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, handler);
  MPI_Message message;
  ONCE(MPI_Probe(99, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  ONCE(MPI_Mprobe(99, 0, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE));
  ONCE(MPI_Send(&byte, 1, MPI_BYTE, 99, 0, MPI_COMM_WORLD));
  ONCE(MPI_Recv(&byte, 1, MPI_BYTE, 99, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  ONCE(MPI_Bcast(&byte, 1, MPI_BYTE, 99, MPI_COMM_WORLD));
  ONCE(MPI_Sendrecv(&byte, 1, MPI_BYTE, MPI_PROC_NULL, 0, &byte, 1, MPI_BYTE, 99, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  ONCE(MPI_Sendrecv(&byte, 1, MPI_BYTE, 99, 0, &byte, 1, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
#ifdef MPICH_NUMVERSION /* whose requests are numbers: this is none of one */
  MPI_Request none = (MPI_Request)MPI_COMM_WORLD, two[2] = {none, MPI_REQUEST_NULL};
  int index, indices[2];
  ONCE(MPI_Wait(&none, MPI_STATUS_IGNORE));
  ONCE(MPI_Waitall(2, two, MPI_STATUSES_IGNORE));
  ONCE(MPI_Waitany(2, two, &index, MPI_STATUS_IGNORE));
  ONCE(MPI_Waitsome(2, two, &index, indices, MPI_STATUSES_IGNORE));
#endif
  MPI_Errhandler_free(&handler);
  /* Between the processes nothing is left over. */
  int sum = 0;
  MPI_Allreduce(&right, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0 && sum == 2) printf("each mistake is told once\n");
  MPI_Finalize();
  return 0;
}
