// stream_errors: what a program may get wrong on a stream communicator gives MPI's error classes through the communicator's
// handler, and messages that follow are intact.
#include <mpi.h>
#include <plait/mpix.h>
#include <stdio.h>
#include <string.h>

#include "check.h"

static int rank, size, told, told_of_data, told_of_status;
static MPI_Comm expected;

static void handler(MPI_Comm* comm, int* code, ...) {
  const int class = class_of(*code);
  if (*comm != expected) return;
  if (class == MPI_ERR_RANK) ++told;
  if (class == MPI_ERR_TRUNCATE || class == MPI_ERR_COUNT) ++told_of_data;
  if (class == MPI_ERR_IN_STATUS) ++told_of_status;
}

// A message each way, small and large.
static void still_works(MPI_Comm comm) {
  static unsigned char out[50000], in[50000];
  static unsigned number = 0;
  const int sizes[] = {8, 5000, 50000};
  const int to = (rank + 1) % size, from = (rank + size - 1) % size;
  for (int i = 0; i < 3; ++i) {
    ++number;
    MPI_Status status;
    fill(out, sizes[i], (unsigned)rank, number);
    CHECK(MPI_Sendrecv(out, sizes[i], MPI_BYTE, to, 7, in, sizeof in, MPI_BYTE, from, 7, comm, &status) == MPI_SUCCESS);
    CHECK(is_filled(in, sizes[i], (unsigned)from, number));
  }
}

static void arguments(MPI_Comm c) {
  int x = 0;
  MPI_Request r = MPI_REQUEST_NULL;
  GIVES(MPI_Send(&x, 1, MPI_INT, size, 0, c), MPI_ERR_RANK);
  GIVES(MPI_Send(&x, 1, MPI_INT, -17, 0, c), MPI_ERR_RANK);
  GIVES(MPI_Isend(&x, 1, MPI_INT, size, 0, c, &r), MPI_ERR_RANK);
  GIVES(MPI_Recv(&x, 1, MPI_INT, size, 0, c, MPI_STATUS_IGNORE), MPI_ERR_RANK);
  GIVES(MPI_Irecv(&x, 1, MPI_INT, -17, 0, c, &r), MPI_ERR_RANK);
  GIVES(MPI_Send(&x, 1, MPI_INT, rank, -3, c), MPI_ERR_TAG);
  GIVES(MPI_Send(&x, 1, MPI_INT, rank, MPI_ANY_TAG, c), MPI_ERR_TAG);
  GIVES(MPI_Irecv(&x, 1, MPI_INT, rank, -77, c, &r), MPI_ERR_TAG);
  GIVES(MPI_Send(&x, -1, MPI_INT, rank, 0, c), MPI_ERR_COUNT);
  GIVES(MPI_Irecv(&x, -1, MPI_INT, rank, 0, c, &r), MPI_ERR_COUNT);
  GIVES(MPI_Send(&x, 1, MPI_DATATYPE_NULL, rank, 0, c), MPI_ERR_TYPE);
  MPI_Datatype raw;
  MPI_Type_contiguous(3, MPI_INT, &raw);
  GIVES(MPI_Irecv(&x, 1, raw, rank, 0, c, &r), MPI_ERR_TYPE);  // not committed
  MPI_Type_free(&raw);
  GIVES(MPI_Probe(size, 0, c, MPI_STATUS_IGNORE), MPI_ERR_RANK);
  int flag;
  GIVES(MPI_Iprobe(rank, -77, c, &flag, MPI_STATUS_IGNORE), MPI_ERR_TAG);
  CHECK(r == MPI_REQUEST_NULL);
}

