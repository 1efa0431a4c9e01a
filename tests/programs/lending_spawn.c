/* lending_spawn: two processes start two others, and all meet in collective calls: the two groups of an intercommunicator, and as one
 * group. 2 processes. */
#include <mpi.h>
#include <stdio.h>

#include "check.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm other = MPI_COMM_NULL, all;
  MPI_Comm_get_parent(&other);
  const int is_child = other != MPI_COMM_NULL;
  if (!is_child) {
    CHECK(MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &other, MPI_ERRCODES_IGNORE) == MPI_SUCCESS);
  }
  CHECK(MPI_Barrier(other) == MPI_SUCCESS);
  CHECK(MPI_Intercomm_merge(other, is_child, &all) == MPI_SUCCESS);
  for (int i = 0; i < 10; ++i) {
    int one = 1, sum = 0;
    CHECK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD) == MPI_SUCCESS && sum == 2);
    CHECK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, all) == MPI_SUCCESS && sum == 4);
    CHECK(MPI_Barrier(all) == MPI_SUCCESS);
    CHECK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, other) == MPI_SUCCESS && sum == 2);
  }
  int rank;
  MPI_Comm_rank(all, &rank);
  if (rank == 0) puts("all meet");
  MPI_Comm_free(&all);
  MPI_Comm_disconnect(&other);
  MPI_Finalize();
  return 0;
}
