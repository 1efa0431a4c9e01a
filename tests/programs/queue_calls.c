// queue_calls [executor]: each call that puts an operation on a queue, between all processes, on a queue with a thread of its own or with
// this program's executor. What a queue does is checked by functions on it, before and after the operations.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "queue.h"

enum { kMost = 1 << 21 };

static int rank, size, next, before;
static plait_queue queue;
static MPI_Comm comm;

// ---- functions on the queue

struct Filling {
  unsigned char* at;
  int bytes;
  unsigned from, number;
  int wrong;
};
static int put(void* p) {
  struct Filling* const f = p;
  fill(f->at, f->bytes, f->from, f->number);
  return 0;
}
static int compare(void* p) {
  struct Filling* const f = p;
  if (!is_filled(f->at, f->bytes, f->from, f->number)) f->wrong = 1;
  return 0;
}
static int wipe(void* p) {
  struct Filling* const f = p;
  memset(f->at, 0, (size_t)f->bytes);
  return 0;
}
static int nap(void* p) {
  (void)p;
  usleep(2000);
  return 0;
}
static int remember(void* p) {
  ++*(int*)p;
  return 0;
}

// ---- an executor: a thread that runs what it is given, one after the other

static struct {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  struct {
    void (*run)(void*);
    void* argument;
  } given[64];
  unsigned first, end;
  int over;
  pthread_t thread;
} executor = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static void* work(void* unused) {
  (void)unused;
  pthread_mutex_lock(&executor.lock);
  for (;;) {
    while (executor.first == executor.end && !executor.over) pthread_cond_wait(&executor.changed, &executor.lock);
    if (executor.first == executor.end) break;
    void (*const run)(void*) = executor.given[executor.first % 64].run;
    void* const argument = executor.given[executor.first++ % 64].argument;
    pthread_mutex_unlock(&executor.lock);
    run(argument);
    pthread_mutex_lock(&executor.lock);
  }
  pthread_mutex_unlock(&executor.lock);
  return NULL;
}
static void execute(void (*run)(void*), void* argument, void* extra) {
  CHECK(extra == &executor);
  pthread_mutex_lock(&executor.lock);
  CHECK(executor.end - executor.first < 64);
  executor.given[executor.end % 64].run = run;
  executor.given[executor.end++ % 64].argument = argument;
  pthread_cond_signal(&executor.changed);
  pthread_mutex_unlock(&executor.lock);
}

// ---- the tests

static unsigned char *out, *in;

/// Around a ring: made, sent, received and compared without a wait of this thread's in between.
static void messages(int bytes, unsigned number) {
  struct Filling made = {out, bytes, (unsigned)rank, number, 0}, got = {in, bytes, (unsigned)before, number, 0};
  MPI_Status status;
  memset(&status, 0xAB, sizeof status);
  CHECK(!plait_queue_enqueue(queue, wipe, &got));
  CHECK(!plait_queue_enqueue(queue, nap, NULL));
  CHECK(!plait_queue_enqueue(queue, put, &made));
  if (number % 3 == 0) {  // blocking, in an order that needs no buffering
    if (rank % 2 == 0) CHECK(!MPIX_Send_enqueue(out, bytes, MPI_BYTE, next, (int)number, comm));
    CHECK(!MPIX_Recv_enqueue(in, bytes, MPI_BYTE, before, MPI_ANY_TAG, comm, &status));
    if (rank % 2 == 1) CHECK(!MPIX_Send_enqueue_c(out, bytes, MPI_BYTE, next, (int)number, comm));
  } else if (number % 3 == 1) {
    MPI_Request requests[2];
    CHECK(!MPIX_Irecv_enqueue(in, bytes, MPI_BYTE, before, (int)number, comm, &requests[0]));
    CHECK(!MPIX_Isend_enqueue(out, bytes, MPI_BYTE, next, (int)number, comm, &requests[1]));
    CHECK(!MPIX_Wait_enqueue(&requests[0], &status) && requests[0] == MPI_REQUEST_NULL);
    CHECK(!MPIX_Wait_enqueue(&requests[1], MPI_STATUS_IGNORE));
  } else {  // as the paper says: MPI's own calls
    MPI_Request requests[3] = {MPI_REQUEST_NULL};
    static MPI_Status all[3];
    CHECK(!MPI_Irecv(in, bytes, MPI_BYTE, MPI_ANY_SOURCE, (int)number, comm, &requests[1]));
    CHECK(!MPI_Isend(out, bytes, MPI_BYTE, next, (int)number, comm, &requests[2]));
    CHECK(!MPIX_Waitall_enqueue(3, requests, all));
    CHECK(requests[1] == MPI_REQUEST_NULL && requests[2] == MPI_REQUEST_NULL);
    CHECK(!plait_queue_synchronize(queue));
    CHECK(all[1].MPI_ERROR == MPI_SUCCESS && all[0].MPI_SOURCE == MPI_ANY_SOURCE);
    status = all[1];
  }
  CHECK(!plait_queue_enqueue(queue, compare, &got));
  CHECK(!plait_queue_synchronize(queue));
  CHECK(!got.wrong);
  int count = -1;
  MPI_Get_count(&status, MPI_BYTE, &count);
  CHECK(status.MPI_SOURCE == before && status.MPI_TAG == (int)number && count == bytes);
}

