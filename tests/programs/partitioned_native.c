// partitioned_native world|session|past|init: partitioned messages where plait cannot carry them itself: on the communicator of a session,
// beside MPI_COMM_WORLD or without it; in a program whose MPI was started past plait; and, with init, where
// no_memfd.c is preloaded: without shared memory. They are the MPI's own then, beside messages of plait's. Finepoints' calls give an error
// there, or work.
#include <mpi.h>
#include <plait/finepoints.h>
#include <plait/mpix.h>
#include <plait/native.h>
#include <plait/partitioned.h>
#include <stdio.h>
#include <string.h>

#include "check.h"

enum { PARTITIONS = 8, EACH = 1000, ROUNDS = 5 };

static int rank, size;
static int no_memory;  // there is no shared memory: whatever needs it says so

// Open MPI 5.0.11 has none of its own with sessions alone: they crash there.
static int is_refused(void) {
  int initialized = 0;
  MPI_Initialized(&initialized);
#ifdef OMPI_MAJOR_VERSION
  return !initialized;
#else
  return 0;
#endif
}

static void exchange(MPI_Comm comm) {
  static double out[PARTITIONS * EACH], in[PARTITIONS * EACH];
  const int to = (rank + 1) % size, from = (rank + size - 1) % size;
  MPI_Request both[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  if (is_refused()) {
    GIVES(MPI_Psend_init(out, PARTITIONS, EACH, MPI_DOUBLE, to, 3, comm, MPI_INFO_NULL, &both[0]), MPI_ERR_UNSUPPORTED_OPERATION);
    GIVES(MPI_Precv_init(in, PARTITIONS, EACH, MPI_DOUBLE, from, 3, comm, MPI_INFO_NULL, &both[1]), MPI_ERR_UNSUPPORTED_OPERATION);
    return;
  }
  CHECK(MPI_Psend_init(out, PARTITIONS, EACH, MPI_DOUBLE, to, 3, comm, MPI_INFO_NULL, &both[0]) == MPI_SUCCESS);
  CHECK(MPI_Precv_init(in, PARTITIONS, EACH, MPI_DOUBLE, from, 3, comm, MPI_INFO_NULL, &both[1]) == MPI_SUCCESS);
  for (int round = 0; round < ROUNDS; ++round) {
    CHECK(MPI_Startall(2, both) == MPI_SUCCESS);
    for (int i = 0; i < PARTITIONS * EACH; ++i) out[i] = rank * 1e6 + round * 1e5 + i;
    int list[2] = {7, 0};
    CHECK(MPI_Pready_list(2, list, both[0]) == MPI_SUCCESS);
    CHECK(MPI_Pready(1, both[0]) == MPI_SUCCESS);
    CHECK(MPI_Pready_range(2, 6, both[0]) == MPI_SUCCESS);
    int flag = 0;
    while (!flag) CHECK(MPI_Parrived(both[1], 5, &flag) == MPI_SUCCESS);
    CHECK(in[5 * EACH] == from * 1e6 + round * 1e5 + 5 * EACH);
    CHECK(MPI_Waitall(2, both, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
    for (int i = 0; i < PARTITIONS * EACH; ++i) CHECK(in[i] == from * 1e6 + round * 1e5 + i);
  }
  CHECK(MPI_Request_free(&both[0]) == MPI_SUCCESS && MPI_Request_free(&both[1]) == MPI_SUCCESS);
}

// Finepoints' calls are no MPI's: they work, or say that they do not.
static void finepoints(MPI_Comm comm) {
  static int out[10], in[10];
  MPI_Request send = MPI_REQUEST_NULL, receive = MPI_REQUEST_NULL;
  const int error = MPI_Partitioned_Send_create(out, 10, MPI_INT, 1, (rank + 1) % size, 4, comm, &send);
  if (no_memory) GIVES(error, MPI_ERR_UNSUPPORTED_OPERATION);
  if (error != MPI_SUCCESS) {
    GIVES(error, MPI_ERR_UNSUPPORTED_OPERATION);
    GIVES(MPI_Partitioned_Recv_create(in, 10, MPI_INT, (rank + size - 1) % size, 4, comm, &receive), MPI_ERR_UNSUPPORTED_OPERATION);
    CHECK(send == MPI_REQUEST_NULL && receive == MPI_REQUEST_NULL);
    return;
  }
  CHECK(MPI_Partitioned_Recv_create(in, 10, MPI_INT, (rank + size - 1) % size, 4, comm, &receive) == MPI_SUCCESS);
  for (int i = 0; i < 10; ++i) out[i] = rank * 10 + i;
  CHECK(MPI_Start_part(&send) == MPI_SUCCESS && MPI_Partitioned_Add_to_buffer(&send, out, 10, MPI_INT) == MPI_SUCCESS);
  CHECK(MPI_Wait_part(&receive, MPI_STATUS_IGNORE) == MPI_SUCCESS);
  for (int i = 0; i < 10; ++i) CHECK(in[i] == (rank + size - 1) % size * 10 + i);
  CHECK(MPI_Partitioned_free(&send) == MPI_SUCCESS && MPI_Partitioned_free(&receive) == MPI_SUCCESS);
}

// Messages on a stream communicator, or an error that says that there is none.
static void streams(MPI_Comm comm) {
  MPIX_Stream stream = MPIX_STREAM_NULL;
  MPI_Comm made = MPI_COMM_NULL;
  int error = MPIX_Stream_create(MPI_INFO_NULL, &stream);
  if (no_memory) GIVES(error, MPI_ERR_UNSUPPORTED_OPERATION);
  if (error == MPI_SUCCESS) error = MPIX_Stream_comm_create(comm, stream, &made);
  if (error == MPI_SUCCESS) {
    int in = -1;
    CHECK(MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 0, &in, 1, MPI_INT, (rank + size - 1) % size, 0, made, MPI_STATUS_IGNORE) ==
          MPI_SUCCESS);
    CHECK(in == (rank + size - 1) % size);
    CHECK(MPI_Comm_free(&made) == MPI_SUCCESS);
  } else {
    GIVES(error, MPI_ERR_UNSUPPORTED_OPERATION);
  }
  if (stream != MPIX_STREAM_NULL) CHECK(MPIX_Stream_free(&stream) == MPI_SUCCESS);
}

static void all(MPI_Comm comm) {
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  exchange(comm);
  finepoints(comm);
  streams(comm);
}

static void in_session(void) {
#if MPI_VERSION >= 4 || (defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5)
  MPI_Session session;
  MPI_Group group;
  MPI_Comm comm;
  CHECK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session) == MPI_SUCCESS);
  CHECK(MPI_Group_from_session_pset(session, "mpi://WORLD", &group) == MPI_SUCCESS);
  CHECK(MPI_Comm_create_from_group(group, "plait", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm) == MPI_SUCCESS);
  all(comm);
  MPI_Comm_free(&comm);
  MPI_Group_free(&group);
  MPI_Session_finalize(&session);
#endif
}

int main(int argc, char** argv) {
  const char* const word = argc > 1 ? argv[1] : "init";
  if (strcmp(word, "session") == 0) {
    in_session();
    if (rank == 0) printf("partitioned messages of a %s: right\n", word);
    return 0;
  }
  const int past_plait = strcmp(word, "past") == 0;
  no_memory = strcmp(word, "init") == 0;
  if (past_plait) {
    int (*init)(int*, char***) = NULL;
    *(void**)&init = plait_native_function("MPI_Init");
    init(&argc, &argv);
  } else {
    MPI_Init(&argc, &argv);
  }
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  if (strcmp(word, "world") == 0) in_session();
  all(MPI_COMM_WORLD);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) printf("partitioned messages of a %s: right\n", word);
  if (past_plait) {
    int (*finalize)(void) = NULL;
    *(void**)&finalize = plait_native_function("MPI_Finalize");
    finalize();
  } else {
    MPI_Finalize();
  }
  return 0;
}
