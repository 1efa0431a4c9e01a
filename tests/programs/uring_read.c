// uring_read FILE: as aio_read, with io_uring. Every read of a process is an entry of one ring, whose completions complete
// the generalized requests they belong to. Exit status 77: the system forbids io_uring.
#include <errno.h>
#include <liburing.h>
#include <mpi.h>
#include <plait/mpix.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "blocks.h"

typedef struct {
  struct io_uring* ring;
  MPI_Request request;
  int bytes;
} Read;

// Takes all completions that are there, whichever read they are of. One thread polls here at a time: a program with several
// needs a lock around the ring.
static int drain(struct io_uring* ring) {
  struct io_uring_cqe* cqe = NULL;
  while (io_uring_peek_cqe(ring, &cqe) == 0) {
    Read* r = io_uring_cqe_get_data(cqe);
    r->bytes = cqe->res;
    io_uring_cqe_seen(ring, cqe);
    const int error = MPI_Grequest_complete(r->request);
    if (error) return error;
  }
  return MPI_SUCCESS;
}

static int poll_fn(void* extra, MPI_Status* status) {
  (void)status;
  return drain(((Read*)extra)->ring);
}

// Sleeps until one of the reads is over.
static int wait_fn(int count, void** extras, double timeout, MPI_Status* status) {
  (void)count;
  (void)status;
  struct io_uring* ring = ((Read*)extras[0])->ring;
  struct __kernel_timespec t = {(long long)timeout, (long long)((timeout - (double)(long long)timeout) * 1e9)};
  struct io_uring_cqe* cqe = NULL;
  const int error = io_uring_wait_cqe_timeout(ring, &cqe, &t);
  if (error && error != -ETIME && error != -EINTR) return MPI_ERR_IO;
  return drain(ring);
}

static int query_fn(void* extra, MPI_Status* status) {
  const int bytes = ((Read*)extra)->bytes;
  MPI_Status_set_elements(status, MPI_BYTE, bytes < 0 ? 0 : bytes);
  MPI_Status_set_cancelled(status, 0);
  return bytes < 0 ? MPI_ERR_IO : MPI_SUCCESS;
}

static int free_fn(void* extra) {
  (void)extra;
  return MPI_SUCCESS;
}

static int cancel_fn(void* extra, int complete) {
  (void)extra;
  (void)complete;  // these reads are not cancelled
  return MPI_SUCCESS;
}

static void start_read(Read* r, struct io_uring* ring, int file, char* to, long offset) {
  *r = (Read){.ring = ring};
  // The request first: the completion of the read needs it.
  MPIX_Grequest_start(query_fn, free_fn, cancel_fn, poll_fn, wait_fn, r, &r->request);
  struct io_uring_sqe* sqe = io_uring_get_sqe(ring);
  io_uring_prep_read(sqe, file, to, BYTES, (unsigned long long)offset);
  io_uring_sqe_set_data(sqe, r);
  if (io_uring_submit(ring) != 1) MPI_Abort(MPI_COMM_WORLD, 1);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  struct io_uring ring;
  const int forbidden = io_uring_queue_init(BLOCKS, &ring, 0);
  if (forbidden) {
    if (rank == 0) printf("io_uring is not to be had here: %s\n", strerror(-forbidden));
    MPI_Finalize();
    return 77;
  }
  char name[4096];
  snprintf(name, sizeof name, "%s.%d", argc > 1 ? argv[1] : "uring_read.out", rank);
  const int file = make_file(name, rank);
  if (file < 0) {
    fprintf(stderr, "uring_read: cannot write %s\n", name);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }

  Read reads[BLOCKS];
  MPI_Request requests[BLOCKS + 2];
  MPI_Status statuses[BLOCKS + 2];
  char* bytes = calloc(BLOCKS, BYTES);
  const int from = (rank + size - 1) % size, to = (rank + 1) % size;
  int in = -1;
  MPI_Irecv(&in, 1, MPI_INT, from, 0, MPI_COMM_WORLD, &requests[BLOCKS]);
  for (int b = 0; b < BLOCKS; ++b) {
    start_read(&reads[b], &ring, file, bytes + (long)b * BYTES, (long)b * BYTES);
    requests[b] = reads[b].request;
  }
  MPI_Isend(&rank, 1, MPI_INT, to, 0, MPI_COMM_WORLD, &requests[BLOCKS + 1]);
  MPI_Waitall(BLOCKS + 2, requests, statuses);

  const int all = check_blocks(bytes, statuses, in, rank, size);
  io_uring_queue_exit(&ring);
  close(file);
  unlink(name);
  free(bytes);
  MPI_Finalize();
  return !all;
}
