// fatal_errors CALL [HANDLER]: a mistake in that call, under MPI's default handler, which ends the job, or by word: abort; return, own:
// then the program goes on. 1 process.
#include <mpi.h>
#include <plait/finepoints.h>
#include <plait/mpix.h>
#include <plait/partitioned.h>
#include <stdio.h>
#include <string.h>

#include "check.h"

// MPICH 4.0.2 takes it for no handler of its own, and ends by an assertion.
#if defined(MPI_ERRORS_ABORT) && (defined(I_MPI_VERSION) || !defined(MPICH_NUMVERSION) || MPICH_NUMVERSION >= 40100000)
#define HAS_ABORT 1
#else
#define HAS_ABORT 0
#endif

static int told;

static void own(MPI_Comm* comm, int* code, ...) {
  (void)comm;
  CHECK(*code != MPI_SUCCESS);
  ++told;
}

static void set_handler(MPI_Comm comm, const char* word) {
  MPI_Errhandler mine;
  MPI_Comm_create_errhandler(own, &mine);
  if (strcmp(word, "return") == 0) MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  if (strcmp(word, "own") == 0) MPI_Comm_set_errhandler(comm, mine);
#if HAS_ABORT
  if (strcmp(word, "abort") == 0) MPI_Comm_set_errhandler(comm, MPI_ERRORS_ABORT);
#endif
  MPI_Errhandler_free(&mine);
}

static int fail_in_group(void) {
  const int outside = 1;
  MPI_Comm threads;
  MPI_Group all, some;
  MPIX_Threadcomm_init(MPI_COMM_WORLD, 1, &threads);
  MPIX_Threadcomm_start(threads);
  MPI_Comm_group(threads, &all);
  const int error = MPI_Group_incl(all, 1, &outside, &some);
  MPI_Group_free(&all);
  MPIX_Threadcomm_finish(threads);
  MPIX_Threadcomm_free(&threads);
  return error;
}

static int fail_in_finepoints(const char* call) {
  static int out[10], in[5];
  MPI_Request send, receive;
  MPI_Partitioned_Send_create(out, 10, MPI_INT, 1, 0, 8, MPI_COMM_WORLD, &send);
  MPI_Partitioned_Recv_create(in, 5, MPI_INT, 0, 8, MPI_COMM_WORLD, &receive);
  MPI_Start_part(&send);
  if (strcmp(call, "MPI_Start_part") == 0) return MPI_Start_part(&send);  // nothing is added
  if (strcmp(call, "MPI_Partitioned_free") == 0) return MPI_Partitioned_free(&send);
  MPI_Partitioned_Add_to_buffer(&send, out, 10, MPI_INT);
  return MPI_Wait_part(&receive, MPI_STATUS_IGNORE);
}

static int fail(const char* call, MPI_Comm comm) {
  static int data[1000];
  MPI_Request requests[2];
  MPI_Status statuses[2];
  int index = -1;
  if (strcmp(call, "MPI_Pready") == 0) {
    MPI_Psend_init(data, 1, 1, MPI_INT, 0, 7, MPI_COMM_WORLD, MPI_INFO_NULL, requests);
    return MPI_Pready(0, requests[0]);
  }
  if (strcmp(call, "MPI_Group_incl") == 0) return fail_in_group();
  if (strstr(call, "_part") || strstr(call, "Partitioned")) return fail_in_finepoints(call);
  if (strcmp(call, "MPI_Isend") == 0) return MPI_Isend(data, 1, MPI_INT, 77, 0, comm, requests);
  if (strcmp(call, "MPIX_Stream_free") == 0) {
    MPIX_Stream stream;
    MPIX_Comm_get_stream(comm, 0, &stream);
    return MPIX_Stream_free(&stream);
  }
  if (strcmp(call, "MPI_Free_mem") == 0) {
    char* block;
    MPI_Alloc_mem(10000, MPI_INFO_NULL, &block);
    return MPI_Free_mem(block + 4096);
  }
  // The others receive less than is sent.
  MPI_Isend(data, 10, MPI_INT, 0, 0, comm, &requests[1]);
  if (strcmp(call, "MPI_Recv") == 0) return MPI_Recv(data, 1, MPI_INT, 0, 0, comm, MPI_STATUS_IGNORE);
  MPI_Irecv(data, 1, MPI_INT, 0, 0, comm, &requests[0]);
  if (strcmp(call, "MPI_Wait") == 0) return MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
  if (strcmp(call, "MPI_Waitany") == 0) return MPI_Waitany(1, requests, &index, MPI_STATUS_IGNORE);
  if (strcmp(call, "MPI_Waitall") == 0) return MPI_Waitall(2, requests, statuses);
  int flag = 0, error = MPI_SUCCESS;
  if (strcmp(call, "MPI_Test") == 0) {
    while (!flag) error = MPI_Test(&requests[0], &flag, MPI_STATUS_IGNORE);
  }
  return error;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const char* const handler = argc > 2 ? argv[2] : "";
#if !HAS_ABORT
  if (strcmp(handler, "abort") == 0) {
    puts("this MPI has no MPI_ERRORS_ABORT that works");
    MPI_Finalize();
    return 0;
  }
#endif
  MPIX_Stream stream;
  MPI_Comm comm;
  MPIX_Stream_create(MPI_INFO_NULL, &stream);
  MPIX_Stream_comm_create(MPI_COMM_WORLD, stream, &comm);
  MPI_Comm_set_name(comm, "halo");
  set_handler(comm, handler);
  set_handler(MPI_COMM_WORLD, handler);
  set_handler(MPI_COMM_SELF, handler);
  const int error = fail(argv[1], comm);
  CHECK(error != MPI_SUCCESS);
  CHECK(told == (strcmp(handler, "own") == 0));
  puts("goes on");
  MPI_Finalize();
  return 0;
}
