// The exported functions of streams.
#include "grequest/grequest.hpp"
#include "mpi/error.hpp"
#include "plait/mpix.h"

namespace plait::mpi {
namespace {

/// Lets the MPI underneath move whatever it has pending.
void progress_native() {
  int flag = 0;
  layout::check(PMPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE));
}

}  // namespace
}  // namespace plait::mpi

#pragma GCC visibility push(default)

extern "C" int MPIX_Stream_progress(MPIX_Stream stream) {
  using namespace plait::mpi;
  return guarded([&] {
    require(stream == MPIX_STREAM_NULL, MPI_ERR_ARG);
    plait::grequest::poll_all();
    progress_native();
  });
}

#pragma GCC visibility pop
