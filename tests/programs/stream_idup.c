// MPI_Comm_idup of stream communicators: keeps the streams, waits for nobody, several at once, among other requests. 2 processes or
// more.
#include <mpi.h>
#include <plait/mpix.h>
#include <stdio.h>

#include "check.h"

enum { kMany = 8 };

static int rank, size, next, last;

// Messages round the ring on each communicator, with the same tag; those on one do not reach another.
static void talk(MPI_Comm* comms, int n, int from_stream, int to_stream) {
  int in[kMany + 1], out[kMany + 1];
  MPI_Request requests[2 * (kMany + 1)];
  for (int i = 0; i < n; ++i) {
    out[i] = rank * 100 + i;
    in[i] = -1;
    MPIX_Stream_irecv(&in[i], 1, MPI_INT, last, 5, comms[i], from_stream, to_stream, &requests[i]);
  }
  for (int i = n; i-- > 0;) MPIX_Stream_isend(&out[i], 1, MPI_INT, next, 5, comms[i], from_stream, to_stream, &requests[n + i]);
  MPI_Waitall(2 * n, requests, MPI_STATUSES_IGNORE);
  for (int i = 0; i < n; ++i) CHECK(in[i] == last * 100 + i);
}

static void keeps_streams(MPI_Comm comm, int streams) {
  MPI_Comm made = MPI_COMM_NULL;
  MPI_Request request;
  CHECK(MPI_Comm_idup(comm, &made, &request) == MPI_SUCCESS);
  MPI_Status status;
  CHECK(MPI_Wait(&request, &status) == MPI_SUCCESS && request == MPI_REQUEST_NULL);
  int bytes = -1;
  MPI_Get_count(&status, MPI_BYTE, &bytes);
  CHECK(bytes == 0 && status.MPI_SOURCE == MPI_ANY_SOURCE && status.MPI_TAG == MPI_ANY_TAG);
  for (int i = 0; i < streams; ++i) {
    MPIX_Stream before, after;
    CHECK(MPIX_Comm_get_stream(comm, i, &before) == MPI_SUCCESS);
    CHECK(MPIX_Comm_get_stream(made, i, &after) == MPI_SUCCESS);
    CHECK(before == after);
  }
  int result = -1;
  MPI_Comm_compare(comm, made, &result);
  CHECK(result == MPI_CONGRUENT);
  MPI_Comm both[2] = {comm, made};
  talk(both, 2, 0, streams - 1);
  MPI_Comm_free(&made);
}

