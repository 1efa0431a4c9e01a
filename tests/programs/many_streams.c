// many_streams [STREAMS]: so many streams in every process, each to all of the other processes; then what else a communicator does, on one
// of streams.
#include <mpi.h>
#include <plait/mpix.h>
#include <stdio.h>
#include <stdlib.h>

#include "check.h"

static int rank, size;

// Stream i of every process to stream j of every process, in one communicator; a message's bytes say which two they are.
static void all_to_all(MPI_Comm comm, int streams) {
  const int n = streams * streams * (size - 1);
  enum { BYTES = 200, LARGE = 20000 };
  MPI_Request* requests = calloc((size_t)n * 2, sizeof *requests);
  unsigned char* out = malloc((size_t)n * BYTES);
  unsigned char* in = malloc((size_t)n * BYTES);
  int at = 0;
  for (int other = 1; other < size; ++other) {
    const int r = (rank + other) % size;
    for (int i = 0; i < streams; ++i) {
      for (int j = 0; j < streams; ++j, ++at) {
        const int bytes = 8 + (i + j) % (BYTES - 8);
        MPIX_Stream_irecv(in + (size_t)at * BYTES, BYTES, MPI_BYTE, r, i, comm, i, j, &requests[at]);
        fill(out + (size_t)at * BYTES, bytes, (unsigned)(rank * streams + i), (unsigned)(r * streams + j));
        MPIX_Stream_isend(out + (size_t)at * BYTES, bytes, MPI_BYTE, r, i, comm, i, j, &requests[n + at]);
      }
    }
  }
  MPI_Waitall(2 * n, requests, MPI_STATUSES_IGNORE);
  at = 0;
  for (int other = 1; other < size; ++other) {
    const int r = (rank + other) % size;
    for (int i = 0; i < streams; ++i) {
      for (int j = 0; j < streams; ++j, ++at) {
        CHECK(is_filled(in + (size_t)at * BYTES, 8 + (i + j) % (BYTES - 8), (unsigned)(r * streams + i), (unsigned)(rank * streams + j)));
      }
    }
  }
  unsigned char* large = malloc(2 * LARGE);
  for (int i = 0; i < streams; ++i) {
    const int to = (rank + 1) % size, from = (rank + size - 1) % size;
    MPI_Request r;
    fill(large, LARGE, (unsigned)rank, (unsigned)i);
    MPIX_Stream_isend(large, LARGE, MPI_BYTE, to, 0, comm, i, streams - 1 - i, &r);
    MPIX_Stream_recv(large + LARGE, LARGE, MPI_BYTE, from, 0, comm, i, streams - 1 - i, MPI_STATUS_IGNORE);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    CHECK(is_filled(large + LARGE, LARGE, (unsigned)from, (unsigned)i));
  }
  free(large);
  free(in);
  free(out);
  free(requests);
}

static int puts_arrive(MPI_Comm comm) {
  int* exposed;
  MPI_Win win;
  MPI_Win_allocate(sizeof *exposed, sizeof *exposed, MPI_INFO_NULL, comm, &exposed, &win);
  *exposed = -1;
  MPI_Win_fence(0, win);
  MPI_Put(&rank, 1, MPI_INT, (rank + 1) % size, 0, 1, MPI_INT, win);
  MPI_Win_fence(0, win);
  const int here = *exposed == (rank + size - 1) % size;
  int everywhere = 0;
  MPI_Win_free(&win);
  MPI_Allreduce(&here, &everywhere, 1, MPI_INT, MPI_MIN, comm);
  return everywhere;
}

// Collective and one-sided operations and derived communicators, as on a duplicate of the parent.
static void everything_else(MPI_Comm comm, MPIX_Stream stream) {
  int sum = 0, first = rank == 0 ? 17 : 0;
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
  MPI_Bcast(&first, 1, MPI_INT, 0, comm);
  MPI_Request barrier;
  MPI_Ibarrier(comm, &barrier);
  MPI_Wait(&barrier, MPI_STATUS_IGNORE);
  CHECK(sum == size * (size - 1) / 2 && first == 17);

  // MPICH 4.0.2 loses puts on any communicator here: on this one no more than on a duplicate of the parent.
  MPI_Comm duplicate;
  MPI_Comm_dup(MPI_COMM_WORLD, &duplicate);
  CHECK(puts_arrive(comm) >= puts_arrive(duplicate));
  MPI_Comm_free(&duplicate);

  MPI_Comm copy, half;
  MPIX_Stream found = MPIX_STREAM_NULL;
  MPI_Comm_dup(comm, &copy);
  MPIX_Comm_get_stream(copy, 0, &found);
  CHECK(found == stream);
  // A message on each, the same tag: the one asked for comes.
  int in[2], out[2] = {rank, -rank - 1};
  MPI_Request requests[2];
  MPI_Isend(&out[0], 1, MPI_INT, (rank + 1) % size, 0, comm, &requests[0]);
  MPI_Isend(&out[1], 1, MPI_INT, (rank + 1) % size, 0, copy, &requests[1]);
  MPI_Recv(&in[1], 1, MPI_INT, MPI_ANY_SOURCE, 0, copy, MPI_STATUS_IGNORE);
  MPI_Recv(&in[0], 1, MPI_INT, MPI_ANY_SOURCE, 0, comm, MPI_STATUS_IGNORE);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  CHECK(in[0] == (rank + size - 1) % size && in[1] == -in[0] - 1);
  MPI_Comm_free(&copy);

  MPI_Comm_split(comm, rank % 2, -rank, &half);
  int half_rank, half_size, least = rank;
  MPI_Comm_rank(half, &half_rank);
  MPI_Comm_size(half, &half_size);
  MPI_Bcast(&least, 1, MPI_INT, half_size - 1, half);
  CHECK(least == rank % 2);
  const int next = (half_rank + 1) % half_size, previous = (half_rank + half_size - 1) % half_size;
  int got = -1;
  MPI_Sendrecv(&half_rank, 1, MPI_INT, next, 0, &got, 1, MPI_INT, previous, 0, half, MPI_STATUS_IGNORE);
  CHECK(got == previous);
  MPI_Comm_free(&half);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int n = argc > 1 ? atoi(argv[1]) : 64;
  MPIX_Stream* streams = calloc((size_t)n, sizeof *streams);
  MPI_Comm single, all;
  for (int i = 0; i < n; ++i) CHECK(MPIX_Stream_create(MPI_INFO_NULL, &streams[i]) == MPI_SUCCESS);
  CHECK(MPIX_Stream_comm_create(MPI_COMM_WORLD, streams[0], &single) == MPI_SUCCESS);
  CHECK(MPIX_Stream_comm_create_multiplex(MPI_COMM_WORLD, n, streams, &all) == MPI_SUCCESS);
  all_to_all(all, n);
  everything_else(single, streams[0]);
  MPI_Comm_free(&all);
  MPI_Comm_free(&single);
  for (int i = 0; i < n; ++i) CHECK(MPIX_Stream_free(&streams[i]) == MPI_SUCCESS);
  if (rank == 0) printf("%d streams in each of %d processes, all to all: right\n", n, size);
  free(streams);
  MPI_Finalize();
  return 0;
}
