// progress SECONDS: rank 0 gets 1,024 numbers from rank 1, which is busy for so many seconds while a thread of its own makes progress:
// the example of the paper on MPICH's extensions, where it is 10 seconds. There the window has 1,024 bytes, too few for the numbers.
#define _POSIX_C_SOURCE 200809L
#include <assert.h>
#include <mpi.h>
#include <plait/mpix.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "../check.h"

#define MAX_DATA_SIZE 1024

int buf[MAX_DATA_SIZE];
int win_buf[MAX_DATA_SIZE];

enum {
  PROGRESS_IDLE,
  PROGRESS_BUSY,
  PROGRESS_EXIT,
};
volatile int need_progress = PROGRESS_IDLE;

static void* progress_thread(void* ptr) {
  while (1) {
    if (need_progress == PROGRESS_IDLE) {
      sleep(1);
    } else if (need_progress == PROGRESS_BUSY) {
      MPIX_Stream_progress(MPIX_STREAM_NULL);
    } else if (need_progress == PROGRESS_EXIT) {
      break;
    }
  }
  return ptr;
}

int main(int argc, char** argv) {
  int thread_level;
  MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &thread_level);
  CHECK(thread_level == MPI_THREAD_MULTIPLE && argc == 2);

  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);

  for (int i = 0; i < MAX_DATA_SIZE; i++) {
    win_buf[i] = i;
  }

  int origin_rank = 0;
  int target_rank = 1;
  pthread_t thread;
  if (rank == target_rank) {
    pthread_create(&thread, NULL, progress_thread, NULL);
  }

  MPI_Win win;
  MPI_Win_create(win_buf, sizeof win_buf, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  if (rank == origin_rank) {
    double time_start = MPI_Wtime();
    MPI_Win_lock(MPI_LOCK_SHARED, target_rank, 0, win);
    for (int i = 0; i < MAX_DATA_SIZE; i++) {
      MPI_Get(buf + i, 1, MPI_INT, target_rank, i, 1, MPI_INT, win);
    }
    MPI_Win_unlock(target_rank, win);
    printf("Completed all gets in %.3f seconds\n", MPI_Wtime() - time_start);
    for (int i = 0; i < MAX_DATA_SIZE; i++) CHECK(buf[i] == i);
  } else if (rank == target_rank) {
    /* If we do not start background progress, the passive RMA in rank 0 won't complete while the target rank is busy */
    need_progress = PROGRESS_BUSY;
    /* Sleep to simulate busy computations */
    sleep((unsigned)atoi(argv[1]));
  }

  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == target_rank) {
    need_progress = PROGRESS_EXIT;
  }

  MPI_Win_free(&win);

  void* ret;
  if (rank == target_rank) pthread_join(thread, &ret);

  MPI_Finalize();

  return 0;
}
