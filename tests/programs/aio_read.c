// aio_read FILE: asynchronous reading of a file as generalized requests. Each process writes blocks to a file of its own,
// FILE.RANK, reads them back with POSIX aio, and waits for the blocks and for messages from the others in one
// MPI_Waitall.
#define _GNU_SOURCE
#include <aio.h>
#include <errno.h>
#include <mpi.h>
#include <plait/mpix.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "blocks.h"

typedef struct {
  struct aiocb block;
  MPI_Request request;
  ssize_t bytes;
} Read;

// Completes the request if the read is over.
static int poll_fn(void* extra, MPI_Status* status) {
  (void)status;
  Read* r = extra;
  const int error = aio_error(&r->block);
  if (error == EINPROGRESS) return MPI_SUCCESS;
  const ssize_t bytes = aio_return(&r->block);
  if (error) return MPI_ERR_IO;
  r->bytes = bytes;
  return MPI_Grequest_complete(r->request);
}

// Sleeps until one of the reads is over.
static int wait_fn(int count, void** extras, double timeout, MPI_Status* status) {
  const struct aiocb* blocks[BLOCKS] = {NULL};
  for (int i = 0; i < count; ++i) blocks[i] = &((Read*)extras[i])->block;
  const struct timespec t = {(time_t)timeout, (long)((timeout - (double)(time_t)timeout) * 1e9)};
  if (aio_suspend(blocks, count, &t)) return errno == EAGAIN || errno == EINTR ? MPI_SUCCESS : MPI_ERR_IO;
  for (int i = 0; i < count; ++i) {
    const int error = poll_fn(extras[i], status);
    if (error) return error;
  }
  return MPI_SUCCESS;
}

static int query_fn(void* extra, MPI_Status* status) {
  MPI_Status_set_elements(status, MPI_BYTE, (int)((Read*)extra)->bytes);
  MPI_Status_set_cancelled(status, 0);
  return MPI_SUCCESS;
}

static int free_fn(void* extra) {
  (void)extra;
  return MPI_SUCCESS;
}

static int cancel_fn(void* extra, int complete) {
  if (!complete) aio_cancel(((Read*)extra)->block.aio_fildes, &((Read*)extra)->block);
  return MPI_SUCCESS;
}

static void start_read(MPIX_Grequest_class class, Read* r, int file, char* to, long offset) {
  r->bytes = 0;
  r->block = (struct aiocb){.aio_fildes = file, .aio_buf = to, .aio_nbytes = BYTES, .aio_offset = offset};
  r->block.aio_sigevent.sigev_notify = SIGEV_NONE;
  if (aio_read(&r->block)) MPI_Abort(MPI_COMM_WORLD, 1);
  MPIX_Grequest_class_allocate(class, r, &r->request);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  char name[4096];
  snprintf(name, sizeof name, "%s.%d", argc > 1 ? argv[1] : "aio_read.out", rank);
  const int file = make_file(name, rank);
  if (file < 0) {
    fprintf(stderr, "aio_read: cannot write %s\n", name);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }

  MPIX_Grequest_class class;
  MPIX_Grequest_class_create(query_fn, free_fn, cancel_fn, poll_fn, wait_fn, &class);
  Read reads[BLOCKS];
  MPI_Request requests[BLOCKS + 2];
  MPI_Status statuses[BLOCKS + 2];
  char* bytes = calloc(BLOCKS, BYTES);
  const int from = (rank + size - 1) % size, to = (rank + 1) % size;
  int in = -1;
  MPI_Irecv(&in, 1, MPI_INT, from, 0, MPI_COMM_WORLD, &requests[BLOCKS]);
  for (int b = 0; b < BLOCKS; ++b) {
    start_read(class, &reads[b], file, bytes + (long)b * BYTES, (long)b * BYTES);
    requests[b] = reads[b].request;
  }
  MPI_Isend(&rank, 1, MPI_INT, to, 0, MPI_COMM_WORLD, &requests[BLOCKS + 1]);
  MPI_Waitall(BLOCKS + 2, requests, statuses);

  const int all = check_blocks(bytes, statuses, in, rank, size);
  close(file);
  unlink(name);
  free(bytes);
  MPI_Finalize();
  return !all;
}
