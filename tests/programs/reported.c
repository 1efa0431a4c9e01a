// What PLAIT_REPORT=1 tells: rank 0 sends 10 messages of 8 bytes and one of 1 MB to rank 1 on a duplicate named "pairs" that is freed, and
// 5 of 4 bytes on MPI_COMM_WORLD. 2 processes.
#include <mpi.h>
#include <stdlib.h>

enum { LARGE = 1 << 20 };

static void pass(int rank, void* buffer, int bytes, MPI_Comm comm) {
  if (rank == 0) MPI_Send(buffer, bytes, MPI_BYTE, 1, 0, comm);
  if (rank == 1) MPI_Recv(buffer, bytes, MPI_BYTE, 0, 0, comm, MPI_STATUS_IGNORE);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  char* const buffer = calloc(LARGE, 1);
  MPI_Comm pairs = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &pairs);
  MPI_Comm_set_name(pairs, "pairs");
  for (int i = 0; i < 10; ++i) pass(rank, buffer, 8, pairs);
  pass(rank, buffer, LARGE, pairs);
  MPI_Comm_free(&pairs);
  for (int i = 0; i < 5; ++i) pass(rank, buffer, 4, MPI_COMM_WORLD);
  MPI_Comm between = MPI_COMM_NULL;
  MPI_Intercomm_create(MPI_COMM_SELF, 0, MPI_COMM_WORLD, !rank, 0, &between);
  MPI_Comm_free(&between);
  free(buffer);
  MPI_Finalize();
  return 0;
}
