// MPI_Finalize while plait's progress thread is at work: nothing of plait's is inside the MPI then.
#include <mpi.h>
#include <plait/mpix.h>
#include <stdio.h>

#include "check.h"

int main(int argc, char** argv) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  if (provided < MPI_THREAD_MULTIPLE) {
    puts("the MPI lacks MPI_THREAD_MULTIPLE");
    MPI_Finalize();
    return 77;
  }
  CHECK(MPIX_Start_progress_thread(MPIX_STREAM_NULL) == MPI_SUCCESS);
  for (int i = 0; i < 10; ++i) MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
