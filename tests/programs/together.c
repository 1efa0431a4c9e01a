// together: MPI_Testall on a generalized request and a long message, where the request completes only when the message is
// through: the call has to move both while neither may end. For two processes.
#include <mpi.h>
#include <plait/mpix.h>
#include <stdio.h>
#include <stdlib.h>

enum { BYTES = 8 << 20 };

typedef struct {
  volatile int* arrived;
  MPI_Request request;
} Task;

static int query_fn(void* extra, MPI_Status* status) {
  (void)extra;
  MPI_Status_set_elements(status, MPI_BYTE, 0);
  MPI_Status_set_cancelled(status, 0);
  return MPI_SUCCESS;
}

static int free_fn(void* extra) {
  (void)extra;
  return MPI_SUCCESS;
}

static int cancel_fn(void* extra, int complete) {
  (void)extra;
  (void)complete;
  return MPI_SUCCESS;
}

static int poll_fn(void* extra, MPI_Status* status) {
  (void)status;
  Task* t = extra;
  if (*t->arrived) MPI_Grequest_complete(t->request);
  return MPI_SUCCESS;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, unit = 0, *arrived = NULL;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Win win;
  MPI_Aint size = 0;
  MPI_Win_allocate_shared(rank == 0 ? sizeof(int) : 0, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &arrived, &win);
  MPI_Win_shared_query(win, 0, &size, &unit, &arrived);
  if (rank == 0) *arrived = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  char* data = calloc(BYTES, 1);
  if (rank == 1) {
    MPI_Recv(data, BYTES, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    *(volatile int*)arrived = 1;
  } else {
    Task task = {.arrived = arrived};
    MPI_Request requests[3] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPIX_Grequest_start(query_fn, free_fn, cancel_fn, poll_fn, NULL, &task, &task.request);
    requests[2] = task.request;
    MPI_Isend(data, BYTES, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &requests[1]);
    for (int flag = 0; !flag;) MPI_Testall(3, requests, &flag, MPI_STATUSES_IGNORE);
    printf("%d bytes arrived\n", BYTES);
  }
  free(data);
  MPI_Win_free(&win);
  MPI_Finalize();
  return 0;
}
