// queue_errors [fatal | finalize]: what a program may get wrong with queues gives error classes, nothing is stuck, and what follows is
// intact. fatal: an operation that fails on the queue ends the job where the communicator's error handler says so. finalize: MPI_Finalize
// gives up what is on queues still.
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "queue.h"

static int rank, other;

static int nap(void* p) {
  (void)p;
  usleep(5000);
  return 0;
}
static int fail(void* p) {
  (void)p;
  return 1;
}
static int fail_behind(void* gate) {
  sem_wait(gate);
  return 1;
}
static int pass_gate(void* gate) {
  sem_wait(gate);
  return 0;
}
static int count(void* p) {
  ++*(int*)p;
  return 0;
}

static int create(const char* type, const void* value, int bytes, MPIX_Stream* stream) {
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "type", type);
  if (bytes > 0) MPIX_Info_set_hex(info, "value", value, bytes);
  const int code = MPIX_Stream_create(info, stream);
  MPI_Info_free(&info);
  return code;
}

static void values(plait_queue queue) {
  MPIX_Stream stream;
  plait_queue freed;
  CHECK(!plait_queue_create(&freed));
  const plait_queue value = freed;
  CHECK(!plait_queue_free(&freed));
  GIVES(create("plait_queue", &value, sizeof value, &stream), MPI_ERR_INFO_VALUE);
  GIVES(create("plait_queue", &queue, 4, &stream), MPI_ERR_INFO_VALUE);
  GIVES(create("plait_queue", NULL, 0, &stream), MPI_ERR_INFO_VALUE);
  GIVES(create("abacus", &queue, sizeof queue, &stream), MPI_ERR_INFO_VALUE);
  GIVES(MPIX_Info_set_hex(MPI_INFO_NULL, "value", &queue, 0), MPI_ERR_ARG);
}

static void calls_of_queues(plait_queue queue) {
  plait_queue none = PLAIT_QUEUE_NULL, made;
  plait_event event;
  int x = 0;
  CHECK(plait_queue_create(NULL) == MPI_ERR_ARG);
  CHECK(plait_queue_create_on(NULL, NULL, &made) == MPI_ERR_ARG);
  CHECK(plait_queue_free(&none) == MPI_ERR_ARG && plait_queue_free(NULL) == MPI_ERR_ARG);
  CHECK(plait_queue_enqueue(none, count, &x) == MPI_ERR_ARG && plait_queue_enqueue(queue, NULL, &x) == MPI_ERR_ARG);
  CHECK(plait_queue_synchronize(none) == MPI_ERR_ARG);
  CHECK(!plait_event_create(&event));
  CHECK(plait_queue_record(none, event) == MPI_ERR_ARG && plait_queue_record(queue, PLAIT_EVENT_NULL) == MPI_ERR_ARG);
  CHECK(!plait_event_free(&event));
  CHECK(plait_event_free(&event) == MPI_ERR_ARG && plait_event_synchronize(event) == MPI_ERR_ARG);
  CHECK(plait_queue_wait_event(queue, event) == MPI_ERR_ARG && plait_event_query(event, &x) == MPI_ERR_ARG);
}

static plait_queue inside;
static int from_inside(void* p) {
  *(int*)p = plait_queue_synchronize(inside) == MPI_ERR_ARG && plait_queue_free(&inside) == MPI_ERR_ARG;
  return 0;
}

/// A function that waits for what is behind itself: each call that would never end is told.
struct behind {
  plait_event event;
  MPI_Comm comm;
  sem_t put;
  int all;
};
static int wait_for_itself(void* p) {
  struct behind* const b = p;
  sem_wait(&b->put);
  MPI_Comm comm = b->comm;
  b->all = plait_event_synchronize(b->event) == MPI_ERR_ARG && class_of(MPI_Comm_free(&comm)) == MPI_ERR_ARG && comm == b->comm;
  return 0;
}
static void function_that_waits(plait_queue queue, MPI_Comm comm) {
  struct behind b = {.comm = comm};
  int x = -1, occurred = 0;
  MPI_Request r;
  sem_init(&b.put, 0, 0);
  CHECK(!plait_event_create(&b.event));
  CHECK(!plait_queue_enqueue(queue, wait_for_itself, &b));
  CHECK(!MPIX_Irecv_enqueue(&x, 1, MPI_INT, other, 0, comm, &r));
  CHECK(!MPIX_Send_enqueue(&rank, 1, MPI_INT, other, 0, comm));
  CHECK(!MPIX_Wait_enqueue(&r, MPI_STATUS_IGNORE));
  CHECK(!plait_queue_record(queue, b.event));
  sem_post(&b.put);
  CHECK(!plait_event_synchronize(b.event) && !plait_event_query(b.event, &occurred) && occurred && b.all && x == other);
  CHECK(!plait_event_free(&b.event));
}

