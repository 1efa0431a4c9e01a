// moves_on: what plait has started moves on while a call of the MPI's own blocks. Before each of these calls process 0 starts
// a message that takes its part to go, and process 1 makes the call only when it has received it. A call that plait does
// not cover hangs, and its name is the last that was said.
#include <mpi.h>
#include <plait/mpix.h>
#include <string.h>
#include <unistd.h>

#include "check.h"

enum { kElements = 100000 };

static int rank;
static MPI_Comm streams;
static MPI_Datatype spread;
static double buffer[2 * kElements];
static MPI_Request pending = MPI_REQUEST_NULL;

static void begin(const char* call) {
  if (rank == 0) {
    fprintf(stderr, "%s\n", call);
    MPI_Isend(buffer, 1, spread, 1, 1, streams, &pending);
  } else if (rank == 1) {
    usleep(20000);  // so that the other is in the call
    MPI_Recv(buffer, 1, spread, 0, 1, streams, MPI_STATUS_IGNORE);
  }
}

static void end(void) { CHECK(MPI_Wait(&pending, MPI_STATUS_IGNORE) == MPI_SUCCESS); }

#define DURING(CALL)              \
  do {                            \
    begin(#CALL);                 \
    CHECK((CALL) == MPI_SUCCESS); \
    end();                        \
  } while (0)

static void communicators(void) {
  MPI_Comm made;
  MPI_Group all;
  DURING(MPI_Comm_dup(MPI_COMM_WORLD, &made));
  DURING(MPI_Comm_disconnect(&made));
  DURING(MPI_Comm_split(MPI_COMM_WORLD, 0, rank, &made));
  DURING(MPI_Comm_free(&made));
  MPI_Comm_group(MPI_COMM_WORLD, &all);
  DURING(MPI_Comm_create(MPI_COMM_WORLD, all, &made));
  MPI_Comm_free(&made);
  DURING(MPI_Comm_create_group(MPI_COMM_WORLD, all, 0, &made));
  MPI_Comm_free(&made);
#if MPI_VERSION >= 4 || (defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5)
  DURING(MPI_Comm_create_from_group(all, "moves_on", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &made));
  MPI_Comm_free(&made);
#endif
  MPI_Group_free(&all);
  MPI_Comm inter;
  DURING(MPI_Intercomm_create(MPI_COMM_SELF, 0, MPI_COMM_WORLD, 1 - rank, 0, &inter));
  DURING(MPI_Intercomm_merge(inter, 0, &made));
  MPI_Comm_free(&made);
  MPI_Comm_free(&inter);
}

static void windows(void) {
  MPI_Win window;
  double* memory;
  DURING(MPI_Win_allocate(sizeof *buffer, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window));
  DURING(MPI_Win_fence(0, window));
  DURING(MPI_Win_free(&window));
  DURING(MPI_Win_create(buffer, sizeof buffer, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window));
  MPI_Win_free(&window);
}

static void files(const char* name) {
  MPI_File file;
  double data[10] = {0};
  const MPI_Offset mine = rank * (MPI_Offset)sizeof data;
  DURING(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file));
  DURING(MPI_File_set_size(file, 1000));
  DURING(MPI_File_preallocate(file, 1000));
  DURING(MPI_File_set_view(file, 0, MPI_DOUBLE, MPI_DOUBLE, "native", MPI_INFO_NULL));
  DURING(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
  MPI_Info info;
  MPI_Info_create(&info);
  DURING(MPI_File_set_info(file, info));
  MPI_Info_free(&info);
  DURING(MPI_File_set_atomicity(file, 0));
  DURING(MPI_File_seek_shared(file, 0, MPI_SEEK_SET));
  DURING(MPI_File_write_at_all(file, mine, data, 10, MPI_DOUBLE, MPI_STATUS_IGNORE));
  DURING(MPI_File_read_at_all(file, mine, data, 10, MPI_DOUBLE, MPI_STATUS_IGNORE));
  DURING(MPI_File_write_all(file, data, 10, MPI_DOUBLE, MPI_STATUS_IGNORE));
  MPI_File_seek(file, 0, MPI_SEEK_SET);
  DURING(MPI_File_read_all(file, data, 10, MPI_DOUBLE, MPI_STATUS_IGNORE));
  DURING(MPI_File_write_ordered(file, data, 10, MPI_DOUBLE, MPI_STATUS_IGNORE));
  MPI_File_seek_shared(file, 0, MPI_SEEK_SET);
  DURING(MPI_File_read_ordered(file, data, 10, MPI_DOUBLE, MPI_STATUS_IGNORE));
  DURING(MPI_File_write_at_all_begin(file, mine, data, 10, MPI_DOUBLE));
  DURING(MPI_File_write_at_all_end(file, data, MPI_STATUS_IGNORE));
  DURING(MPI_File_read_at_all_begin(file, mine, data, 10, MPI_DOUBLE));
  DURING(MPI_File_read_at_all_end(file, data, MPI_STATUS_IGNORE));
  DURING(MPI_File_write_all_begin(file, data, 10, MPI_DOUBLE));
  DURING(MPI_File_write_all_end(file, data, MPI_STATUS_IGNORE));
  DURING(MPI_File_write_ordered_begin(file, data, 10, MPI_DOUBLE));
  DURING(MPI_File_write_ordered_end(file, data, MPI_STATUS_IGNORE));
#if MPI_VERSION >= 4
  DURING(MPI_File_write_at_all_c(file, mine, data, 10, MPI_DOUBLE, MPI_STATUS_IGNORE));
  DURING(MPI_File_read_at_all_c(file, mine, data, 10, MPI_DOUBLE, MPI_STATUS_IGNORE));
#endif
  DURING(MPI_File_sync(file));
  DURING(MPI_File_close(&file));
}

static void collectives(void) {
  int x = rank;
  MPI_Request request;
  DURING(MPI_Barrier(MPI_COMM_WORLD));
  DURING(MPI_Allreduce(MPI_IN_PLACE, &x, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
#if MPI_VERSION >= 4
  DURING(MPI_Barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, &request));
  MPI_Request_free(&request);
#else
  (void)request;
#endif
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Type_vector(kElements, 1, 2, MPI_DOUBLE, &spread);
  MPI_Type_commit(&spread);
  MPIX_Stream stream;
  MPIX_Stream_create(MPI_INFO_NULL, &stream);
  MPIX_Stream_comm_create(MPI_COMM_WORLD, stream, &streams);
  collectives();
  communicators();
  windows();
  if (argc > 1) files(argv[1]);
  MPI_Comm_free(&streams);
  MPIX_Stream_free(&stream);
  MPI_Type_free(&spread);
  if (rank == 0) printf("messages move on during every call\n");
  MPI_Finalize();
}
