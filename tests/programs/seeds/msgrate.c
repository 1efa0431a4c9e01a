// msgrate [THREADS]: messages of 8 bytes from the threads of rank 0 to those of rank 1, as the guideline on thread contention and
// communicators prints it. With SINGLECOMM all use MPI_COMM_WORLD, else each has a communicator of its own. Rank 1 counts what
// comes from each thread.
#include <mpi.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

#include "../check.h"

enum { NUM_ITER = 50, WINDOW_SIZE = 64, MESSAGE_SIZE = 8 };

static double* t_elapsed;
static MPI_Comm* t_comms;
static char** t_bufs;
static int rank;

static double million_a_second(double seconds) { return NUM_ITER * WINDOW_SIZE / seconds / 1e6; }

static void measure(int n) {
#pragma omp parallel num_threads(n)
  {
    int tid = omp_get_thread_num();
#ifdef SINGLECOMM
    MPI_Comm comm = MPI_COMM_WORLD;
#else
    MPI_Comm comm = t_comms[tid];
#endif
    void* buf = t_bufs[tid];
    MPI_Request requests[WINDOW_SIZE];
    double t_start = 0, t_end;

    if (rank == 0) {
      t_start = MPI_Wtime();
    }

    for (int i = 0; i < NUM_ITER; i++) {
      for (int j = 0; j < WINDOW_SIZE; j++) {
        if (rank == 0) {
          MPI_Isend(buf, MESSAGE_SIZE, MPI_BYTE, 1, 0, comm, &requests[j]);
        } else {
          MPI_Irecv(buf, MESSAGE_SIZE, MPI_BYTE, 0, 0, comm, &requests[j]);
        }
      }
      MPI_Waitall(WINDOW_SIZE, requests, MPI_STATUSES_IGNORE);
#ifndef SINGLECOMM
      if (rank == 1) CHECK(t_bufs[tid][0] == (char)tid && t_bufs[tid][MESSAGE_SIZE - 1] == (char)(tid + 1));
#endif
    }

    if (rank == 0) {
      t_end = MPI_Wtime();
      t_elapsed[tid] = t_end - t_start;
    }
  }
}

int main(int argc, char** argv) {
  const int n = argc > 1 ? atoi(argv[1]) : 2;
  int provided, size;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  CHECK(provided == MPI_THREAD_MULTIPLE && size == 2);
  t_elapsed = calloc((size_t)n, sizeof *t_elapsed);
  t_comms = calloc((size_t)n, sizeof *t_comms);
  t_bufs = calloc((size_t)n, sizeof *t_bufs);
  for (int i = 0; i < n; ++i) {
    MPI_Comm_dup(MPI_COMM_WORLD, &t_comms[i]);
    t_bufs[i] = calloc(1, MESSAGE_SIZE);
    if (rank == 0) {
      t_bufs[i][0] = (char)i;
      t_bufs[i][MESSAGE_SIZE - 1] = (char)(i + 1);
    }
  }
  measure(1);
  if (rank == 0) {
    printf("Number of messages: %d\nMessage size: %d\nWindow size: %d\n", NUM_ITER * WINDOW_SIZE, MESSAGE_SIZE, WINDOW_SIZE);
    printf("Mmsgs/s with one thread: %.2f\n\n", million_a_second(t_elapsed[0]));
  }
  measure(n);
  if (rank == 0) {
    double sum = 0;
    printf("Thread    \tMmsgs/s\n");
    for (int i = 0; i < n; ++i) {
      printf("%-10d\t%.2f\n", i, million_a_second(t_elapsed[i]));
      sum += million_a_second(t_elapsed[i]);
    }
    printf("\nSize      \tThreads   \tMmsgs/s\n%-10d\t%-10d\t%.2f\n", MESSAGE_SIZE, n, sum);
  }
  for (int i = 0; i < n; ++i) {
    MPI_Comm_free(&t_comms[i]);
    free(t_bufs[i]);
  }
  free(t_bufs);
  free(t_comms);
  free(t_elapsed);
  MPI_Finalize();
  return 0;
}