static void arguments(MPI_Comm comm) {
  int x = 0;
  MPI_Request r = MPI_REQUEST_NULL;
  GIVES(MPIX_Send_enqueue(&x, 1, MPI_INT, 2, 0, comm), MPI_ERR_RANK);
  GIVES(MPIX_Recv_enqueue(&x, 1, MPI_INT, -17, 0, comm, MPI_STATUS_IGNORE), MPI_ERR_RANK);
  GIVES(MPIX_Send_enqueue(&x, 1, MPI_INT, other, -3, comm), MPI_ERR_TAG);
  GIVES(MPIX_Isend_enqueue(&x, -1, MPI_INT, other, 0, comm, &r), MPI_ERR_COUNT);
  GIVES(MPIX_Irecv_enqueue(&x, 1, MPI_DATATYPE_NULL, other, 0, comm, &r), MPI_ERR_TYPE);
  GIVES(MPIX_Irecv_enqueue(&x, 1, MPI_INT, other, 0, comm, NULL), MPI_ERR_ARG);
  GIVES(MPIX_Bcast_enqueue(&x, 1, MPI_INT, 2, comm), MPI_ERR_ROOT);
  GIVES(MPIX_Allreduce_enqueue(&x, &x, -1, MPI_INT, MPI_SUM, comm), MPI_ERR_COUNT);
  GIVES(MPIX_Waitall_enqueue(-1, &r, MPI_STATUSES_IGNORE), MPI_ERR_COUNT);
  CHECK(r == MPI_REQUEST_NULL);
  // To nobody is no error.
  CHECK(!MPIX_Send_enqueue(&x, 1, MPI_INT, MPI_PROC_NULL, 0, comm));
  CHECK(!MPIX_Recv_enqueue(&x, 1, MPI_INT, MPI_PROC_NULL, 0, comm, MPI_STATUS_IGNORE));
  // These are not put on queues.
  MPI_Status status;
  int flag;
  GIVES(MPI_Ssend(&x, 1, MPI_INT, other, 0, comm), MPI_ERR_COMM);
  GIVES(MPI_Issend(&x, 1, MPI_INT, other, 0, comm, &r), MPI_ERR_COMM);
  GIVES(MPI_Send_init(&x, 1, MPI_INT, other, 0, comm, &r), MPI_ERR_COMM);
  GIVES(MPI_Probe(other, 0, comm, &status), MPI_ERR_COMM);
  GIVES(MPI_Iprobe(other, 0, comm, &flag, &status), MPI_ERR_COMM);
  GIVES(MPI_Sendrecv(&x, 1, MPI_INT, other, 0, &x, 1, MPI_INT, other, 0, comm, &status), MPI_ERR_COMM);
}

