// How calls on partitioned requests begin and end.
#pragma once

#include <mpi.h>

#include "mpi/communicator.hpp"
#include "mpi/native.hpp"
#include "mpi/threads.hpp"
#include "partitioned/request.hpp"

namespace plait::mpi {

/// A call that makes one; thread communicators have none.
template <class Make>
int initialize_request(MPI_Comm comm, MPI_Request* request, Make make, const char* call = __builtin_FUNCTION()) noexcept {
  if (const int no = refused(comm, call); no != MPI_SUCCESS) return no;
  const auto run = [&] {
    require(request, MPI_ERR_ARG);
    const MpiLock lock;
    *request = handle_of(make());
  };
  return on(comm, run, call);
}

/// A call on one, whose communicator's error handler is told.
template <class Body>
int on_request(MPI_Request handle, Body body, const char* call = __builtin_FUNCTION()) noexcept {
  Request* const r = ours(handle);
  if (!r || !r->kind || !partitioned::is_partitioned(*r)) return report(MPI_ERR_REQUEST, call);
  try {
    body(*r);
    return MPI_SUCCESS;
  } catch (const MPIError& error) {
    return error.reported ? error.code : report_on(r->kind->communicator(*r), error.code, call);
  } catch (...) {
    return report_on(r->kind->communicator(*r), MPI_ERR_INTERN, call);
  }
}

}  // namespace plait::mpi
