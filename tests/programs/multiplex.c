// multiplex: one communicator with several streams in each process, not as many in all; every stream, on a thread of its own,
// sends to every stream: received from a named stream, from any stream of a rank, and from anybody.
#include <mpi.h>
#include <plait/mpix.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

enum { MOST = 3, ROUNDS = 100, INTS = 20 };
enum { NAMED, ANY_STREAM, ANYBODY };

static MPI_Comm comm;
static int rank, size;

static int streams_of(int r) { return 1 + r % MOST; }

// What stream s of rank r sends to stream d in a round.
static void set(int* m, int r, int s, int d, int round) {
  for (int i = 0; i < INTS; ++i) m[i] = ((r * MOST + s) * MOST + d) * 1000000 + round * INTS + i;
}

// Who has sent it; everything in it has to agree.
static void take(const int* m, const MPI_Status* status, int d, int round, int* r, int* s) {
  int expected[INTS], count = 0;
  const int id = m[0] / 1000000 / MOST;
  *r = id / MOST;
  *s = id % MOST;
  set(expected, *r, *s, d, round);
  MPI_Get_count(status, MPI_INT, &count);
  CHECK(count == INTS && memcmp(m, expected, sizeof expected) == 0 && status->MPI_SOURCE == *r);
}

static void* work(void* data) {
  const int me = *(int*)data;
  int all = 0;
  for (int r = 0; r < size; ++r) all += streams_of(r);
  int (*out)[INTS] = calloc((size_t)all * 3, sizeof *out);
  MPI_Request* requests = calloc((size_t)all * 3, sizeof *requests);
  int* heard = calloc((size_t)size * MOST, sizeof *heard);
  for (int round = 0; round < ROUNDS; ++round) {
    int n = 0;
    for (int r = 0; r < size; ++r) {
      for (int d = 0; d < streams_of(r); ++d) {
        for (int tag = NAMED; tag <= ANYBODY; ++tag, ++n) {
          set(out[n], rank, me, d, round);
          MPIX_Stream_isend(out[n], INTS, MPI_INT, r, tag, comm, me, d, &requests[n]);
        }
      }
    }
    MPI_Status status;
    int in[INTS], from_rank, from;
    for (int r = 0; r < size; ++r) {
      for (int s = streams_of(r) - 1; s >= 0; --s) {
        MPIX_Stream_recv(in, INTS, MPI_INT, r, NAMED, comm, s, me, &status);
        take(in, &status, me, round, &from_rank, &from);
        CHECK(from_rank == r && from == s);
      }
      for (int i = 0; i < streams_of(r); ++i) {
        MPI_Request request;
        MPIX_Stream_irecv(in, INTS, MPI_INT, r, ANY_STREAM, comm, -1, me, &request);
        MPI_Wait(&request, &status);
        // A stream's next round may be here before another's: each keeps its own order.
        const int id = in[0] / 1000000 / MOST;
        CHECK(id / MOST == r);
        take(in, &status, me, heard[id]++, &from_rank, &from);
      }
    }
    MPI_Waitall(n, requests, MPI_STATUSES_IGNORE);
  }
  memset(heard, 0, (size_t)size * MOST * sizeof *heard);
  for (int i = 0; i < all * ROUNDS; ++i) {
    MPI_Status status;
    int in[INTS], from_rank, from;
    MPIX_Stream_recv(in, INTS, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, -1, me, &status);
    CHECK(status.MPI_TAG == ANYBODY);
    take(in, &status, me, heard[in[0] / 1000000 / MOST]++, &from_rank, &from);
  }
  free(heard);
  free(requests);
  free(out);
  return NULL;
}

int main(int argc, char** argv) {
  int level;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  CHECK(level == MPI_THREAD_MULTIPLE);
  const int mine = streams_of(rank);
  MPIX_Stream streams[MOST];
  pthread_t threads[MOST];
  int numbers[MOST];
  for (int i = 0; i < mine; ++i) MPIX_Stream_create(MPI_INFO_NULL, &streams[i]);
  CHECK(MPIX_Stream_comm_create_multiplex(MPI_COMM_WORLD, mine, streams, &comm) == MPI_SUCCESS);
  for (int i = 0; i < mine; ++i) {
    MPIX_Stream found;
    CHECK(MPIX_Comm_get_stream(comm, i, &found) == MPI_SUCCESS && found == streams[i]);
    numbers[i] = i;
    pthread_create(&threads[i], NULL, work, &numbers[i]);
  }
  for (int i = 0; i < mine; ++i) pthread_join(threads[i], NULL);
  MPI_Comm_free(&comm);
  for (int i = 0; i < mine; ++i) CHECK(MPIX_Stream_free(&streams[i]) == MPI_SUCCESS);
  if (rank == 0) printf("%d rounds between all streams of %d processes: right\n", ROUNDS, size);
  MPI_Finalize();
  return 0;
}
