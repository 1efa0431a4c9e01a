// handles: plait's handles in calls that are the MPI's own. What those do not know is refused with MPI's error class, and
// what they have in common with the MPI's handles, a number and a place in a completion call, they have.
#include <mpi.h>
#include <plait/mpix.h>
#include <plait/partitioned.h>

#include "check.h"

#define REFUSED(CALL) GIVES(CALL, MPI_ERR_UNSUPPORTED_OPERATION)

static int rank, other;

static int told;
static void tell(MPI_Comm* comm, int* code, ...) {
  (void)comm;
  ++told;
  CHECK(class_of(*code) == MPI_ERR_GROUP);
}

static void groups(MPI_Comm threads) {
  MPI_Group group, same;
  MPI_Comm made = MPI_COMM_NULL;
  CHECK(MPI_Comm_group(threads, &group) == MPI_SUCCESS);
  GIVES(MPI_Comm_create_group(MPI_COMM_WORLD, group, 0, &made), MPI_ERR_GROUP);
  GIVES(MPI_Comm_create(MPI_COMM_WORLD, group, &made), MPI_ERR_GROUP);
#if MPI_VERSION >= 4
  MPI_Errhandler handler, of_self;
  MPI_Comm_create_errhandler(tell, &handler);
  MPI_Comm_get_errhandler(MPI_COMM_SELF, &of_self);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);  // it is not the one
  GIVES(MPI_Comm_create_from_group(group, "handles", MPI_INFO_NULL, handler, &made), MPI_ERR_GROUP);
  CHECK(told == 1);
  MPI_Errhandler_free(&handler);
  GIVES(MPI_Intercomm_create_from_groups(group, 0, group, 0, "handles", MPI_INFO_NULL, MPI_ERRORS_RETURN, &made), MPI_ERR_GROUP);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, of_self);
  MPI_Errhandler_free(&of_self);
#endif
  CHECK(made == MPI_COMM_NULL);
  MPI_Win window;
  void* memory;
  CHECK(MPI_Win_allocate(8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window) == MPI_SUCCESS);
  MPI_Win_set_errhandler(window, MPI_ERRORS_RETURN);
  GIVES(MPI_Win_post(group, 0, window), MPI_ERR_GROUP);
  GIVES(MPI_Win_start(group, 0, window), MPI_ERR_GROUP);
  CHECK(MPI_Win_free(&window) == MPI_SUCCESS);

  int size = 0, result = MPI_UNEQUAL;
  same = MPI_Group_f2c(MPI_Group_c2f(group));
  CHECK(same == group && MPI_Group_size(same, &size) == MPI_SUCCESS && size == 2);
  CHECK(MPI_Group_compare(same, group, &result) == MPI_SUCCESS && result == MPI_IDENT);
  CHECK(MPI_Group_free(&group) == MPI_SUCCESS);
}

static int deleted;
static int count_deleted(MPI_Comm comm, int keyval, void* value, void* extra) {
  (void)comm, (void)keyval, (void)value, (void)extra;
  ++deleted;
  return MPI_SUCCESS;
}

/// A keyval that is freed while a communicator has a value of it is not taken for one that is made later; and what is derived from a
/// communicator outlives it.
static void keyvals(MPI_Comm threads) {
  enum { kLater = 4 };
  int first, later[kLater], found = 1, number = 7, *value = NULL;
  MPI_Comm part, copy;
  CHECK(MPI_Comm_split(threads, 0, 0, &part) == MPI_SUCCESS);
  CHECK(MPI_Comm_create_keyval(MPI_COMM_DUP_FN, count_deleted, &first, NULL) == MPI_SUCCESS);
  CHECK(MPI_Comm_set_attr(part, first, &number) == MPI_SUCCESS);
  CHECK(MPI_Comm_free_keyval(&first) == MPI_SUCCESS && first == MPI_KEYVAL_INVALID);
  CHECK(MPI_Comm_dup(part, &copy) == MPI_SUCCESS);
  for (int i = 0; i < kLater; ++i) {
    CHECK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &later[i], NULL) == MPI_SUCCESS);
    CHECK(MPI_Comm_get_attr(part, later[i], &value, &found) == MPI_SUCCESS && !found);
  }
  CHECK(MPI_Comm_free(&part) == MPI_SUCCESS && deleted == 1);
  CHECK(MPI_Comm_get_attr(copy, MPI_TAG_UB, &value, &found) == MPI_SUCCESS);  // Open MPI has it on the world only
  CHECK(MPI_Comm_free(&copy) == MPI_SUCCESS && deleted == 2);
  for (int i = 0; i < kLater; ++i) CHECK(MPI_Comm_free_keyval(&later[i]) == MPI_SUCCESS);
}

