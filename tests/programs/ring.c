// ring: every rank sends its number to the next; rank 0 tells who all got. Arguments are printed as they came.
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
  int rank, size, left = -1;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 0, &left, 1, MPI_INT, (rank + size - 1) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  int wrong = left != (rank + size - 1) % size;
  MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) {
    printf("ring of %d %s\n", size, wrong ? "broken" : "closed");
    for (int i = 1; i < argc; ++i) printf("argument %s\n", argv[i]);
  }
  MPI_Finalize();
  return wrong;
}
