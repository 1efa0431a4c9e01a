// Partitioned requests that are freed without a message: what their processes tell each other comes at the very end, to those who have
// nothing of the kind any more, or never had. Some MPIs complain of messages that are left. 2 processes and more: 0 sends to all others.
#include <mpi.h>
#include <plait/partitioned.h>
#include <stdlib.h>

#include "check.h"

int main(int argc, char** argv) {
  enum { kRequests = 20, kBytes = 100 };
  static char bytes[kRequests][kBytes];
  int rank, size, provided;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int receives = argc > 1 && atoi(argv[1]);  // do the others have requests?
  MPI_Request request[kRequests];
  for (int other = 1; other < size; ++other) {
    for (int i = 0; i < kRequests && rank == 0; ++i)
      MPI_Psend_init(bytes[i], 2, kBytes / 2, MPI_BYTE, other, i, MPI_COMM_WORLD, MPI_INFO_NULL, &request[i]);
    for (int i = 0; i < kRequests && rank == other && receives; ++i)
      MPI_Precv_init(bytes[i], 2, kBytes / 2, MPI_BYTE, 0, i, MPI_COMM_WORLD, MPI_INFO_NULL, &request[i]);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < kRequests && (rank == 0 || (rank == other && receives)); ++i) MPI_Request_free(&request[i]);
  }
  MPI_Finalize();
  if (rank == 0) puts("nothing was left");
  return 0;
}