// The others come to it only when they have heard of this one's having left it.
static void waits_for_nobody(MPI_Comm comm) {
  MPI_Comm made[2];
  MPI_Request requests[3];
  int go = 0;
  if (rank != 0) MPI_Recv(&go, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Comm_idup(comm, &made[0], &requests[0]);
  int flag = -1;
  if (rank == 0) {
    MPI_Test(&requests[0], &flag, MPI_STATUS_IGNORE);
    CHECK(flag == 0);
    MPI_Request_get_status(requests[0], &flag, MPI_STATUS_IGNORE);
    CHECK(flag == 0);
    for (int r = 1; r < size; ++r) MPI_Send(&go, 1, MPI_INT, r, 1, MPI_COMM_WORLD);
  }
  // One is done with it and sends, the other does not even look at its request yet.
  if (rank == 0) {
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    go = 42;
    MPI_Send(&go, 1, MPI_INT, 1, 2, made[0]);
    MPI_Send(&go, 1, MPI_INT, 1, 3, comm);
  } else if (rank == 1) {
    MPI_Recv(&go, 1, MPI_INT, 0, 3, comm, MPI_STATUS_IGNORE);
    CHECK(go == 42);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    MPI_Recv(&go, 1, MPI_INT, 0, 2, made[0], MPI_STATUS_IGNORE);
  } else {
    while (MPI_Test(&requests[0], &flag, MPI_STATUS_IGNORE), !flag) continue;
  }
  talk(made, 1, 0, 0);
  MPI_Comm_free(&made[0]);
}

static void several(MPI_Comm comm) {
  MPI_Comm made[kMany + 1];
  MPI_Request requests[kMany + 4];
  made[kMany] = comm;
  int in[2] = {-1, -1};
  const int out = rank;
  for (int i = 0; i < kMany; ++i) {
    made[i] = MPI_COMM_NULL;
    CHECK((i % 2 ? MPI_Comm_idup(comm, &made[i], &requests[i]) : MPI_Comm_idup_with_info(comm, MPI_INFO_NULL, &made[i], &requests[i])) ==
          MPI_SUCCESS);
  }
  MPI_Irecv(&in[0], 1, MPI_INT, last, 7, MPI_COMM_WORLD, &requests[kMany]);
  MPI_Irecv(&in[1], 1, MPI_INT, last, 7, comm, &requests[kMany + 1]);
  MPI_Isend(&out, 1, MPI_INT, next, 7, MPI_COMM_WORLD, &requests[kMany + 2]);
  MPI_Isend(&out, 1, MPI_INT, next, 7, comm, &requests[kMany + 3]);
  // Each rank in a way of its own.
  if (rank % 3 == 0) {
    CHECK(MPI_Waitall(kMany + 4, requests, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
  } else if (rank % 3 == 1) {
    for (int i = 0; i < kMany + 4; ++i) {
      int index = -1;
      CHECK(MPI_Waitany(kMany + 4, requests, &index, MPI_STATUS_IGNORE) == MPI_SUCCESS && index >= 0);
      CHECK(index >= kMany || made[index] != MPI_COMM_NULL);
    }
  } else {
    for (int i = kMany + 4; i-- > 0;) MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
  }
  CHECK(in[0] == last && in[1] == last);
  talk(made, kMany + 1, 0, 0);
  for (int i = 0; i < kMany; ++i) MPI_Comm_free(&made[i]);
}

// Others are made of it, and it is freed, before any has been waited for.
static void left_behind(MPIX_Stream stream) {
  MPI_Comm comm, made[kMany + 2];
  MPI_Request requests[kMany];
  MPI_Info info;
  MPIX_Stream_comm_create(MPI_COMM_WORLD, stream, &comm);
  MPI_Info_create(&info);
  MPI_Info_set(info, "something", "else");
  for (int i = 0; i < kMany; ++i) CHECK(MPI_Comm_idup_with_info(comm, info, &made[i], &requests[i]) == MPI_SUCCESS);
  MPI_Info_free(&info);
  CHECK(MPI_Comm_dup(comm, &made[kMany]) == MPI_SUCCESS);
  CHECK(MPI_Comm_split(comm, rank % 2, rank, &made[kMany + 1]) == MPI_SUCCESS);
  CHECK(MPI_Comm_free(&comm) == MPI_SUCCESS && comm == MPI_COMM_NULL);
  CHECK(MPI_Waitall(kMany, requests, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
  talk(made, kMany + 1, 0, 0);
  for (int i = 0; i < kMany + 2; ++i) MPI_Comm_free(&made[i]);
}

static int copies;

static int copy(MPI_Comm comm, int keyval, void* extra, void* from, void* to, int* flag) {
  (void)comm, (void)keyval, (void)extra;
  ++copies;
  *(void**)to = from;
  *flag = 1;
  return MPI_SUCCESS;
}

// Attributes are copied, the original may be freed meanwhile, and its stream stays in use.
static void outlives(MPIX_Stream stream) {
  MPI_Comm comm, made;
  MPI_Request request;
  MPIX_Stream_comm_create(MPI_COMM_WORLD, stream, &comm);
  int keyval, found = 0;
  void* value = NULL;
  MPI_Comm_create_keyval(copy, MPI_COMM_NULL_DELETE_FN, &keyval, NULL);
  MPI_Comm_set_attr(comm, keyval, &copies);
  copies = 0;
  MPI_Comm_idup(comm, &made, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Comm_free(&comm);
  MPI_Comm_get_attr(made, keyval, &value, &found);
  CHECK(copies == 1 && found && value == &copies);
  talk(&made, 1, 0, 0);
  MPIX_Stream same = stream;
  CHECK(class_of(MPIX_Stream_free(&same)) == MPI_ERR_ARG);
  MPI_Comm_delete_attr(made, keyval);
  MPI_Comm_free_keyval(&keyval);
  MPI_Comm_free(&made);
}

static void mistakes(MPI_Comm comm) {
  MPI_Comm made;
  MPI_Request request;
  CHECK(class_of(MPI_Comm_idup(comm, NULL, &request)) == MPI_ERR_ARG);
  CHECK(class_of(MPI_Comm_idup(comm, &made, NULL)) == MPI_ERR_ARG);
  MPI_Comm_idup(comm, &made, &request);
  CHECK(class_of(MPI_Cancel(&request)) == MPI_ERR_REQUEST);
  CHECK(class_of(MPI_Request_free(&request)) == MPI_ERR_REQUEST);
  CHECK(request != MPI_REQUEST_NULL && MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
  talk(&made, 1, 0, 0);
  MPI_Comm_free(&made);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  next = (rank + 1) % size;
  last = (rank + size - 1) % size;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  MPIX_Stream stream;
  MPI_Comm plain, multiplex;
  MPIX_Stream_create(MPI_INFO_NULL, &stream);
  MPIX_Stream streams[2] = {MPIX_STREAM_NULL, stream};
  MPIX_Stream_comm_create(MPI_COMM_WORLD, stream, &plain);
  MPIX_Stream_comm_create_multiplex(MPI_COMM_WORLD, 2, streams, &multiplex);
  keeps_streams(plain, 1);
  keeps_streams(multiplex, 2);
  for (int round = 0; round < 20; ++round) {
    waits_for_nobody(plain);
    several(round % 2 ? plain : multiplex);
    left_behind(stream);
  }
  mistakes(plain);
  MPI_Comm_free(&plain);
  MPI_Comm_free(&multiplex);
  outlives(stream);
  CHECK(MPIX_Stream_free(&stream) == MPI_SUCCESS);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) puts("duplicates keep their streams");
  MPI_Finalize();
  return 0;
}
