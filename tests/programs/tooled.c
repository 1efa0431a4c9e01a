// tooled [handle]: messages and collective calls whose number is known, for tools to count: each rank makes 40 sends. With handle, odd
// ranks find the MPI's functions as Python's ctypes and Julia do, by the handle of its library. With OWN_WRAPPER the program wraps one
// function itself. 2 processes and more.
#define _GNU_SOURCE  // dladdr
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#include "check.h"

enum { ROUNDS = 20 };

#ifdef OWN_WRAPPER
static int wrapped;
int MPI_Send(const void* buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm) {
  ++wrapped;
  return PMPI_Send(buf, count, datatype, dest, tag, comm);
}
#endif

static int (*send_)(const void*, int, MPI_Datatype, int, int, MPI_Comm) = MPI_Send;
static int (*irecv)(void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*) = MPI_Irecv;
static int (*wait_)(MPI_Request*, MPI_Status*) = MPI_Wait;
static int (*allreduce)(const void*, void*, int, MPI_Datatype, MPI_Op, MPI_Comm) = MPI_Allreduce;

static void find_by_handle(void) {
  Dl_info mpi;
  *(void**)&allreduce = dlsym(RTLD_DEFAULT, "PMPI_Get_version");  // which plait has not
  CHECK(dladdr(*(void**)&allreduce, &mpi));
  void* const handle = dlopen(mpi.dli_fname, RTLD_LAZY);
  CHECK(handle);
  *(void**)&send_ = dlsym(handle, "MPI_Send");
  *(void**)&irecv = dlsym(handle, "PMPI_Irecv");
  *(void**)&wait_ = dlsym(handle, "MPI_Wait");
  *(void**)&allreduce = dlsym(handle, "PMPI_Allreduce");
}

int main(int argc, char** argv) {
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc > 1 && strcmp(argv[1], "handle") == 0 && rank % 2) find_by_handle();
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  const int next = (rank + 1) % size, before = (rank + size - 1) % size;
  for (int i = 0; i < ROUNDS; ++i) {
    int in[2] = {-1, -1};
    const int out[2] = {rank, i};
    MPI_Request request[2];
    irecv(&in[0], 1, MPI_INT, before, i, comm, &request[0]);
    send_(&out[0], 1, MPI_INT, next, i, comm);
    wait_(&request[0], MPI_STATUS_IGNORE);
    irecv(&in[1], 1, MPI_INT, MPI_ANY_SOURCE, i, MPI_COMM_WORLD, &request[0]);
    MPI_Isend(&out[1], 1, MPI_INT, next, i, MPI_COMM_WORLD, &request[1]);
    MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
    CHECK(in[0] == before && in[1] == i);
    int sum = 0;
    allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, i % 2 ? comm : MPI_COMM_WORLD);
    CHECK(sum == size * (size - 1) / 2);
  }
  MPI_Comm_free(&comm);
#ifdef OWN_WRAPPER
  CHECK(wrapped == ROUNDS);
#endif
  MPI_Finalize();
  if (rank == 0) puts("with tools: right");
  return 0;
}
