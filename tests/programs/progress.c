// progress FILE: rank 0 gets 1,024 numbers from a process that computes and calls no MPI until they are all there, which it
// learns by the file that rank 0 makes then: first by a thread of the program's that calls MPIX_Stream_progress, then by
// MPIX_Start_progress_thread. Without progress at the target this takes until somebody loses patience.
#define _POSIX_C_SOURCE 200809L
#include <mpi.h>
#include <plait/mpix.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

enum { COUNT = 1024, ORIGIN = 0, TARGET = 1 };

static atomic_int needed;

static void* helper(void* unused) {
  (void)unused;
  while (atomic_load(&needed)) MPIX_Stream_progress(MPIX_STREAM_NULL);
  return NULL;
}

// Some arithmetic and some sleep, until the file is there.
static void compute_until(const char* file) {
  volatile double x = 1;
  const struct timespec nap = {0, 1000000};
  while (access(file, F_OK) != 0) {
    for (int i = 0; i < 10000; ++i) x = x * 1.0000001 + 1e-9;
    nanosleep(&nap, NULL);
  }
}

static double get_all(MPI_Win win, int way) {
  int in[COUNT];
  const double begin = MPI_Wtime();
  MPI_Win_lock(MPI_LOCK_SHARED, TARGET, 0, win);
  for (int i = 0; i < COUNT; ++i) MPI_Get(&in[i], 1, MPI_INT, TARGET, i, 1, MPI_INT, win);
  MPI_Win_unlock(TARGET, win);
  const double seconds = MPI_Wtime() - begin;
  for (int i = 0; i < COUNT; ++i) CHECK(in[i] == 3 * i + way);
  return seconds;
}

int main(int argc, char** argv) {
  int level, rank;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  CHECK(level == MPI_THREAD_MULTIPLE && argc == 2);
  static int exposed[COUNT];
  double seconds[2] = {0};
  MPI_Win win;
  MPI_Win_create(exposed, sizeof exposed, sizeof *exposed, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  for (int way = 0; way < 2; ++way) {
    char file[4096];
    snprintf(file, sizeof file, "%s.%d", argv[1], way);
    if (rank == TARGET) {
      MPI_Win_lock(MPI_LOCK_EXCLUSIVE, TARGET, 0, win);
      for (int i = 0; i < COUNT; ++i) exposed[i] = 3 * i + way;
      MPI_Win_unlock(TARGET, win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == ORIGIN) {
      seconds[way] = get_all(win, way);
      FILE* const made = fopen(file, "w");
      CHECK(made && fclose(made) == 0);
    } else if (rank == TARGET) {
      pthread_t thread;
      if (way == 0) {
        atomic_store(&needed, 1);
        CHECK(pthread_create(&thread, NULL, helper, NULL) == 0);
      } else {
        CHECK(MPIX_Start_progress_thread(MPIX_STREAM_NULL) == MPI_SUCCESS);
      }
      compute_until(file);
      if (way == 0) {
        atomic_store(&needed, 0);
        pthread_join(thread, NULL);
      } else {
        CHECK(MPIX_Stop_progress_thread(MPIX_STREAM_NULL) == MPI_SUCCESS);
      }
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == ORIGIN) remove(file);
  }
  MPI_Win_free(&win);
  if (rank == ORIGIN)
    printf("%d gets took %.4f s with MPIX_Stream_progress, %.4f s with a progress thread\n", COUNT, seconds[0], seconds[1]);
  MPI_Finalize();
  return 0;
}