/// The same with a wait of the host's for a request that is on the queue.
static void host_waits(void) {
  int got = -1, flag = 0;
  MPI_Request requests[2];
  CHECK(!plait_queue_enqueue(queue, nap, NULL));
  CHECK(!MPIX_Irecv_enqueue(&got, 1, MPI_INT, before, 1, comm, &requests[0]));
  CHECK(!MPIX_Isend_enqueue(&rank, 1, MPI_INT, next, 1, comm, &requests[1]));
  MPI_Status status;
  CHECK(!MPI_Wait(&requests[0], &status) && got == before && status.MPI_SOURCE == before);
  while (!flag) CHECK(!MPI_Test(&requests[1], &flag, MPI_STATUS_IGNORE));
  CHECK(requests[1] == MPI_REQUEST_NULL);
}

static void datatypes(void) {
  // Every second of three columns; freed before the queue comes to the call.
  enum { kRows = 500 };
  static double from[kRows][3], to[kRows][3];
  MPI_Datatype column;
  MPI_Type_vector(kRows, 1, 3, MPI_DOUBLE, &column);
  MPI_Type_commit(&column);
  for (int i = 0; i < kRows; ++i) {
    for (int j = 0; j < 3; ++j) {
      from[i][j] = rank * 10000 + 3 * i + j;
      to[i][j] = -1;
    }
  }
  CHECK(!plait_queue_enqueue(queue, nap, NULL));
  MPI_Request r;
  CHECK(!MPIX_Isend_enqueue(&from[0][1], 1, column, next, 2, comm, &r));
  CHECK(!MPIX_Recv_enqueue(&to[0][2], 1, column, before, 2, comm, MPI_STATUS_IGNORE));
  CHECK(!MPIX_Wait_enqueue(&r, MPI_STATUS_IGNORE));
  MPI_Type_free(&column);
  CHECK(!plait_queue_synchronize(queue));
  for (int i = 0; i < kRows; ++i) CHECK(to[i][2] == before * 10000 + 3 * i + 1 && to[i][0] == -1 && to[i][1] == -1);
}

static void collectives(int n) {
  int *const mine = malloc(sizeof(int) * (size_t)n), *const all = malloc(sizeof(int) * (size_t)n);
  int* const parts = malloc(sizeof(int) * (size_t)(n * size));
  int* const swapped = malloc(sizeof(int) * (size_t)(n * size));
  for (int i = 0; i < n; ++i) mine[i] = rank + i;
  for (int i = 0; i < n * size; ++i) parts[i] = rank * 1000000 + i;
  CHECK(!plait_queue_enqueue(queue, nap, NULL));
  CHECK(!MPIX_Allreduce_enqueue(mine, all, n, MPI_INT, MPI_SUM, comm));
  CHECK(!MPIX_Alltoall_enqueue(parts, n, MPI_INT, swapped, n, MPI_INT, comm));
  CHECK(!MPIX_Barrier_enqueue(comm));
  CHECK(!MPIX_Bcast_enqueue(mine, n, MPI_INT, size - 1, comm));
  CHECK(!MPIX_Allreduce_enqueue_c(MPI_IN_PLACE, mine, n, MPI_INT, MPI_MAX, comm));
  CHECK(!plait_queue_synchronize(queue));
  for (int i = 0; i < n; ++i) {
    CHECK(all[i] == size * i + size * (size - 1) / 2);
    CHECK(mine[i] == size - 1 + i);
  }
  for (int r = 0; r < size; ++r) {
    for (int i = 0; i < n; ++i) CHECK(swapped[r * n + i] == r * 1000000 + rank * n + i);
  }
  free(mine);
  free(all);
  free(parts);
  free(swapped);
}

/// Rounds of a message whose parts are readied by the queue, one by one.
static void partitioned(void) {
  enum { kParts = 8, kPart = 3000, kRounds = 5 };
  static unsigned char from[kParts * kPart], to[kParts * kPart];
  MPI_Request send, receive;
  CHECK(!MPI_Psend_init(from, kParts, kPart, MPI_BYTE, next, 3, comm, MPI_INFO_NULL, &send));
  CHECK(!MPI_Precv_init(to, kParts, kPart, MPI_BYTE, before, 3, comm, MPI_INFO_NULL, &receive));
  for (unsigned round = 0; round < kRounds; ++round) {
    struct Filling parts[kParts];
    CHECK(!MPIX_Start_enqueue(&receive));
    CHECK(!MPIX_Start_enqueue(&send));
    for (int p = 0; p < kParts; ++p) {
      parts[p] = (struct Filling){from + p * kPart, kPart, (unsigned)rank, round * kParts + (unsigned)p, 0};
      CHECK(!plait_queue_enqueue(queue, put, &parts[p]));
      if (p < 4) CHECK(!MPIX_Pready_enqueue(p, send));
    }
    CHECK(!MPIX_Pready_range_enqueue(4, kParts - 1, send));
    MPI_Status status;
    CHECK(!MPIX_Wait_enqueue(&receive, &status));
    CHECK(!MPIX_Wait_enqueue(&send, MPI_STATUS_IGNORE));
    CHECK(send != MPI_REQUEST_NULL && receive != MPI_REQUEST_NULL);
    CHECK(!plait_queue_synchronize(queue));
    CHECK(status.MPI_SOURCE == before);
    for (int p = 0; p < kParts; ++p) CHECK(is_filled(to + p * kPart, kPart, (unsigned)before, round * kParts + (unsigned)p));
  }
  MPI_Request_free(&send);
  MPI_Request_free(&receive);
}