static void thread_communicator(MPI_Comm threads) {
  MPI_Comm made = MPI_COMM_NULL;
  MPI_Win window;
  MPI_File file;
  MPI_Request request = MPI_REQUEST_NULL;
  char memory[8] = "", port[MPI_MAX_PORT_NAME] = "", *base;
  REFUSED(MPI_Win_create(memory, 8, 1, MPI_INFO_NULL, threads, &window));
  REFUSED(MPI_Win_allocate(8, 1, MPI_INFO_NULL, threads, &base, &window));
  REFUSED(MPI_Win_allocate_shared(8, 1, MPI_INFO_NULL, threads, &base, &window));
  REFUSED(MPI_Win_create_dynamic(MPI_INFO_NULL, threads, &window));
  REFUSED(MPI_File_open(threads, "no such file", MPI_MODE_RDONLY, MPI_INFO_NULL, &file));
  REFUSED(MPI_Comm_create_group(threads, MPI_GROUP_EMPTY, 0, &made));
  REFUSED(MPI_Intercomm_create(threads, 0, MPI_COMM_WORLD, 0, 0, &made));
  if (rank == 0) REFUSED(MPI_Intercomm_create(MPI_COMM_SELF, 0, threads, 1, 0, &made));
  REFUSED(MPI_Intercomm_merge(threads, 0, &made));
  REFUSED(MPI_Comm_idup(threads, &made, &request));
#if MPI_VERSION >= 4 || defined(OPEN_MPI)  // Open MPI 5, which says 3.1, has it too
  REFUSED(MPI_Comm_idup_with_info(threads, MPI_INFO_NULL, &made, &request));
#endif
  REFUSED(MPI_Comm_accept(port, MPI_INFO_NULL, 0, threads, &made));
  REFUSED(MPI_Comm_connect(port, MPI_INFO_NULL, 0, threads, &made));
  REFUSED(MPI_Comm_spawn("no such program", MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, threads, &made, MPI_ERRCODES_IGNORE));
  REFUSED(MPI_Psend_init(memory, 1, 1, MPI_CHAR, other, 0, threads, MPI_INFO_NULL, &request));
#if MPI_VERSION >= 4
  REFUSED(MPI_Barrier_init(threads, MPI_INFO_NULL, &request));
  REFUSED(MPI_Allreduce_init(MPI_IN_PLACE, memory, 1, MPI_CHAR, MPI_BOR, threads, MPI_INFO_NULL, &request));
  REFUSED(MPI_Bcast_init_c(memory, 1, MPI_CHAR, 0, threads, MPI_INFO_NULL, &request));
#endif
#if MPI_VERSION > 4 || (MPI_VERSION == 4 && MPI_SUBVERSION >= 1)
  REFUSED(MPI_Comm_attach_buffer(threads, memory, 8));
  REFUSED(MPI_Comm_flush_buffer(threads));
#endif
#ifdef MPIX_ERR_REVOKED
  int agreed = 1;
  REFUSED(MPIX_Comm_agree(threads, &agreed));
  REFUSED(MPIX_Comm_shrink(threads, &made));
#endif
  CHECK(made == MPI_COMM_NULL && request == MPI_REQUEST_NULL);

  // What is the handle's works.
  char name[MPI_MAX_OBJECT_NAME];
  int length = 0, inter = 1, position = 0, number = 7, keyval, found = 0, *value = NULL;
  CHECK(MPI_Comm_set_name(threads, "threads") == MPI_SUCCESS && MPI_Comm_get_name(threads, name, &length) == MPI_SUCCESS && length == 7);
  CHECK(MPI_Comm_test_inter(threads, &inter) == MPI_SUCCESS && !inter);
  CHECK(MPI_Pack(&number, 1, MPI_INT, memory, 8, &position, threads) == MPI_SUCCESS && position >= 4);
  CHECK(MPI_Comm_f2c(MPI_Comm_c2f(threads)) == threads);
  // By the names of MPI-1, too, each rank has its attributes.
  CHECK(MPI_Keyval_create(MPI_NULL_COPY_FN, MPI_NULL_DELETE_FN, &keyval, NULL) == MPI_SUCCESS);
  CHECK(MPI_Attr_put(threads, keyval, &number) == MPI_SUCCESS);
  CHECK(MPI_Comm_get_attr(threads, keyval, &value, &found) == MPI_SUCCESS && found && value == &number);
  CHECK(MPI_Attr_get(threads, keyval, &value, &found) == MPI_SUCCESS && found && value == &number);
  CHECK(MPI_Attr_delete(threads, keyval) == MPI_SUCCESS && MPI_Attr_get(threads, keyval, &value, &found) == MPI_SUCCESS && !found);
  CHECK(MPI_Keyval_free(&keyval) == MPI_SUCCESS);
  keyvals(threads);
}

