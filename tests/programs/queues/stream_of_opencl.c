// A stream for a queue of OpenCL's, where there is no OpenCL: it says which error it gets.
#include <plait/mpix.h>

#include "../check.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  void* queue = &queue;
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "type", "cl_command_queue");
  CHECK(MPIX_Info_set_hex(info, "value", &queue, sizeof queue) == MPI_SUCCESS);
  MPIX_Stream stream;
  GIVES(MPIX_Stream_create(info, &stream), MPI_ERR_INFO_VALUE);
  MPI_Info_free(&info);
  fputs("MPI_ERR_INFO_VALUE\n", stdout);  // at once: printf would be puts, which writes twice where the MPI has taken stdout's buffer
  MPI_Finalize();
  return 0;
}