/// An event orders another queue behind a place of this one.
static void events(void) {
  plait_queue other;
  plait_event event;
  int seen = 0, occurred = -1;
  CHECK(!plait_queue_create(&other));
  CHECK(!plait_event_create(&event));
  CHECK(!plait_event_query(event, &occurred) && occurred == 1);
  for (int i = 1; i <= 3; ++i) {
    struct Filling made = {out, 1000, 7, (unsigned)i, 0}, got = made;
    CHECK(!plait_queue_enqueue(queue, nap, NULL));
    CHECK(!plait_queue_enqueue(queue, put, &made));
    CHECK(!plait_queue_record(queue, event));
    CHECK(!plait_queue_wait_event(other, event));
    CHECK(!plait_queue_enqueue(other, compare, &got));
    CHECK(!plait_queue_enqueue(other, remember, &seen));
    CHECK(!plait_event_synchronize(event));
    CHECK(is_filled(out, 1000, 7, (unsigned)i));
    CHECK(!plait_event_query(event, &occurred) && occurred == 1);
    CHECK(!plait_queue_synchronize(other));
    CHECK(seen == i && !got.wrong);
  }
  CHECK(!plait_event_free(&event) && event == PLAIT_EVENT_NULL);
  CHECK(!plait_queue_free(&other) && other == PLAIT_QUEUE_NULL);
}

/// Many operations are put there before the first runs; then the communicator and the stream are freed at once.
static void many(MPIX_Stream* stream) {
  enum { kMany = 500 };
  static int values[kMany], got[kMany];
  CHECK(!plait_queue_enqueue(queue, nap, NULL));
  for (int i = 0; i < kMany; ++i) {
    values[i] = rank * kMany + i;
    got[i] = -1;
    MPI_Request r;
    CHECK(!MPIX_Isend_enqueue(&values[i], 1, MPI_INT, next, i, comm, &r));
    CHECK(!MPIX_Recv_enqueue(&got[i], 1, MPI_INT, before, i, comm, MPI_STATUS_IGNORE));
    CHECK(!MPIX_Wait_enqueue(&r, MPI_STATUS_IGNORE));
  }
  MPI_Comm_free(&comm);
  CHECK(!MPIX_Stream_free(stream));
  for (int i = 0; i < kMany; ++i) CHECK(got[i] == before * kMany + i);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  next = (rank + 1) % size;
  before = (rank + size - 1) % size;
  const int by_executor = argc > 1 && strcmp(argv[1], "executor") == 0;
  if (by_executor) {
    CHECK(!pthread_create(&executor.thread, NULL, work, NULL));
    CHECK(!plait_queue_create_on(execute, &executor, &queue));
  } else {
    CHECK(!plait_queue_create(&queue));
  }
  MPIX_Stream stream, its;
  comm = communicator_of(queue, MPI_COMM_WORLD, &stream);
  CHECK(!MPIX_Comm_get_stream(comm, 0, &its) && its == stream);
  out = malloc(kMost);
  in = malloc(kMost);
  const int sizes[] = {0, 1, 8, 44, 45, 1000, 8192, 8193, 40000, 300000, 1 << 20, kMost};
  unsigned number = 0;
  if (size % 2 == 0) {
    for (int i = 0; i < (int)(sizeof sizes / sizeof *sizes); ++i) {
      for (int way = 0; way < 3; ++way) messages(sizes[i], number++);
    }
  }
  host_waits();
  datatypes();
  collectives(1);
  collectives(5000);
  partitioned();
  events();
  MPI_Comm copy;
  CHECK(!MPI_Comm_dup(comm, &copy));
  MPI_Comm first = comm;
  comm = copy;
  host_waits();
  collectives(10);
  MPI_Comm_free(&first);
  many(&stream);
  CHECK(!plait_queue_free(&queue));
  if (by_executor) {
    pthread_mutex_lock(&executor.lock);
    executor.over = 1;
    pthread_cond_signal(&executor.changed);
    pthread_mutex_unlock(&executor.lock);
    pthread_join(executor.thread, NULL);
  }
  free(out);
  free(in);
  if (rank == 0) printf("all that was put on the queue was done in order\n");
  MPI_Finalize();
  return 0;
}