/// No step could use these buffers: each call says so itself. Only a datatype that holds the address itself makes sense of MPI_BOTTOM.
static void addresses(plait_queue queue, MPI_Comm comm) {
  int x[4] = {0}, y[4] = {0}, one = 4;
  MPI_Request r = MPI_REQUEST_NULL;
  MPI_Datatype column, held;
  MPI_Aint at;
  CHECK(!MPI_Type_vector(2, 1, 2, MPI_INT, &column) && !MPI_Type_commit(&column));
  for (int i = 0; i < 2; ++i) {
    const MPI_Datatype type = i == 0 ? MPI_INT : column;
    GIVES(MPIX_Send_enqueue(NULL, 1, type, other, 0, comm), MPI_ERR_BUFFER);
    GIVES(MPIX_Isend_enqueue(NULL, 1, type, other, 0, comm, &r), MPI_ERR_BUFFER);
    GIVES(MPIX_Recv_enqueue(NULL, 1, type, other, 0, comm, MPI_STATUS_IGNORE), MPI_ERR_BUFFER);
    GIVES(MPIX_Irecv_enqueue(NULL, 1, type, other, 0, comm, &r), MPI_ERR_BUFFER);
    GIVES(MPI_Send(NULL, 1, type, other, 0, comm), MPI_ERR_BUFFER);
    GIVES(MPI_Irecv(NULL, 1, type, other, 0, comm, &r), MPI_ERR_BUFFER);
    GIVES(MPIX_Bcast_enqueue(NULL, 1, type, 0, comm), MPI_ERR_BUFFER);
    GIVES(MPIX_Alltoall_enqueue(NULL, 1, type, x, 1, MPI_INT, comm), MPI_ERR_BUFFER);
    GIVES(MPIX_Alltoall_enqueue(x, 1, MPI_INT, NULL, 1, type, comm), MPI_ERR_BUFFER);
  }
  GIVES(MPIX_Allreduce_enqueue(NULL, x, 1, MPI_INT, MPI_SUM, comm), MPI_ERR_BUFFER);
  GIVES(MPIX_Allreduce_enqueue(x, NULL, 1, MPI_INT, MPI_SUM, comm), MPI_ERR_BUFFER);
  GIVES(MPIX_Allreduce_enqueue(MPI_IN_PLACE, MPI_IN_PLACE, 1, MPI_INT, MPI_SUM, comm), MPI_ERR_BUFFER);
  GIVES(MPIX_Bcast_enqueue(MPI_IN_PLACE, 1, MPI_INT, 0, comm), MPI_ERR_BUFFER);
  GIVES(MPIX_Alltoall_enqueue(x, 1, MPI_INT, MPI_IN_PLACE, 1, MPI_INT, comm), MPI_ERR_BUFFER);
  GIVES(MPIX_Alltoall_enqueue(x, 1, MPI_DATATYPE_NULL, y, 1, MPI_INT, comm), MPI_ERR_TYPE);
  GIVES(MPIX_Alltoall_enqueue(x, -1, MPI_INT, y, 1, MPI_INT, comm), MPI_ERR_COUNT);
  CHECK(r == MPI_REQUEST_NULL);
  MPI_Type_free(&column);
  // Nothing, or to nobody, is no error.
  CHECK(!MPIX_Send_enqueue(NULL, 1, MPI_INT, MPI_PROC_NULL, 0, comm));
  CHECK(!MPIX_Isend_enqueue(NULL, 0, MPI_INT, other, 6, comm, &r));
  CHECK(!MPIX_Recv_enqueue(NULL, 0, MPI_INT, other, 6, comm, MPI_STATUS_IGNORE));
  CHECK(!MPIX_Wait_enqueue(&r, MPI_STATUS_IGNORE));
  for (int i = 0; i < 4; ++i) x[i] = 10 * rank + i;
  CHECK(!MPI_Get_address(x, &at) && !MPI_Type_create_hindexed(1, &one, &at, MPI_INT, &held) && !MPI_Type_commit(&held));
  CHECK(!MPIX_Isend_enqueue(MPI_BOTTOM, 1, held, other, 6, comm, &r));
  CHECK(!MPIX_Recv_enqueue(y, 4, MPI_INT, other, 6, comm, MPI_STATUS_IGNORE));
  CHECK(!MPIX_Wait_enqueue(&r, MPI_STATUS_IGNORE));
  CHECK(!MPIX_Bcast_enqueue(MPI_BOTTOM, 1, held, 0, comm));
  CHECK(!plait_queue_synchronize(queue) && y[3] == 10 * other + 3 && x[3] == 3);
  MPI_Type_free(&held);
}

static void communicators_without(MPIX_Stream queued) {
  int x = 0;
  MPI_Request r;
  MPIX_Stream plain;
  MPI_Comm comm;
  GIVES(MPIX_Send_enqueue(&x, 1, MPI_INT, other, 0, MPI_COMM_WORLD), MPI_ERR_COMM);
  GIVES(MPIX_Barrier_enqueue(MPI_COMM_WORLD), MPI_ERR_COMM);
  CHECK(!MPIX_Stream_create(MPI_INFO_NULL, &plain));
  CHECK(!MPIX_Stream_comm_create(MPI_COMM_WORLD, plain, &comm));
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  GIVES(MPIX_Irecv_enqueue(&x, 1, MPI_INT, other, 0, comm, &r), MPI_ERR_COMM);
  // A request that is on no queue.
  CHECK(!MPI_Irecv(&x, 1, MPI_INT, other, 0, comm, &r));
  GIVES(MPIX_Wait_enqueue(&r, MPI_STATUS_IGNORE), MPI_ERR_REQUEST);
  CHECK(!MPI_Send(&rank, 1, MPI_INT, other, 0, comm));
  CHECK(!MPI_Wait(&r, MPI_STATUS_IGNORE) && x == other);
  MPI_Comm_free(&comm);
  // With several streams nobody could say which queue is meant.
  MPIX_Stream both[2] = {plain, queued};
  GIVES(MPIX_Stream_comm_create_multiplex(MPI_COMM_WORLD, 2, both, &comm), MPI_ERR_ARG);
  MPIX_Stream_free(&plain);
}