/// One of plait's that is not complete yet.
static void pending_request(MPI_Request* request) {
  GIVES(MPI_Grequest_complete(*request), MPI_ERR_REQUEST);
#ifdef MPICH_NUMVERSION
#if MPICH_NUMVERSION >= 50000000
  CHECK(!MPIX_Request_is_complete(*request));
  MPI_Status status;
  GIVES(MPIX_Wait_enqueue(request, &status), MPI_ERR_REQUEST);
  GIVES(MPIX_Waitall_enqueue(1, request, &status), MPI_ERR_REQUEST);
#endif
#endif
  const MPI_Fint number = MPI_Request_c2f(*request);
  CHECK(number != MPI_Request_c2f(MPI_REQUEST_NULL));
  const MPI_Request same = MPI_Request_f2c(number);
  CHECK(same == *request && MPI_Request_c2f(same) == number);
  *request = same;
}

static void requests(MPI_Comm streams) {
  enum { kCount = 3 };
  int in[kCount] = {-1, -1, -1}, out = rank;
  MPI_Request receives[kCount], one;
  MPI_Irecv(&in[0], 1, MPI_INT, other, 1, streams, &receives[0]);
  MPI_Precv_init(&in[1], 1, 1, MPI_INT, other, 2, MPI_COMM_WORLD, MPI_INFO_NULL, &receives[1]);
  MPI_Irecv(&in[2], 1, MPI_INT, other, 3, MPI_COMM_WORLD, &receives[2]);
  GIVES(MPI_Pready(0, receives[0]), MPI_ERR_REQUEST);
  MPI_Start(&receives[1]);
  pending_request(&receives[0]);
  pending_request(&receives[1]);
  // The MPI's own next to plait's: numbers do not meet.
  CHECK(MPI_Request_c2f(receives[2]) != MPI_Request_c2f(receives[0]) && MPI_Request_f2c(MPI_Request_c2f(receives[2])) == receives[2]);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Psend_init(&out, 1, 1, MPI_INT, other, 2, MPI_COMM_WORLD, MPI_INFO_NULL, &one);
  MPI_Start(&one);
  MPI_Pready(0, one);
  MPI_Send(&out, 1, MPI_INT, other, 1, streams);
  MPI_Send(&out, 1, MPI_INT, other, 3, MPI_COMM_WORLD);
  CHECK(MPI_Waitall(kCount, receives, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
  CHECK(in[0] == other && in[1] == other && in[2] == other);
  MPI_Wait(&one, MPI_STATUS_IGNORE);
  MPI_Request_free(&one);
  MPI_Request_free(&receives[1]);
}

#if MPI_VERSION >= 4 || defined(OPEN_MPI)
static void both_ways(MPI_Comm streams) {
  int in = -1, out = rank;
  MPI_Request request;
  MPI_Isendrecv(&out, 1, MPI_INT, other, 6, &in, 1, MPI_INT, other, 6, streams, &request);
  CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS && in == other);
  // It is plait's, so a plain receive meets it.
  MPI_Isendrecv_replace(&out, 1, MPI_INT, other, 7, other, 8, streams, &request);
  CHECK(MPI_Recv(&in, 1, MPI_INT, other, 7, streams, MPI_STATUS_IGNORE) == MPI_SUCCESS && in == other);
  in = 5;
  MPI_Send(&in, 1, MPI_INT, other, 8, streams);
  CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS && out == 5);
}
#endif

