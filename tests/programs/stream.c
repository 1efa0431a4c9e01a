// stream [THREADS]: every thread has a stream and a communicator of its own and passes messages round the ring of processes.
#include <mpi.h>
#include <plait/mpix.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "check.h"

enum { MESSAGES = 2000, WINDOW = 16, LARGEST = 100000 };
static const int sizes[] = {8, 0, 44, 45, 8, 1000, 9000, 8, 300, LARGEST};

typedef struct {
  int number;
  MPI_Comm comm;
} Worker;

static void* work(void* data) {
  const Worker* w = data;
  int rank, size;
  MPI_Comm_rank(w->comm, &rank);
  MPI_Comm_size(w->comm, &size);
  const int to = (rank + 1) % size, from = (rank + size - 1) % size;
  unsigned char *out[WINDOW], *in[WINDOW];
  for (int i = 0; i < WINDOW; ++i) {
    out[i] = malloc(LARGEST);
    in[i] = malloc(LARGEST);
  }
  for (int m = 0; m < MESSAGES; m += WINDOW) {
    MPI_Request requests[2 * WINDOW];
    MPI_Status statuses[2 * WINDOW];
    for (int i = 0; i < WINDOW; ++i) {
      const int bytes = sizes[(m + i) % 10];
      fill(out[i], bytes, (unsigned)(rank * 100 + w->number), (unsigned)(m + i));
      MPI_Irecv(in[i], LARGEST, MPI_BYTE, i % 3 ? from : MPI_ANY_SOURCE, m + i, w->comm, &requests[i]);
      MPI_Isend(out[i], bytes, MPI_BYTE, to, m + i, w->comm, &requests[WINDOW + i]);
    }
    MPI_Waitall(2 * WINDOW, requests, statuses);
    for (int i = 0; i < WINDOW; ++i) {
      int bytes = -1;
      MPI_Get_count(&statuses[i], MPI_BYTE, &bytes);
      CHECK(bytes == sizes[(m + i) % 10] && statuses[i].MPI_SOURCE == from && statuses[i].MPI_TAG == m + i);
      CHECK(is_filled(in[i], bytes, (unsigned)(from * 100 + w->number), (unsigned)(m + i)));
    }
  }
  for (int i = 0; i < WINDOW; ++i) {
    free(out[i]);
    free(in[i]);
  }
  return NULL;
}

int main(int argc, char** argv) {
  const int threads = argc > 1 ? atoi(argv[1]) : 4;
  int level, rank, size;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  CHECK(level == MPI_THREAD_MULTIPLE);
  MPIX_Stream* streams = calloc((size_t)threads, sizeof *streams);
  Worker* workers = calloc((size_t)threads, sizeof *workers);
  pthread_t* ids = calloc((size_t)threads, sizeof *ids);
  for (int i = 0; i < threads; ++i) {
    workers[i].number = i;
    CHECK(MPIX_Stream_create(MPI_INFO_NULL, &streams[i]) == MPI_SUCCESS);
    CHECK(MPIX_Stream_comm_create(MPI_COMM_WORLD, streams[i], &workers[i].comm) == MPI_SUCCESS);
  }
  for (int i = 0; i < threads; ++i) pthread_create(&ids[i], NULL, work, &workers[i]);
  for (int i = 0; i < threads; ++i) {
    pthread_join(ids[i], NULL);
    MPI_Comm_free(&workers[i].comm);
    CHECK(MPIX_Stream_free(&streams[i]) == MPI_SUCCESS && streams[i] == MPIX_STREAM_NULL);
  }
  if (rank == 0) printf("%d messages by %d threads in each of %d processes: right\n", MESSAGES, threads, size);
  free(ids);
  free(workers);
  free(streams);
  MPI_Finalize();
  return 0;
}
