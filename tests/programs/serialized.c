// serialized [ROUNDS]: one thread sends and receives on a stream communicator while the main thread makes calls of the MPI's own
// that do not block. With PLAIT_THREAD_LEVEL=serialized, which a run between nodes needs for the test to mean anything, the
// MPI lets in one thread at a time, and plait has to see to that. Then four threads make, start and free partitioned messages, and
// what has been sent arrives while its sender is blocked in the MPI.
#include <mpi.h>
#include <plait/mpix.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "check.h"

enum { kMost = 10000 };

static MPI_Comm streams;
static int rank, size, rounds;
static atomic_int finished;

static void* talk(void* unused) {
  static int in[kMost], out[kMost];
  for (int i = 0; i < rounds; ++i) {
    const int n = i % 10 == 0 ? kMost : 8;
    MPI_Request both[2];
    out[0] = i;
    MPI_Irecv(in, n, MPI_INT, (rank + size - 1) % size, 5, streams, &both[0]);
    MPI_Isend(out, n, MPI_INT, (rank + 1) % size, 5, streams, &both[1]);
    MPI_Waitall(2, both, MPI_STATUSES_IGNORE);
    CHECK(in[0] == i);
  }
  atomic_store(&finished, 1);
  return unused;
}

static void complete(MPI_Request* request) {
  for (int done = 0; !done;) MPI_Test(request, &done, MPI_STATUS_IGNORE);
}

static void collective(void) {
  int one = 1, sum = 0;
  MPI_Request request;
  MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
  complete(&request);
  CHECK(sum == size);
}

static void remote_memory(MPI_Win window) {
  const double x = rank;
  MPI_Put(&x, 1, MPI_DOUBLE, (rank + 1) % size, 0, 1, MPI_DOUBLE, window);
  MPI_Win_flush((rank + 1) % size, window);
}

static void persistent(MPI_Request both[2]) {
  MPI_Startall(2, both);
  for (int done = 0; !done;) MPI_Testall(2, both, &done, MPI_STATUSES_IGNORE);
}

/// Calls that only change what the MPI holds.
static void objects(int keyval) {
  MPI_Datatype type;
  MPI_Type_vector(4, 1, 2, MPI_INT, &type);
  MPI_Type_commit(&type);
  MPI_Type_set_name(type, "a column");
  MPI_Type_free(&type);
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "key", "value");
  MPI_Info_free(&info);
  MPI_Group all, first;
  const int zero = 0;
  MPI_Comm_group(MPI_COMM_WORLD, &all);
  MPI_Group_incl(all, 1, &zero, &first);
  MPI_Group_free(&first);
  MPI_Group_free(&all);
  int value = 1, *found = NULL, flag = 0;
  MPI_Comm_set_attr(MPI_COMM_WORLD, keyval, &value);
  MPI_Comm_get_attr(MPI_COMM_WORLD, keyval, &found, &flag);
  CHECK(flag && found == &value);
  MPI_Comm_delete_attr(MPI_COMM_WORLD, keyval);
}

/// To the next process, from the one before; some are taken back.
static void* talk_in_parts(void* tag) {
  const int mine = *(const int*)tag;
  int in[2], out[2];
  for (int i = 0; i < rounds / 5; ++i) {
    MPI_Request send, receive, never;
    MPI_Precv_init(in, 2, 1, MPI_INT, (rank + size - 1) % size, mine, MPI_COMM_WORLD, MPI_INFO_NULL, &receive);
    MPI_Psend_init(out, 2, 1, MPI_INT, (rank + 1) % size, mine, MPI_COMM_WORLD, MPI_INFO_NULL, &never);
    MPI_Request_free(&never);
    MPI_Psend_init(out, 2, 1, MPI_INT, (rank + 1) % size, mine, MPI_COMM_WORLD, MPI_INFO_NULL, &send);
    MPI_Start(&receive);
    MPI_Start(&send);
    out[0] = out[1] = 10 * i + mine;
    MPI_Pready_range(0, 1, send);
    MPI_Wait(&receive, MPI_STATUS_IGNORE);
    MPI_Wait(&send, MPI_STATUS_IGNORE);
    CHECK(in[0] == 10 * i + mine && in[1] == in[0]);
    MPI_Request_free(&receive);
    MPI_Request_free(&send);
  }
  return NULL;
}

static void in_parts(void) {
  enum { kThreads = 4 };
  int tags[kThreads] = {1, 2, 3, 4};
  pthread_t threads[kThreads];
  for (int t = 0; t < kThreads; ++t) pthread_create(&threads[t], NULL, talk_in_parts, &tags[t]);
  for (int t = 0; t < kThreads; ++t) pthread_join(threads[t], NULL);
}

/// Each is complete for its sender, which is blocked in the MPI until all have come.
static void leave_before_barrier(void) {
  enum { kMessages = 30, kInts = 4000 };
  static int data[kInts];
  if (rank % 2 == 0) {
    for (int i = 0; i < kMessages && rank + 1 < size; ++i) MPI_Send(data, kInts, MPI_INT, rank + 1, 6, streams);
  } else {
    usleep(20000);  // so that the sender blocks; it is as right if it does not
    for (int i = 0; i < kMessages; ++i) MPI_Recv(data, kInts, MPI_INT, rank - 1, 6, streams, MPI_STATUS_IGNORE);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char** argv) {
  int level;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  rounds = argc > 1 ? atoi(argv[1]) : 100;
  MPIX_Stream stream;
  MPIX_Stream_create(MPI_INFO_NULL, &stream);
  MPIX_Stream_comm_create(MPI_COMM_WORLD, stream, &streams);
  double* memory;
  MPI_Win window;
  MPI_Win_allocate(sizeof *memory, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
  MPI_Win_lock_all(0, window);
  int in = -1, keyval;
  MPI_Request both[2];
  MPI_Recv_init(&in, 1, MPI_INT, (rank + size - 1) % size, 9, MPI_COMM_WORLD, &both[0]);
  MPI_Send_init(&rank, 1, MPI_INT, (rank + 1) % size, 9, MPI_COMM_WORLD, &both[1]);
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &keyval, NULL);
  pthread_t thread;
  pthread_create(&thread, NULL, talk, NULL);
  for (int all = 0; !all;) {
    collective();
    remote_memory(window);
    persistent(both);
    CHECK(in == (rank + size - 1) % size);
    objects(keyval);
    const int mine = atomic_load(&finished);
    MPI_Request request;
    MPI_Iallreduce(&mine, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD, &request);
    complete(&request);
  }
  pthread_join(thread, NULL);
  in_parts();
  leave_before_barrier();
  MPI_Comm_free_keyval(&keyval);
  MPI_Request_free(&both[0]);
  MPI_Request_free(&both[1]);
  MPI_Win_unlock_all(window);
  MPI_Win_free(&window);
  MPI_Comm_free(&streams);
  MPIX_Stream_free(&stream);
  if (rank == 0) printf("one thread at a time in the MPI\n");
  MPI_Finalize();
}
