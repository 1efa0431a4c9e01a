/* lenient types|buffers|requests: calls that the standard does not ask an MPI to take, or to refuse, a line for each. types: null datatypes
 * where nothing moves; reductions are left out, in which MPICH 5.0.2 ends the program. buffers: one for what is sent and received.
 * requests: statuses where there is nothing to tell of, and nonblocking collective calls that are freed. 2 processes. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

static int rank;

static void say(const char* what, int code) {
  int error = MPI_SUCCESS;
  if (code != MPI_SUCCESS) MPI_Error_class(code, &error);
  if (rank == 0) printf("%s: %s\n", what, error == MPI_SUCCESS ? "taken" : "refused");
}

/* An empty status by the standard: from any source, with any tag, MPI_SUCCESS and nothing in it. */
static void say_status(const char* what, const MPI_Status* s) {
  int count = -1, cancelled = -1;
  MPI_Get_count(s, MPI_BYTE, &count);
  MPI_Test_cancelled(s, &cancelled);
  const int empty = s->MPI_SOURCE == MPI_ANY_SOURCE && s->MPI_TAG == MPI_ANY_TAG && s->MPI_ERROR == MPI_SUCCESS && !count && !cancelled;
  if (rank == 0) printf("%s: %s\n", what, empty ? "empty" : "not empty");
}

static MPI_Status* fresh(MPI_Status* s, int n) {
  memset(s, 0x55, (size_t)n * sizeof *s);
  for (int i = 0; i < n; ++i) s[i].MPI_SOURCE = 55, s[i].MPI_TAG = 66, s[i].MPI_ERROR = MPI_SUCCESS + 77;
  return s;
}

#define ENDED(call)                                                 \
  do {                                                              \
    MPI_Request started = MPI_REQUEST_NULL;                         \
    const int code = call;                                          \
    if (code == MPI_SUCCESS) MPI_Wait(&started, MPI_STATUS_IGNORE); \
    say(#call, code);                                               \
  } while (0)
#define SAID(call) say(#call, call)

#define NONE MPI_DATATYPE_NULL

static void null_types(MPI_Comm comm) {
  const int other = 1 - rank;
  const int none[2] = {0, 0};
  const MPI_Datatype types[2] = {NONE, NONE};
  MPI_Status s;
  SAID(MPI_Send(NULL, 0, NONE, MPI_PROC_NULL, 1, comm));
  SAID(MPI_Recv(NULL, 0, NONE, MPI_PROC_NULL, 1, comm, &s));
  ENDED(MPI_Isend(NULL, 0, NONE, MPI_PROC_NULL, 1, comm, &started));
  ENDED(MPI_Irecv(NULL, 0, NONE, MPI_PROC_NULL, 1, comm, &started));
  SAID(MPI_Sendrecv(NULL, 0, NONE, MPI_PROC_NULL, 1, NULL, 0, NONE, MPI_PROC_NULL, 1, comm, &s));
  SAID(MPI_Sendrecv(NULL, 0, NONE, other, 1, NULL, 0, NONE, other, 1, comm, &s));
  SAID(rank ? MPI_Recv(NULL, 0, NONE, 0, 2, comm, &s) : MPI_Send(NULL, 0, NONE, 1, 2, comm));
  SAID(rank ? MPI_Recv(NULL, 0, NONE, 0, 2, comm, &s) : MPI_Ssend(NULL, 0, NONE, 1, 2, comm));
#if !defined(MPICH_NUMVERSION) || defined(I_MPI_NUMVERSION) || MPICH_NUMVERSION >= 50000000 /* 4.0.2 ends the program */
  SAID(MPI_Bcast(NULL, 0, NONE, 0, comm));
#endif
  SAID(MPI_Gather(NULL, 0, NONE, NULL, 0, NONE, 0, comm));
  SAID(MPI_Scatter(NULL, 0, NONE, NULL, 0, NONE, 0, comm));
  SAID(MPI_Allgather(NULL, 0, NONE, NULL, 0, NONE, comm));
  SAID(MPI_Alltoall(NULL, 0, NONE, NULL, 0, NONE, comm));
  SAID(MPI_Gatherv(NULL, 0, NONE, NULL, none, none, NONE, 0, comm));
  SAID(MPI_Scatterv(NULL, none, none, NONE, NULL, 0, NONE, 0, comm));
  SAID(MPI_Allgatherv(NULL, 0, NONE, NULL, none, none, NONE, comm));
  SAID(MPI_Alltoallv(NULL, none, none, NONE, NULL, none, none, NONE, comm));
  SAID(MPI_Alltoallw(NULL, none, none, types, NULL, none, none, types, comm));
#if !defined(MPICH_NUMVERSION) || defined(I_MPI_NUMVERSION) || MPICH_NUMVERSION >= 50000000 /* 4.0.2 ends the program */
  ENDED(MPI_Ibcast(NULL, 0, NONE, 0, comm, &started));
#endif
  ENDED(MPI_Ialltoallv(NULL, none, none, NONE, NULL, none, none, NONE, comm, &started));
  SAID(MPI_Send(&rank, 1, NONE, MPI_PROC_NULL, 1, comm));
  SAID(MPI_Bcast(&rank, 1, NONE, 0, comm));
}

/* On a communicator of its own: one rank may refuse what the other has begun. */
#define APART(call)                                   \
  do {                                                \
    MPI_Comm comm;                                    \
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);              \
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN); \
    say(#call, call);                                 \
    MPI_Comm_free(&comm);                             \
  } while (0)

/* Where the root refuses the other would wait for it. */
#ifdef OMPI_MAJOR_VERSION
#define ALONE
#else
#define ALONE rank ? MPI_SUCCESS:
#endif