static void message(MPI_Comm streams) {
  int in = -1, out = rank;
  MPI_Request send;
  MPI_Message taken;
  MPI_Isend(&out, 1, MPI_INT, other, 4, streams, &send);
  MPI_Mprobe(other, 4, streams, &taken, MPI_STATUS_IGNORE);
  MPI_Message same = MPI_Message_f2c(MPI_Message_c2f(taken));
  CHECK(same == taken);
  CHECK(MPI_Mrecv(&in, 1, MPI_INT, &same, MPI_STATUS_IGNORE) == MPI_SUCCESS && in == other);
  MPI_Wait(&send, MPI_STATUS_IGNORE);
}

/// What MPI allows before it is opened.
static void before(void) {
  int version = 0, subversion = 0, length = 0, flag = -1;
  char text[MPI_MAX_LIBRARY_VERSION_STRING];
  CHECK(MPI_Get_version(&version, &subversion) == MPI_SUCCESS && version >= 3);
  CHECK(MPI_Get_library_version(text, &length) == MPI_SUCCESS && length > 0);
  CHECK(MPI_Initialized(&flag) == MPI_SUCCESS && !flag);
#if MPI_VERSION >= 4
  MPI_Info info;
  CHECK(MPI_Info_create(&info) == MPI_SUCCESS && MPI_Info_set(info, "key", "value") == MPI_SUCCESS);
  CHECK(MPI_Info_get_string(info, "key", &length, text, &flag) == MPI_SUCCESS && flag);
  CHECK(MPI_Info_free(&info) == MPI_SUCCESS);
#endif
}

int main(int argc, char** argv) {
  before();
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  other = 1 - rank;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);

  MPIX_Stream stream;
  MPI_Comm streams, threads;
  MPIX_Stream_create(MPI_INFO_NULL, &stream);
  MPIX_Stream_comm_create(MPI_COMM_WORLD, stream, &streams);
  requests(streams);
  message(streams);
#if MPI_VERSION >= 4 || defined(OPEN_MPI)
  both_ways(streams);
#endif
  GIVES(MPIX_Send_enqueue(&rank, 1, MPI_INT, other, 0, streams), MPI_ERR_COMM);
  MPI_Comm_free(&streams);
  MPIX_Stream_free(&stream);

  MPIX_Threadcomm_init(MPI_COMM_WORLD, 1, &threads);
  MPI_Comm_set_errhandler(threads, MPI_ERRORS_RETURN);
  MPIX_Threadcomm_start(threads);
  groups(threads);
  thread_communicator(threads);
  MPIX_Threadcomm_finish(threads);
  MPIX_Threadcomm_free(&threads);
  if (rank == 0) printf("no handle of plait's is taken for one of the MPI's\n");
  MPI_Finalize();
}
