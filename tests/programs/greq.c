/* A generalized request that progresses itself, completed together with messages, in C and in C++; and which library the
 * functions are of. With the argument "owners" it says this and does no more. PREPARED_FOR_PRELOAD makes a program that
 * needs no libplait to link. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <plait/mpix.h>
#include <stdio.h>
#include <string.h>

static int query(void* state, MPI_Status* status) {
  (void)state;
  MPI_Status_set_elements(status, MPI_BYTE, 0);
  MPI_Status_set_cancelled(status, 0);
  return MPI_SUCCESS;
}

static int release(void* state) {
  (void)state;
  return MPI_SUCCESS;
}

static int cancel(void* state, int complete) {
  (void)state;
  (void)complete;
  return MPI_SUCCESS;
}

/* Over when it is asked for the third time. */
typedef struct Task {
  MPI_Request request;
  int asked;
} Task;

static int poll(void* state, MPI_Status* status) {
  Task* task = (Task*)state;
  (void)status;
  return ++task->asked == 3 ? MPI_Grequest_complete(task->request) : MPI_SUCCESS;
}

#ifdef PREPARED_FOR_PRELOAD
typedef int Start(MPI_Grequest_query_function*, MPI_Grequest_free_function*, MPI_Grequest_cancel_function*, MPIX_Grequest_poll_function*,
                  MPIX_Grequest_wait_function*, void*, MPI_Request*);
#endif

/* The file that the program's `name` is in. */
static const char* owner(const char* name) {
  Dl_info where;
  void* address = dlsym(RTLD_DEFAULT, name);
  if (!address) return "nobody";
  if (!dladdr(address, &where)) return "?";
  return strrchr(where.dli_fname, '/') + 1;
}

int main(int argc, char** argv) {
  int rank, size, got = -1;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  printf("rank %d: MPIX_Grequest_start of %s, MPI_Waitall of %s\n", rank, owner("MPIX_Grequest_start"), owner("MPI_Waitall"));
  if (argc < 2 || strcmp(argv[1], "owners") != 0) {
    Task task = {MPI_REQUEST_NULL, 0};
    MPI_Request requests[3];
    MPI_Status statuses[3]; /* MPI_STATUSES_IGNORE: GCC warns of MPICH 4.0.2's */
#ifdef PREPARED_FOR_PRELOAD
    Start* start = (Start*)dlsym(RTLD_DEFAULT, "MPIX_Grequest_start");
    start(query, release, cancel, poll, NULL, &task, &requests[1]);
#else
    MPIX_Grequest_start(query, release, cancel, poll, NULL, &task, &requests[1]);
#endif
    task.request = requests[1];
    MPI_Irecv(&got, 1, MPI_INT, (rank + size - 1) % size, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(&rank, 1, MPI_INT, (rank + 1) % size, 0, MPI_COMM_WORLD, &requests[2]);
    MPI_Waitall(3, requests, statuses);
    printf("rank %d: asked %d times, received %d\n", rank, task.asked, got);
  }
  MPI_Finalize();
  return 0;
}
