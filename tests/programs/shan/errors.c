// shan_errors: calls of shared notifications with bad arguments: each gives SHAN_ERROR, with a line on stderr, and what comes after works.
// 2 processes on one node.
#include <SHAN_comm.h>
#include <plait/mpix.h>
#include <string.h>

#include "../check.h"

#define BAD(CALL)                   \
  do {                              \
    fprintf(stderr, "%s\n", #CALL); \
    CHECK((CALL) == SHAN_ERROR);    \
  } while (0)

enum { kBytes = 1024, kElements = 4 };

static int rank;
static MPI_Comm node;
static shan_segment_t segment, other;
static shan_neighborhood_t hood;

static void segments(void) {
  shan_segment_t none = {0};
  void* at;
  BAD(shan_alloc_shared(NULL, 0, SHAN_DATA, kBytes, node));
  BAD(shan_alloc_shared(&none, 0, 2, kBytes, node));
  BAD(shan_alloc_shared(&none, 0, SHAN_DATA, -1, node));
  BAD(shan_alloc_shared(&none, 0, SHAN_DATA, kBytes, MPI_COMM_NULL));
  MPI_Comm threads;
  CHECK(MPIX_Threadcomm_init(MPI_COMM_WORLD, 1, &threads) == MPI_SUCCESS);
  MPIX_Threadcomm_start(threads);
  BAD(shan_alloc_shared(&none, 0, SHAN_DATA, kBytes, threads));
  MPIX_Threadcomm_finish(threads);
  MPIX_Threadcomm_free(&threads);
  BAD(shan_get_shared_ptr(&none, 0, &at));
  BAD(shan_free_shared(&none));
  CHECK(shan_alloc_shared(&segment, 3, SHAN_DATA, kBytes, node) == SHAN_SUCCESS);
  CHECK(shan_alloc_shared(&other, 4, SHAN_TYPE, 0, node) == SHAN_SUCCESS);
  BAD(shan_get_shared_ptr(&segment, 2, &at));
  BAD(shan_get_shared_ptr(&segment, -1, &at));
  BAD(shan_get_shared_ptr(&segment, 0, NULL));
}

static void notifications(void) {
  int value = -1;
  void* at;
  shan_notification_t* all;
  CHECK(sizeof *all == 64);
  CHECK(shan_get_shared_ptr(&segment, rank, &at) == SHAN_SUCCESS);
  all = at;
  BAD(shan_notify_init_shared(NULL, 0));
  BAD(shan_notify_init_shared(all, -1));
  BAD(shan_notify_test_shared(all, 1, NULL));
  CHECK(shan_notify_init_shared(all, 1) == SHAN_SUCCESS);
  CHECK(shan_notify_increment_shared(all, 1, 5) == SHAN_SUCCESS);
  CHECK(shan_notify_increment_shared(all, 1, -2) == SHAN_SUCCESS);
  CHECK(shan_notify_test_shared(all, 1, &value) == SHAN_SUCCESS && value == 3);
  CHECK(shan_notify_reset_shared(all, 1, &value) == SHAN_SUCCESS && value == 3);
  CHECK(shan_notify_test_shared(all, 1, &value) == SHAN_SUCCESS && value == 0);
}

static void making(void) {
  const int peer = 1 - rank, both[2] = {peer, peer}, beyond = 2;
  const long bytes = 64, below = -1;
  const int elements = kElements;
  BAD(shan_comm_init_comm(NULL, 0, &peer, 1, &bytes, &bytes, &elements, &elements, 1, node, MPI_COMM_WORLD));
  BAD(shan_comm_init_comm(&hood, 0, &beyond, 1, &bytes, &bytes, &elements, &elements, 1, node, MPI_COMM_WORLD));
  BAD(shan_comm_init_comm(&hood, 0, NULL, 1, &bytes, &bytes, &elements, &elements, 1, node, MPI_COMM_WORLD));
  BAD(shan_comm_init_comm(&hood, 0, &peer, -1, &bytes, &bytes, &elements, &elements, 1, node, MPI_COMM_WORLD));
  BAD(shan_comm_init_comm(&hood, 0, &peer, 1, &below, &bytes, &elements, &elements, 1, node, MPI_COMM_WORLD));
  BAD(shan_comm_init_comm(&hood, 0, &peer, 1, &bytes, NULL, &elements, &elements, 1, node, MPI_COMM_WORLD));
  BAD(shan_comm_init_comm(&hood, 0, &peer, 1, &bytes, &bytes, &elements, &elements, 1, MPI_COMM_NULL, MPI_COMM_WORLD));
  // One direction only, or one of them twice; other types: all processes are told.
  BAD(shan_comm_init_comm(&hood, 0, &peer, rank, &bytes, &bytes, &elements, &elements, 1, node, MPI_COMM_WORLD));
  BAD(shan_comm_init_comm(&hood, 0, both, 1 + rank, &bytes, &bytes, &elements, &elements, 1, node, MPI_COMM_WORLD));
  BAD(shan_comm_init_comm(&hood, 0, &peer, 1, &bytes, &bytes, &elements, &elements, rank, node, MPI_COMM_WORLD));
  CHECK(shan_comm_init_comm(&hood, 0, &peer, 1, &bytes, &bytes, &elements, &elements, 1, node, MPI_COMM_WORLD) == SHAN_SUCCESS);
}

static void using(void) {
  shan_neighborhood_t none = {0};
  int *send, *receive, *send_size, *receive_size;
  long *from, *to;
  BAD(shan_comm_type_offset(&none, 0, &send, &receive, &send_size, &receive_size, &from, &to));
  BAD(shan_comm_type_offset(&hood, 1, &send, &receive, &send_size, &receive_size, &from, &to));
  CHECK(shan_comm_type_offset(&hood, 0, &send, &receive, &send_size, &receive_size, &from, &to) == SHAN_SUCCESS);
  BAD(shan_comm_notify_or_write(&hood, &segment, 0, 1));
  BAD(shan_comm_notify_or_write(&hood, &segment, -1, 0));
  BAD(shan_comm_notify_or_write(&hood, &(shan_segment_t){0}, 0, 0));
  BAD(shan_comm_local_rank(&hood, 2));
  CHECK(shan_comm_local_rank(&hood, 1 - rank) == 1 - rank);
  *send = kElements + 1;
  *send_size = 8;
  BAD(shan_comm_notify_or_write(&hood, &segment, 0, 0));
  *send = -1;
  BAD(shan_comm_notify_or_write(&hood, &segment, 0, 0));
  *send = 2;
  *send_size = 0;
  BAD(shan_comm_notify_or_write(&hood, &segment, 0, 0));
  *send_size = 33;
  BAD(shan_comm_notify_or_write(&hood, &segment, 0, 0));
  MPI_Datatype uncommitted;
  MPI_Type_contiguous(8, MPI_BYTE, &uncommitted);
  BAD(plait_shan_comm_datatypes(&hood, 0, 0, MPI_DATATYPE_NULL, MPI_BYTE));
  BAD(plait_shan_comm_datatypes(&hood, 0, 0, uncommitted, MPI_BYTE));
  MPI_Type_contiguous(65, MPI_BYTE, &uncommitted);
  MPI_Type_commit(&uncommitted);
  BAD(plait_shan_comm_datatypes(&hood, 0, 0, uncommitted, MPI_BYTE));

  // What is sent fits; what is received does not, in several ways, and then does.
  void* at;
  CHECK(shan_get_shared_ptr(&segment, rank, &at) == SHAN_SUCCESS);
  memset(at, 'a' + rank, 16);
  *send = 2;
  *send_size = 8;
  from[0] = 8;
  from[1] = 0;
  CHECK(shan_comm_notify_or_write(&hood, &segment, 0, 0) == SHAN_SUCCESS);
  *receive = 1;
  *receive_size = 8;
  to[0] = 100;
  to[1] = kBytes - 7;
  BAD(shan_comm_wait4Recv(&hood, &segment, 0, 0));  // 16 bytes come
  *receive = 2;
  BAD(shan_comm_wait4Recv(&hood, &segment, 0, 0));  // beyond the segment
  to[1] = -8;
  BAD(shan_comm_wait4Recv(&hood, &segment, 0, 0));
  BAD(shan_comm_wait4Recv(&hood, &other, 0, 0));  // the neighbour sends out of another one
  to[1] = 108;
  CHECK(shan_comm_wait4All(&hood, &segment, 0) == SHAN_SUCCESS);
  CHECK(shan_comm_test4Recv(&hood, &segment, 0, 0) == SHAN_FAIL);
  CHECK(shan_comm_test4Send(&hood, 0, 0) == SHAN_SUCCESS);
  for (int i = 100; i < 116; ++i) CHECK(((char*)at)[i] == 'b' - rank);
  CHECK(shan_comm_shmemBarrier(&hood) == SHAN_SUCCESS);
}

int main(int argc, char** argv) {
  BAD(shan_alloc_shared(&segment, 0, SHAN_DATA, kBytes, MPI_COMM_WORLD));  // before MPI_Init
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  segments();
  notifications();
  making();
  using();
  CHECK(shan_comm_free_comm(&hood) == SHAN_SUCCESS);
  BAD(shan_comm_free_comm(&hood));
  CHECK(shan_free_shared(&segment) == SHAN_SUCCESS);
  CHECK(shan_free_shared(&other) == SHAN_SUCCESS);
  if (rank == 0) printf("bad calls of shared notifications are refused\n");
  MPI_Finalize();
  return 0;
}
