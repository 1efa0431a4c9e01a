// To be preloaded behind libplait: an MPI in which MPI_Iprobe, by which plait lets the MPI move, takes long, and that says in MPI_Finalize
// whether another thread is still inside. MPI does not allow that.
#include <mpi.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

static atomic_int inside;

int MPI_Iprobe(int source, int tag, MPI_Comm comm, int* flag, MPI_Status* status) {
  atomic_fetch_add(&inside, 1);
  usleep(5000);
  const int error = PMPI_Iprobe(source, tag, comm, flag, status);
  atomic_fetch_sub(&inside, 1);
  return error;
}

int MPI_Finalize(void) {
  const int others = atomic_load(&inside);
  // In one write: other processes have lines, too.
  fputs(others == 0 ? "nobody else is inside\n" : "somebody is inside\n", stdout);
  return PMPI_Finalize();
}
