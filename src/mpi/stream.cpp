// The exported functions of streams.
#include "grequest/grequest.hpp"
#include "mpi/error.hpp"
#include "mpi/progress.hpp"
#include "plait/mpix.h"

#pragma GCC visibility push(default)

extern "C" int MPIX_Stream_progress(MPIX_Stream stream) {
  using namespace plait::mpi;
  return guarded([&] {
    require(stream == MPIX_STREAM_NULL, MPI_ERR_ARG);
    plait::grequest::poll_all();
    plait::layout::check(progress_native());
  });
}

#pragma GCC visibility pop