/// What is wrong for whatever is on the queue is told at the call.
static void partitions(plait_queue queue, MPI_Comm comm) {
  int x[4] = {rank, rank, rank, rank}, y[4] = {-1, -1, -1, -1};
  MPI_Request r[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  GIVES(MPI_Psend_init(NULL, 4, 1, MPI_INT, other, 1, comm, MPI_INFO_NULL, &r[0]), MPI_ERR_BUFFER);
  GIVES(MPI_Precv_init(NULL, 4, 1, MPI_INT, other, 1, comm, MPI_INFO_NULL, &r[1]), MPI_ERR_BUFFER);
  CHECK(!MPI_Psend_init(x, 4, 1, MPI_INT, other, 1, comm, MPI_INFO_NULL, &r[0]));
  CHECK(!MPI_Precv_init(y, 4, 1, MPI_INT, other, 1, comm, MPI_INFO_NULL, &r[1]));
  GIVES(MPIX_Pready_enqueue(4, r[0]), MPI_ERR_ARG);
  GIVES(MPIX_Pready_enqueue(-1, r[0]), MPI_ERR_ARG);
  GIVES(MPIX_Pready_range_enqueue(1, 0, r[0]), MPI_ERR_ARG);
  GIVES(MPIX_Pready_enqueue(0, r[1]), MPI_ERR_REQUEST);
  GIVES(MPIX_Start_enqueue(NULL), MPI_ERR_REQUEST);
  for (int i = 0; i < 2; ++i) CHECK(!MPIX_Start_enqueue(&r[i]));
  CHECK(!MPIX_Pready_range_enqueue(0, 3, r[0]));
  CHECK(!MPIX_Waitall_enqueue(2, r, MPI_STATUSES_IGNORE));
  CHECK(!plait_queue_synchronize(queue) && y[0] == other && y[3] == other);
  for (int i = 0; i < 2; ++i) CHECK(!MPI_Request_free(&r[i]));
}

static int is_cancelled(MPI_Request* r) {
  MPI_Status status;
  int flag = 0;
  CHECK(!MPI_Cancel(r) && !MPI_Wait(r, &status) && !MPI_Test_cancelled(&status, &flag));
  return flag;
}

static int hold(void* p) {
  while (!atomic_load((atomic_int*)p)) usleep(100);
  return 0;
}

/// What is cancelled ends, whether the queue has come to it or not, and takes no message. What comes later does.
static void cancelled(plait_queue queue, MPI_Comm comm) {
  int x = -1, sent = rank;
  atomic_int go = 0;
  MPI_Request r, s;
  CHECK(!MPIX_Irecv_enqueue(&x, 1, MPI_INT, other, 8, comm, &r));
  CHECK(!plait_queue_synchronize(queue));
  CHECK(is_cancelled(&r));
  CHECK(!plait_queue_enqueue(queue, hold, &go));
  CHECK(!MPIX_Irecv_enqueue(&x, 1, MPI_INT, other, 8, comm, &r));
  CHECK(!MPIX_Isend_enqueue(&x, 1, MPI_INT, other, 8, comm, &s));
  CHECK(is_cancelled(&r) && is_cancelled(&s));
  CHECK(!MPIX_Irecv_enqueue(&x, 1, MPI_INT, other, 8, comm, &r) && !MPI_Cancel(&r) && !MPI_Request_free(&r));
  atomic_store(&go, 1);
  CHECK(!plait_queue_synchronize(queue) && x == -1);
  MPI_Barrier(MPI_COMM_WORLD);  // or a receive of this part would take the message
  CHECK(!MPIX_Isend_enqueue(&sent, 1, MPI_INT, other, 8, comm, &s));
  CHECK(!MPIX_Recv_enqueue(&x, 1, MPI_INT, other, 8, comm, MPI_STATUS_IGNORE));
  CHECK(!MPIX_Wait_enqueue(&s, MPI_STATUS_IGNORE) && !plait_queue_synchronize(queue) && x == other);
  // One that is over already stays as it is.
  CHECK(!MPIX_Isend_enqueue(&sent, 1, MPI_INT, rank, 8, comm, &s) && !MPIX_Irecv_enqueue(&x, 1, MPI_INT, rank, 8, comm, &r));
  CHECK(!MPI_Wait(&s, MPI_STATUS_IGNORE));
  for (int flag = 0; !flag;) CHECK(!MPI_Request_get_status(r, &flag, MPI_STATUS_IGNORE));
  CHECK(!is_cancelled(&r) && x == rank);
}

/// Process 1 brings a stream that is no queue: messages go between the two kinds, and there are no collective calls on the queue.
static void one_side(plait_queue queue, MPIX_Stream queued) {
  MPI_Comm comm;
  int x = -1;
  CHECK(!MPIX_Stream_comm_create(MPI_COMM_WORLD, rank == 0 ? queued : MPIX_STREAM_NULL, &comm));
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  GIVES(MPIX_Barrier_enqueue(comm), MPI_ERR_COMM);
  // A duplicate is made at once or not at all, by both.
  MPI_Comm copy = MPI_COMM_NULL;
  MPI_Request r = MPI_REQUEST_NULL;
  GIVES(MPI_Comm_idup(comm, &copy, &r), MPI_ERR_UNSUPPORTED_OPERATION);
  CHECK(copy == MPI_COMM_NULL && r == MPI_REQUEST_NULL);
  CHECK(!MPI_Comm_dup(comm, &copy));
  MPI_Comm_free(&comm);
  comm = copy;
  if (rank == 0) {
    CHECK(!MPIX_Send_enqueue(&rank, 1, MPI_INT, 1, 0, comm));
    CHECK(!MPIX_Recv_enqueue(&x, 1, MPI_INT, 1, 0, comm, MPI_STATUS_IGNORE));
    CHECK(!plait_queue_synchronize(queue));
  } else {
    CHECK(!MPI_Recv(&x, 1, MPI_INT, 0, 0, comm, MPI_STATUS_IGNORE));
    CHECK(!MPI_Send(&rank, 1, MPI_INT, 0, 0, comm));
  }
  CHECK(x == other);
  MPI_Comm_free(&comm);
}

/// Requests of two queues in one call: it takes none of them.
static void two_queues(MPI_Comm one, MPI_Comm two) {
  int a = -1, b = -1;
  MPI_Request r[4];
  CHECK(!MPIX_Irecv_enqueue(&a, 1, MPI_INT, other, 0, one, &r[0]));
  CHECK(!MPIX_Irecv_enqueue(&b, 1, MPI_INT, other, 0, two, &r[1]));
  CHECK(!MPIX_Isend_enqueue(&rank, 1, MPI_INT, other, 0, one, &r[2]));
  CHECK(!MPIX_Isend_enqueue(&rank, 1, MPI_INT, other, 0, two, &r[3]));
  GIVES(MPIX_Waitall_enqueue(4, r, MPI_STATUSES_IGNORE), MPI_ERR_REQUEST);
  CHECK(!MPI_Waitall(4, r, MPI_STATUSES_IGNORE) && a == other && b == other);
}

/// The same request twice in one call: it takes none, as the first of the two would end it.
static void twice(plait_queue queue, MPI_Comm comm) {
  int x = -1;
  MPI_Request r[4], in, out;
  CHECK(!MPIX_Irecv_enqueue(&x, 1, MPI_INT, other, 3, comm, &in) && !MPIX_Isend_enqueue(&rank, 1, MPI_INT, other, 3, comm, &out));
  r[0] = in, r[1] = MPI_REQUEST_NULL, r[2] = out, r[3] = in;
  GIVES(MPIX_Waitall_enqueue(4, r, MPI_STATUSES_IGNORE), MPI_ERR_REQUEST);
  CHECK(r[0] == in && r[2] == out && r[3] == in);
  CHECK(!MPIX_Waitall_enqueue(3, r, MPI_STATUSES_IGNORE) && r[0] == MPI_REQUEST_NULL && r[2] == MPI_REQUEST_NULL);
  CHECK(!plait_queue_synchronize(queue) && x == other);
}

/// Nothing behind a function that fails is done until the program knows of it. Then all goes on.
static void failing_function(plait_queue queue, MPI_Comm comm) {
  int x = -1, done = 0, sent = 100 + rank;
  MPI_Request r;
  CHECK(!plait_queue_enqueue(queue, nap, NULL));
  CHECK(!plait_queue_enqueue(queue, fail, NULL));
  CHECK(!plait_queue_enqueue(queue, count, &done));
  CHECK(!MPIX_Send_enqueue(&sent, 1, MPI_INT, other, 5, comm));  // garbage, perhaps: it is not sent
  CHECK(!MPIX_Isend_enqueue(&sent, 1, MPI_INT, other, 5, comm, &r));
  CHECK(plait_queue_synchronize(queue) == MPI_ERR_OTHER);
  CHECK(done == 0);
  GIVES(MPI_Wait(&r, MPI_STATUS_IGNORE), MPI_ERR_OTHER);
  sent = rank;
  CHECK(!plait_queue_enqueue(queue, count, &done));
  CHECK(!MPIX_Isend_enqueue(&sent, 1, MPI_INT, other, 5, comm, &r));
  CHECK(!MPIX_Recv_enqueue(&x, 1, MPI_INT, other, 5, comm, MPI_STATUS_IGNORE));
  CHECK(!MPIX_Wait_enqueue(&r, MPI_STATUS_IGNORE));
  CHECK(!plait_queue_synchronize(queue));
  CHECK(x == other && done == 1);
  // The next call that puts something there tells it as well, and puts nothing there.
  CHECK(!plait_queue_enqueue(queue, fail, NULL));
  int told = MPI_SUCCESS;
  while (told == MPI_SUCCESS) told = plait_queue_enqueue(queue, count, &done);
  CHECK(told == MPI_ERR_OTHER && done == 1);
  CHECK(!plait_queue_synchronize(queue) && done == 1);
}

/// A queue that waits for an event behind a function that fails does nothing that needs what the function should have made.
static void failing_event(plait_queue queue, plait_queue second, MPI_Comm comm) {
  plait_event made, again;
  int data = 5, x = -1, done = 0, occurred = -1;
  MPI_Request in, out;
  sem_t gate;
  sem_init(&gate, 0, 0);
  CHECK(!plait_event_create(&made) && !plait_event_create(&again));
  CHECK(!MPIX_Irecv_enqueue(&x, 1, MPI_INT, other, 0, comm, &in));
  CHECK(!plait_queue_enqueue(queue, fail_behind, &gate) && !plait_queue_record(queue, made));
  CHECK(!plait_queue_wait_event(second, made));
  CHECK(!plait_queue_enqueue(second, count, &done));
  CHECK(!MPIX_Isend_enqueue(&data, 1, MPI_INT, other, 0, comm, &out));
  CHECK(!plait_queue_record(second, again));
  sem_post(&gate);
  CHECK(plait_event_synchronize(again) == MPI_ERR_OTHER);
  CHECK(plait_event_query(made, &occurred) == MPI_ERR_OTHER && occurred == 1);
  GIVES(MPI_Wait(&out, MPI_STATUS_IGNORE), MPI_ERR_OTHER);
  CHECK(plait_queue_synchronize(second) == MPI_ERR_OTHER && plait_queue_synchronize(queue) == MPI_ERR_OTHER && done == 0);
  // Each knows now.
  CHECK(!plait_queue_record(queue, made) && !plait_queue_wait_event(second, made));
  CHECK(!MPIX_Isend_enqueue(&data, 1, MPI_INT, other, 0, comm, &out));
  CHECK(!plait_queue_synchronize(second) && !plait_event_synchronize(made) && !plait_event_query(made, &occurred));
  CHECK(!MPI_Wait(&out, MPI_STATUS_IGNORE) && !MPI_Wait(&in, MPI_STATUS_IGNORE) && x == data);
  // Where it has failed before the event is recorded, the record tells it: the event is a failed one even so.
  CHECK(!plait_queue_enqueue(queue, fail, NULL));
  int told = MPI_SUCCESS;
  while (told == MPI_SUCCESS) {
    CHECK(!plait_event_free(&made) && !plait_event_create(&made));
    told = plait_queue_record(queue, made);
  }
  CHECK(told == MPI_ERR_OTHER && plait_event_query(made, &occurred) == MPI_ERR_OTHER && occurred == 1);
  CHECK(plait_event_synchronize(made) == MPI_ERR_OTHER && !plait_queue_synchronize(queue));
  CHECK(!plait_queue_wait_event(second, made) && plait_queue_synchronize(second) == MPI_ERR_OTHER);
  // And a wait that tells it waits.
  CHECK(!plait_queue_enqueue(queue, pass_gate, &gate) && !plait_queue_record(queue, made));
  CHECK(!plait_queue_enqueue(second, fail, NULL));
  for (told = MPI_SUCCESS; told == MPI_SUCCESS;) told = plait_queue_wait_event(second, made);
  CHECK(told == MPI_ERR_OTHER && !plait_queue_enqueue(second, count, &done) && !plait_queue_record(second, again));
  CHECK(!plait_event_query(again, &occurred) && occurred == 0 && done == 0);
  sem_post(&gate);
  CHECK(!plait_queue_synchronize(second) && !plait_queue_synchronize(queue) && done == 1);
  CHECK(!plait_event_free(&made) && !plait_event_free(&again));
}

static void truncation(plait_queue queue, MPI_Comm comm) {
  int many[4] = {rank, rank, rank, rank}, one = -1, two[2] = {-1, -1};
  MPI_Request r;
  MPI_Status status;
  for (int way = 0; way < 3; ++way) {
    CHECK(!MPIX_Isend_enqueue(many, 4, MPI_INT, other, way, comm, &r));
    if (way == 0) {
      CHECK(!MPIX_Recv_enqueue(&one, 1, MPI_INT, other, way, comm, MPI_STATUS_IGNORE));
      CHECK(plait_queue_synchronize(queue) == MPI_ERR_TRUNCATE);
      CHECK(!MPIX_Wait_enqueue(&r, MPI_STATUS_IGNORE));
    } else {
      MPI_Request in;
      CHECK(!MPIX_Irecv_enqueue(&one, 1, MPI_INT, other, way, comm, &in));
      if (way == 1) {
        GIVES(MPI_Wait(&in, MPI_STATUS_IGNORE), MPI_ERR_TRUNCATE);
      } else {
        CHECK(!MPIX_Waitall_enqueue(1, &in, &status));
        CHECK(plait_queue_synchronize(queue) == MPI_ERR_IN_STATUS && class_of(status.MPI_ERROR) == MPI_ERR_TRUNCATE);
      }
      CHECK(!MPI_Wait(&r, MPI_STATUS_IGNORE));
    }
    CHECK(!MPIX_Isend_enqueue(many, 2, MPI_INT, other, 9, comm, &r));
    CHECK(!MPIX_Recv_enqueue(two, 2, MPI_INT, other, 9, comm, &status));
    CHECK(!MPIX_Wait_enqueue(&r, MPI_STATUS_IGNORE));
    CHECK(!plait_queue_synchronize(queue) && two[1] == other);
  }
}

/// The queue goes before its stream.
static void freed_queue(void) {
  plait_queue queue;
  MPIX_Stream stream;
  int x = 0;
  CHECK(!plait_queue_create(&queue));
  MPI_Comm comm = communicator_of(queue, MPI_COMM_WORLD, &stream);
  CHECK(!plait_queue_free(&queue));
  GIVES(MPIX_Send_enqueue(&x, 1, MPI_INT, other, 0, comm), MPI_ERR_ARG);
  GIVES(MPI_Recv(&x, 1, MPI_INT, other, 0, comm, MPI_STATUS_IGNORE), MPI_ERR_ARG);
  GIVES(MPIX_Barrier_enqueue(comm), MPI_ERR_ARG);
  MPI_Comm_free(&comm);
  CHECK(!MPIX_Stream_free(&stream));
}

static void fatal(plait_queue queue) {
  MPIX_Stream stream;
  MPI_Comm comm = communicator_of(queue, MPI_COMM_WORLD, &stream);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_ARE_FATAL);
  int many[4] = {0}, one;
  if (rank == 0) {
    CHECK(!MPIX_Send_enqueue(many, 4, MPI_INT, 1, 0, comm));
  } else {
    CHECK(!MPIX_Recv_enqueue(&one, 1, MPI_INT, 0, 0, comm, MPI_STATUS_IGNORE));
  }
  plait_queue_synchronize(queue);
  MPI_Barrier(MPI_COMM_WORLD);
  sleep(30);  // it never comes here
}