static void stream_indices(MPI_Comm c) {
  int x = 0;
  MPIX_Stream s;
  MPI_Request r = MPI_REQUEST_NULL;
  GIVES(MPIX_Stream_send(&x, 1, MPI_INT, rank, 0, c, 2, 0), MPI_ERR_ARG);
  GIVES(MPIX_Stream_send(&x, 1, MPI_INT, rank, 0, c, -1, 0), MPI_ERR_ARG);
  GIVES(MPIX_Stream_send(&x, 1, MPI_INT, rank, 0, c, 0, 2), MPI_ERR_ARG);
  GIVES(MPIX_Stream_isend(&x, 1, MPI_INT, rank, 0, c, 0, -1, &r), MPI_ERR_ARG);
  GIVES(MPIX_Stream_recv(&x, 1, MPI_INT, rank, 0, c, 2, 0, MPI_STATUS_IGNORE), MPI_ERR_ARG);
  GIVES(MPIX_Stream_irecv(&x, 1, MPI_INT, rank, 0, c, -2, 0, &r), MPI_ERR_ARG);
  GIVES(MPIX_Stream_irecv(&x, 1, MPI_INT, rank, 0, c, -1, 2, &r), MPI_ERR_ARG);
  GIVES(MPIX_Comm_get_stream(c, 2, &s), MPI_ERR_ARG);
  GIVES(MPIX_Comm_get_stream(c, -1, &s), MPI_ERR_ARG);
  CHECK(r == MPI_REQUEST_NULL);
}

// Every way to complete says so of the message that was too large, and of no other.
static void truncation(MPI_Comm c) {
  static unsigned char out[70000], in[70000];
  const int sizes[] = {40, 5000, 70000};
  for (int i = 0; i < 3; ++i) {
    const int bytes = sizes[i];
    MPI_Request r[2], s;
    MPI_Status status, statuses[2];
    fill(out, bytes, 1, (unsigned)i);
    memset(in, 0, sizeof in);
    MPI_Isend(out, bytes, MPI_BYTE, rank, 0, c, &s);
    GIVES(MPI_Recv(in, bytes / 2, MPI_BYTE, rank, 0, c, &status), MPI_ERR_TRUNCATE);
    CHECK(status.MPI_SOURCE == rank && in[bytes / 2] == 0);
    MPI_Wait(&s, MPI_STATUS_IGNORE);
    MPI_Irecv(in, bytes / 2, MPI_BYTE, rank, 0, c, &r[0]);
    MPI_Isend(out, bytes, MPI_BYTE, rank, 0, c, &s);
    GIVES(MPI_Wait(&r[0], &status), MPI_ERR_TRUNCATE);
    MPI_Wait(&s, MPI_STATUS_IGNORE);
    MPI_Irecv(in, bytes - 1, MPI_BYTE, rank, 1, c, &r[0]);
    MPI_Irecv(in, bytes, MPI_BYTE, rank, 2, c, &r[1]);
    MPI_Isend(out, bytes, MPI_BYTE, rank, 1, c, &s);
    MPI_Request t;
    MPI_Isend(out, bytes, MPI_BYTE, rank, 2, c, &t);
    GIVES(MPI_Waitall(2, r, statuses), MPI_ERR_IN_STATUS);
    CHECK(class_of(statuses[0].MPI_ERROR) == MPI_ERR_TRUNCATE && statuses[1].MPI_ERROR == MPI_SUCCESS);
    CHECK(is_filled(in, bytes, 1, (unsigned)i));
    MPI_Wait(&s, MPI_STATUS_IGNORE);
    MPI_Wait(&t, MPI_STATUS_IGNORE);
    still_works(c);
  }
}

// A mistake on one side of a call leaves nothing of the other side behind.
static void both_ways(MPI_Comm c) {
  int out = 5, in = -1, got = 0, flag = 0;
  MPI_Request r[2];
  GIVES(MPI_Sendrecv(&out, 1, MPI_INT, size, 7, &in, 1, MPI_INT, rank, 7, c, MPI_STATUS_IGNORE), MPI_ERR_RANK);
  GIVES(MPI_Sendrecv(&out, 1, MPI_INT, rank, -3, &in, 1, MPI_INT, rank, 7, c, MPI_STATUS_IGNORE), MPI_ERR_TAG);
  GIVES(MPI_Sendrecv(&out, -1, MPI_INT, rank, 7, &in, 1, MPI_INT, rank, 7, c, MPI_STATUS_IGNORE), MPI_ERR_COUNT);
#if MPI_VERSION >= 4
  GIVES(MPI_Isendrecv(&out, 1, MPI_INT, size, 7, &in, 1, MPI_INT, rank, 7, c, &r[0]), MPI_ERR_RANK);
#endif
  MPI_Irecv(&got, 1, MPI_INT, rank, 7, c, &r[0]);
  MPI_Isend(&out, 1, MPI_INT, rank, 7, c, &r[1]);
  for (int i = 0; i < 100 && !flag; ++i) MPI_Test(&r[0], &flag, MPI_STATUS_IGNORE);
  CHECK(flag && got == 5 && in == -1);  // no receive of theirs is posted
  MPI_Wait(&r[1], MPI_STATUS_IGNORE);

  GIVES(MPI_Sendrecv_replace(&in, 1, MPI_INT, rank, 8, size, 8, c, MPI_STATUS_IGNORE), MPI_ERR_RANK);
  GIVES(MPI_Sendrecv_replace(&in, 1, MPI_INT, rank, 8, rank, -77, c, MPI_STATUS_IGNORE), MPI_ERR_TAG);
  GIVES(MPI_Sendrecv(&out, 1, MPI_INT, rank, 8, &in, -1, MPI_INT, rank, 8, c, MPI_STATUS_IGNORE), MPI_ERR_COUNT);
  for (int i = 0; i < 10; ++i) {
    MPI_Iprobe(rank, 8, c, &flag, MPI_STATUS_IGNORE);
    CHECK(!flag);  // nothing has been sent
  }
}

