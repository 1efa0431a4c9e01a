// saxpy: y = a x + y as an asynchronous task behind a generalized request, done by a thread in place of a GPU's stream, and
// waited for together with a message from the neighbour.
#include <mpi.h>
#include <plait/mpix.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 1000000 };

// Stands for a stream's event.
typedef struct {
  float a, *x, *y;
  atomic_bool done;
  MPI_Request request;
} Saxpy;

static void* saxpy(void* extra) {
  Saxpy* s = extra;
  for (int i = 0; i < N; ++i) s->y[i] = s->a * s->x[i] + s->y[i];
  atomic_store_explicit(&s->done, 1, memory_order_release);
  return NULL;
}

static int query_fn(void* extra, MPI_Status* status) {
  (void)extra;
  MPI_Status_set_elements(status, MPI_FLOAT, N);
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
  Saxpy* s = extra;
  if (atomic_load_explicit(&s->done, memory_order_acquire)) MPI_Grequest_complete(s->request);
  return MPI_SUCCESS;
}

int main(int argc, char** argv) {
  int provided = 0, rank = 0, size = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  Saxpy task = {.a = 2, .x = malloc(N * sizeof(float)), .y = malloc(N * sizeof(float))};
  for (int i = 0; i < N; ++i) {
    task.x[i] = 1;
    task.y[i] = 2;
  }

  int in = -1;
  const int from = (rank + size - 1) % size, to = (rank + 1) % size;
  MPI_Request requests[3];
  MPI_Irecv(&in, 1, MPI_INT, from, 0, MPI_COMM_WORLD, &requests[0]);
  MPIX_Grequest_start(query_fn, free_fn, cancel_fn, poll_fn, NULL, &task, &task.request);
  requests[1] = task.request;
  pthread_t thread;
  if (pthread_create(&thread, NULL, saxpy, &task)) MPI_Abort(MPI_COMM_WORLD, 1);
  MPI_Isend(&rank, 1, MPI_INT, to, 0, MPI_COMM_WORLD, &requests[2]);
  MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);

  int good = in == from, all = 0;
  for (int i = 0; i < N; ++i) good = good && task.y[i] == 4;
  MPI_Allreduce(&good, &all, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
  if (rank == 0) printf("y = 2 x + y of %d elements on %d processes: %s\n", N, size, all ? "right" : "WRONG");
  pthread_join(thread, NULL);
  free(task.x);
  free(task.y);
  MPI_Finalize();
  return !all;
}