struct task {
  void (*run)(void*);
  void* argument;
};
static void* run_task(void* p) {
  const struct task t = *(struct task*)p;
  free(p);
  t.run(t.argument);
  return NULL;
}
static void execute(void (*run)(void*), void* argument, void* extra) {
  (void)extra;
  pthread_t thread;
  struct task* const t = malloc(sizeof *t);
  CHECK(t);
  *t = (struct task){run, argument};
  CHECK(!pthread_create(&thread, NULL, run_task, t) && !pthread_detach(thread));
}
static int wait_for(void* gate) { return sem_wait(gate); }

/// A function runs when the MPI ends, or a receive waits: nothing behind is done, and the program is told.
static void finalize(plait_queue first) {
  enum { QUEUES = 4 };
  plait_queue queues[QUEUES] = {first};
  CHECK(!plait_queue_create(&queues[1]) && !plait_queue_create_on(execute, NULL, &queues[2]));
  CHECK(!plait_queue_create_on(execute, NULL, &queues[3]));
  MPIX_Stream stream;
  MPI_Comm comm;
  MPI_Request r;
  sem_t gate;
  int x = 1, y = 0, done = 0;
  sem_init(&gate, 0, 0);
  for (int i = 0; i < QUEUES; ++i) {
    comm = communicator_of(queues[i], MPI_COMM_WORLD, &stream);
    if (i == 1) MPI_Comm_set_errhandler(comm, MPI_ERRORS_ARE_FATAL);  // the job has come to its end: nothing is told that could end it
    if (i % 2 == 0) {
      CHECK(!plait_queue_enqueue(queues[i], wait_for, &gate));
      CHECK(!MPIX_Isend_enqueue(&x, 1, MPI_INT, other, 0, comm, &r));
    }
    CHECK(!MPIX_Recv_enqueue(&y, 1, MPI_INT, other, 0, comm, MPI_STATUS_IGNORE));
    CHECK(!plait_queue_enqueue(queues[i], count, &done));
  }
  CHECK(!MPI_Finalize());
  sem_post(&gate);
  sem_post(&gate);
  for (int i = 0; i < QUEUES; ++i) {
    CHECK(plait_queue_synchronize(queues[i]) == MPI_ERR_OTHER && done == i && y == 0);
    CHECK(!plait_queue_enqueue(queues[i], count, &done));
    CHECK(!plait_queue_synchronize(queues[i]) && done == i + 1);
    CHECK(!plait_queue_free(&queues[i]));
  }
  if (rank == 0) printf("what was left is told\n");
}

