// spawn: a process that starts another one, which sends it a number. 1 process.
#include <mpi.h>
#include <stdio.h>

#include "check.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm other = MPI_COMM_NULL;
  MPI_Comm_get_parent(&other);
  int number = 7;
  if (other != MPI_COMM_NULL) {
    MPI_Send(&number, 1, MPI_INT, 0, 3, other);
  } else {
    number = 0;
    CHECK(MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_SELF, &other, MPI_ERRCODES_IGNORE) == MPI_SUCCESS);
    CHECK(MPI_Recv(&number, 1, MPI_INT, 0, 3, other, MPI_STATUS_IGNORE) == MPI_SUCCESS && number == 7);
    puts("a number came from a spawned process: right");
  }
  MPI_Comm_disconnect(&other);
  MPI_Finalize();
  return 0;
}
