// slow_task: waits for a generalized request whose task takes longer than PLAIT_WATCHDOG allows, together with a message.
#define _POSIX_C_SOURCE 200809L
#include <mpi.h>
#include <plait/mpix.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct {
  double since;
  int late;
  MPI_Request request;
} Slow;

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

// Complete once the wait has come round at least twice after more than the limit. Not static: it has a name to be told.
int poll_of_slow_task(void* extra, MPI_Status* status) {
  (void)status;
  Slow* s = extra;
  const char* limit = getenv("PLAIT_WATCHDOG");
  if (s->since == 0) s->since = MPI_Wtime();
  if (MPI_Wtime() - s->since > 2 * (limit ? atof(limit) : 0) && ++s->late == 3) MPI_Grequest_complete(s->request);
  return MPI_SUCCESS;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, in = -1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  Slow slow = {0};
  MPI_Request requests[2];
  MPIX_Grequest_start(query_fn, free_fn, cancel_fn, poll_of_slow_task, NULL, &slow, &slow.request);
  requests[0] = slow.request;
  MPI_Irecv(&in, 1, MPI_INT, rank, 0, MPI_COMM_WORLD, &requests[1]);
  MPI_Send(&rank, 1, MPI_INT, rank, 0, MPI_COMM_WORLD);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  if (rank == 0) printf("the slow task is over\n");
  MPI_Finalize();
  return in != rank;
}