int main(int argc, char** argv) {
  plait_queue queue, second;
  CHECK(!plait_queue_create(&queue));  // before MPI_Init as well
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  other = 1 - rank;
  if (argc > 1 && strcmp(argv[1], "fatal") == 0) fatal(queue);
  if (argc > 1 && strcmp(argv[1], "finalize") == 0) {
    finalize(queue);
    return 0;
  }
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  CHECK(!plait_queue_create(&second));
  values(queue);
  calls_of_queues(queue);
  inside = queue;
  int refused = 0;
  CHECK(!plait_queue_enqueue(queue, from_inside, &refused) && !plait_queue_synchronize(queue) && refused);
  MPIX_Stream stream, its;
  MPI_Comm comm = communicator_of(queue, MPI_COMM_WORLD, &stream), two = communicator_of(second, MPI_COMM_WORLD, &its);
  arguments(comm);
  addresses(queue, comm);
  partitions(queue, comm);
  communicators_without(stream);
  one_side(queue, stream);
  two_queues(comm, two);
  twice(queue, comm);
  cancelled(queue, comm);
  failing_function(queue, comm);
  failing_event(queue, second, two);
  function_that_waits(queue, comm);
  truncation(queue, comm);
  freed_queue();
  GIVES(MPIX_Stream_free(&stream), MPI_ERR_ARG);  // its communicator is there still
  MPI_Comm_free(&two);
  MPI_Comm_free(&comm);
  CHECK(!MPIX_Stream_free(&stream) && !MPIX_Stream_free(&its));
  CHECK(!plait_queue_free(&queue) && !plait_queue_free(&second));
  if (rank == 0) printf("all mistakes are told\n");
  MPI_Finalize();
  return 0;
}