// Errors of matched receives go to the handler of the message's communicator.
static void matched(MPI_Comm c) {
  int out[2] = {3, 4}, in = 0;
  MPI_Message m;
  MPI_Request s, r;
  MPI_Isend(out, 2, MPI_INT, rank, 9, c, &s);
  MPI_Mprobe(rank, 9, c, &m, MPI_STATUS_IGNORE);
  told_of_data = 0;
  GIVES(MPI_Mrecv(&in, -1, MPI_INT, &m, MPI_STATUS_IGNORE), MPI_ERR_COUNT);
  CHECK(told_of_data == 1 && m != MPI_MESSAGE_NULL);
  GIVES(MPI_Mrecv(&in, 1, MPI_INT, &m, MPI_STATUS_IGNORE), MPI_ERR_TRUNCATE);
  CHECK(told_of_data == 2 && m == MPI_MESSAGE_NULL && in == 3);
  MPI_Wait(&s, MPI_STATUS_IGNORE);

  MPI_Isend(out, 2, MPI_INT, rank, 9, c, &s);
  MPI_Mprobe(rank, 9, c, &m, MPI_STATUS_IGNORE);
  GIVES(MPI_Imrecv(&in, -1, MPI_INT, &m, &r), MPI_ERR_COUNT);
  CHECK(told_of_data == 3 && m != MPI_MESSAGE_NULL);
  CHECK(MPI_Imrecv(&in, 1, MPI_INT, &m, &r) == MPI_SUCCESS);
  GIVES(MPI_Wait(&r, MPI_STATUS_IGNORE), MPI_ERR_TRUNCATE);
  CHECK(told_of_data == 4);
  MPI_Wait(&s, MPI_STATUS_IGNORE);
}

// Calls on one request leave the field of errors, whether they succeed or not.
static void field_of_errors(MPI_Comm c) {
  enum { kMine = 12345 };
  int out[2] = {3, 4}, in[2] = {0}, flag = 0, index = -1;
  for (int call = 0; call < 10; ++call) {
    const int n = call % 2 ? 1 : 2, is = n == 2 ? MPI_SUCCESS : MPI_ERR_TRUNCATE;
    MPI_Request r = MPI_REQUEST_NULL;
    MPI_Status status;
    status.MPI_ERROR = kMine;
    if (call >= 2) MPI_Irecv(in, n, MPI_INT, rank, 11, c, &r);
    MPI_Send(out, 2, MPI_INT, rank, 11, c);
    if (call < 2) GIVES(MPI_Recv(in, n, MPI_INT, rank, 11, c, &status), is);
    if (call / 2 == 1) GIVES(MPI_Wait(&r, &status), is);
    if (call / 2 == 2) GIVES(MPI_Test(&r, &flag, &status), is);
    if (call / 2 == 3) GIVES(MPI_Waitany(1, &r, &index, &status), is);
    if (call / 2 == 4) GIVES(MPI_Testany(1, &r, &index, &flag, &status), is);
    CHECK(status.MPI_ERROR == kMine && status.MPI_TAG == 11 && r == MPI_REQUEST_NULL);
  }
}

