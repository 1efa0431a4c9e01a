// file_io FILE: MPI-IO's requests and generalized ones in one MPI_Waitall. Each process writes a part of a file that all
// share and reads its neighbour's.
#include <mpi.h>
#include <plait/mpix.h>
#include <stdio.h>
#include <stdlib.h>

enum { PARTS = 4, INTS = 10000 };

typedef struct {
  int polls;
  MPI_Request request;
} Task;

static int query_fn(void* extra, MPI_Status* status) {
  MPI_Status_set_elements(status, MPI_BYTE, ((Task*)extra)->polls);
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
  if (++t->polls == 5) MPI_Grequest_complete(t->request);
  return MPI_SUCCESS;
}

// All parts of a process's stretch and a task between them, in one MPI_Waitall. True if it went well.
static int transfer(MPI_File file, int writing, int whose, int* data) {
  Task task = {0};
  MPI_Request requests[PARTS + 1];
  MPI_Status statuses[PARTS + 1];
  MPIX_Grequest_start(query_fn, free_fn, cancel_fn, poll_fn, NULL, &task, &task.request);
  requests[0] = task.request;
  for (int p = 0; p < PARTS; ++p) {
    const MPI_Offset at = ((MPI_Offset)whose * PARTS + p) * INTS * (MPI_Offset)sizeof(int);
    int* part = data + p * INTS;
    const int error = writing ? MPI_File_iwrite_at(file, at, part, INTS, MPI_INT, &requests[p + 1])
                              : MPI_File_iread_at(file, at, part, INTS, MPI_INT, &requests[p + 1]);
    if (error) return 0;
  }
  int good = MPI_Waitall(PARTS + 1, requests, statuses) == MPI_SUCCESS;
  for (int i = 0; i <= PARTS; ++i) {
    int n = -1;
    MPI_Get_count(&statuses[i], MPI_BYTE, &n);
    good = good && n == (i == 0 ? 5 : INTS * (int)sizeof(int)) && requests[i] == MPI_REQUEST_NULL;
  }
  return good;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int* data = malloc(sizeof(int) * PARTS * INTS);
  for (int i = 0; i < PARTS * INTS; ++i) data[i] = rank * PARTS * INTS + i;
  MPI_File file;
  const char* name = argc > 1 ? argv[1] : "file_io.out";
  if (MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file)) {
    fprintf(stderr, "file_io: cannot open %s\n", name);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  int good = transfer(file, 1, rank, data), all = 0;
  MPI_File_sync(file);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File_sync(file);
  const int next = (rank + 1) % size;
  for (int i = 0; i < PARTS * INTS; ++i) data[i] = -1;
  good = transfer(file, 0, next, data) && good;
  for (int i = 0; i < PARTS * INTS; ++i) good = good && data[i] == next * PARTS * INTS + i;
  MPI_Allreduce(&good, &all, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
  MPI_File_close(&file);
  if (rank == 0) printf("%d parts written and read by %d processes: %s\n", PARTS, size, all ? "right" : "WRONG");
  free(data);
  MPI_Finalize();
  return !all;
}