static void one_buffer(void) {
  static const int one[2] = {1, 1}, at[2] = {0, 1};
  static int x[8];
  const MPI_Datatype types[2] = {MPI_INT, MPI_INT};
  int* const mine = x + rank;
  APART(MPI_Allreduce(x, x, 2, MPI_INT, MPI_SUM, comm));
  APART(MPI_Allreduce(x, x, 0, MPI_INT, MPI_SUM, comm));
  APART(rank ? MPI_SUCCESS : MPI_Reduce(x, x, 2, MPI_INT, MPI_SUM, 0, comm));
  APART(MPI_Scan(x, x, 2, MPI_INT, MPI_SUM, comm));
  APART(MPI_Exscan(x, x, 2, MPI_INT, MPI_SUM, comm));
  APART(MPI_Reduce_scatter(x, x, one, MPI_INT, MPI_SUM, comm));
  APART(MPI_Reduce_scatter_block(x, x, 1, MPI_INT, MPI_SUM, comm));
  APART(MPI_Alltoall(x, 1, MPI_INT, x, 1, MPI_INT, comm));
  APART(MPI_Alltoallv(x, one, at, MPI_INT, x, one, at, MPI_INT, comm));
  APART(MPI_Alltoallw(x, one, at, types, x, one, at, types, comm));
  APART(MPI_Allgather(mine, 1, MPI_INT, x, 1, MPI_INT, comm));
  APART(MPI_Allgatherv(mine, 1, MPI_INT, x, one, at, MPI_INT, comm));
  APART(ALONE MPI_Gather(x, 1, MPI_INT, x, 1, MPI_INT, 0, comm));
  APART(ALONE MPI_Gatherv(x, 1, MPI_INT, x, one, at, MPI_INT, 0, comm));
  APART(ALONE MPI_Scatter(x, 1, MPI_INT, x, 1, MPI_INT, 0, comm));
  APART(ALONE MPI_Scatterv(x, one, at, MPI_INT, x, 1, MPI_INT, 0, comm));
}

/* With a request of the communicator's among them that was not started. */
static void empty_statuses(MPI_Comm comm) {
  MPI_Status s[2];
  MPI_Request both[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  int flag = 0, at = 0, indices[2], x = 0;
  MPI_Recv_init(&x, 1, MPI_INT, 0, 0, comm, &both[1]);
  MPI_Request_get_status(both[1], &flag, fresh(s, 1)), say_status("MPI_Request_get_status", s);
  MPI_Test(&both[1], &flag, fresh(s, 1)), say_status("MPI_Test", s);
  MPI_Wait(&both[1], fresh(s, 1)), say_status("MPI_Wait", s);
  MPI_Testany(2, both, &at, &flag, fresh(s, 1)), say_status(flag && at == MPI_UNDEFINED ? "MPI_Testany of none" : "MPI_Testany", s);
  MPI_Waitany(2, both, &at, fresh(s, 1)), say_status(at == MPI_UNDEFINED ? "MPI_Waitany of none" : "MPI_Waitany", s);
  MPI_Testall(2, both, &flag, fresh(s, 2)), say_status("MPI_Testall", &s[0]), say_status("MPI_Testall", &s[1]);
  MPI_Waitall(2, both, fresh(s, 2)), say_status("MPI_Waitall", &s[0]), say_status("MPI_Waitall", &s[1]);
  MPI_Testsome(2, both, &at, indices, fresh(s, 2));
  if (rank == 0) printf("MPI_Testsome: %s\n", at == MPI_UNDEFINED ? "of none" : "of some");
  MPI_Waitsome(2, both, &at, indices, fresh(s, 2));
  if (rank == 0) printf("MPI_Waitsome: %s\n", at == MPI_UNDEFINED ? "of none" : "of some");
#if MPI_VERSION > 4 || (MPI_VERSION == 4 && MPI_SUBVERSION >= 1)
  MPI_Request_get_status_any(2, both, &at, &flag, fresh(s, 1));
  say_status(flag && at == MPI_UNDEFINED ? "MPI_Request_get_status_any of none" : "MPI_Request_get_status_any", s);
  MPI_Request_get_status_all(2, both, &flag, fresh(s, 2)), say_status("MPI_Request_get_status_all", &s[1]);
  MPI_Request_get_status_some(2, both, &at, indices, fresh(s, 2));
  if (rank == 0) printf("MPI_Request_get_status_some: %s\n", at == MPI_UNDEFINED ? "of none" : "of some");
#endif
  MPI_Request_free(&both[1]);
}

static void freed(MPI_Comm comm) {
  int x = 1, y = 0, flag = 0;
  MPI_Request r;
  MPI_Ibarrier(comm, &r);
  while (!flag) MPI_Request_get_status(r, &flag, MPI_STATUS_IGNORE);
  SAID(MPI_Request_free(&r));
  flag = 0;
  MPI_Iallreduce(&x, &y, 1, MPI_INT, MPI_SUM, comm, &r);
  while (!flag) MPI_Request_get_status(r, &flag, MPI_STATUS_IGNORE);
  SAID(MPI_Request_free(&r));
  if (rank == 0) printf("the sum: %s\n", y == 2 ? "right" : "wrong");
}

int main(int argc, char** argv) {
  MPI_Comm comm;
  MPI_Init(&argc, &argv);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  if (argc > 1 && !strcmp(argv[1], "types")) {
    null_types(comm);
  } else if (argc > 1 && !strcmp(argv[1], "buffers")) {
    one_buffer();
  } else {
    empty_statuses(comm);
    freed(comm);
  }
  MPI_Comm_free(&comm);
  MPI_Finalize();
  return 0;
}