// So do those of calls that only look at requests.
static void looked_at(MPI_Comm c) {
#if MPI_VERSION > 4 || (MPI_VERSION == 4 && MPI_SUBVERSION >= 1)
  int out[2] = {3, 4}, in = 0, index = -1, n = 0, flag = 0;
  MPI_Request r;
  MPI_Status status;
  MPI_Irecv(&in, 1, MPI_INT, rank, 10, c, &r);
  MPI_Send(out, 2, MPI_INT, rank, 10, c);
  told_of_data = told_of_status = 0;
  GIVES(MPI_Request_get_status_any(1, &r, &index, &flag, &status), MPI_ERR_TRUNCATE);
  CHECK(told_of_data == 1 && flag && index == 0);
  GIVES(MPI_Request_get_status_all(1, &r, &flag, &status), MPI_ERR_IN_STATUS);
  CHECK(told_of_status == 1 && flag && class_of(status.MPI_ERROR) == MPI_ERR_TRUNCATE);
  GIVES(MPI_Request_get_status_some(1, &r, &n, &index, &status), MPI_ERR_IN_STATUS);
  CHECK(told_of_status == 2 && n == 1 && class_of(status.MPI_ERROR) == MPI_ERR_TRUNCATE);
  GIVES(MPI_Wait(&r, MPI_STATUS_IGNORE), MPI_ERR_TRUNCATE);
#else
  (void)c;
#endif
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  // Errors of calls without a communicator go to one of these, by the version of the standard.
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  MPIX_Stream streams[2], gone;
  MPI_Comm single, multiplex, none = MPI_COMM_NULL;
  for (int i = 0; i < 2; ++i) MPIX_Stream_create(MPI_INFO_NULL, &streams[i]);
  CHECK(MPIX_Stream_comm_create(MPI_COMM_WORLD, streams[0], &single) == MPI_SUCCESS);
  CHECK(MPIX_Stream_comm_create_multiplex(MPI_COMM_WORLD, 2, streams, &multiplex) == MPI_SUCCESS);

  arguments(single);
  still_works(single);
  arguments(multiplex);
  stream_indices(multiplex);
  still_works(multiplex);
  truncation(single);
  truncation(multiplex);
  both_ways(single);
  both_ways(multiplex);
  field_of_errors(single);
  still_works(single);
  still_works(multiplex);

  // The communicator's own handler is the one that is told.
  MPI_Errhandler counting;
  MPI_Comm_create_errhandler(handler, &counting);
  MPI_Comm_set_errhandler(single, counting);
  expected = single;
  MPI_Send(&told, 1, MPI_INT, size, 0, single);
  CHECK(told == 1);
  matched(single);
  looked_at(single);
  MPI_Comm_set_errhandler(single, MPI_ERRORS_RETURN);
  MPI_Errhandler_free(&counting);

  MPIX_Stream kept = streams[0];
  GIVES(MPIX_Stream_free(&kept), MPI_ERR_ARG);  // attached
  CHECK(kept == streams[0]);
  still_works(single);
  MPI_Comm_free(&single);
  GIVES(MPIX_Stream_free(&kept), MPI_ERR_ARG);  // to the other one still
  still_works(multiplex);
  MPI_Comm_free(&multiplex);
  gone = streams[0];
  for (int i = 0; i < 2; ++i) CHECK(MPIX_Stream_free(&streams[i]) == MPI_SUCCESS);
  GIVES(MPIX_Stream_free(&gone), MPI_ERR_ARG);
  GIVES(MPIX_Stream_progress(gone), MPI_ERR_ARG);
  GIVES(MPIX_Stop_progress_thread(MPIX_STREAM_NULL), MPI_ERR_ARG);
  GIVES(MPIX_Stream_comm_create(MPI_COMM_WORLD, gone, &none), MPI_ERR_ARG);
  GIVES(MPIX_Stream_create(MPI_INFO_NULL, NULL), MPI_ERR_ARG);
  int x = 0;
  GIVES(MPIX_Stream_send(&x, 1, MPI_INT, rank, 0, MPI_COMM_WORLD, 0, 0), MPI_ERR_COMM);
  CHECK(none == MPI_COMM_NULL);
  if (rank == 0) printf("every mistake has its error class in %d processes\n", size);
  MPI_Finalize();
  return 0;
}
