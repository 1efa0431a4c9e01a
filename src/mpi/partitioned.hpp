// How calls on partitioned requests begin and end.
#pragma once

#include <mpi.h>

#include <atomic>

#include "mpi/communicator.hpp"
#include "mpi/native.hpp"
#include "mpi/quirks.hpp"
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

/// Has the program partitioned requests of the MPI's own, on communicators that plait cannot serve?
inline constinit std::atomic<bool> natives_exist{false};

/// A call that makes one: of plait's, or where that cannot serve the communicator the MPI's own.
template <class Make, class Native>
int initialize_request(MPI_Comm comm, int rank, MPI_Request* request, Make make, Native native,
                       const char* call = __builtin_FUNCTION()) noexcept {
  if (const int no = refused(comm, call); no != MPI_SUCCESS) return no;
  bool served = true;
  const auto run = [&] {
    const MpiLock lock;
    served = comm == MPI_COMM_NULL || partitioned::serves(comm, rank);
    require(served || has_own_partitioned(), MPI_ERR_UNSUPPORTED_OPERATION);
    if (!served) return;
    require(request, MPI_ERR_ARG);
    *request = handle_of(make());
  };
  const int error = on(comm, run, call);
  if (error != MPI_SUCCESS || served) return error;
  natives_exist.store(true, std::memory_order_relaxed);
  return gated(native);
}

/// A call on one, whose communicator's error handler is told.
template <class Body>
int on_request(MPI_Request handle, Body body, const char* call = __builtin_FUNCTION()) noexcept {
  Request* const r = ours(handle);
  if (!r || !r->kind || !partitioned::is_partitioned(*r)) return report(MPI_ERR_REQUEST, call);
  const auto run = [&] {
    body(*r);
    return MPI_SUCCESS;
  };
  return told(run, [&](int code) { return report_on(r->kind->communicator(*r), code, call); });
}

/// The same where it may be the MPI's own.
template <class Body, class Native>
int on_request(MPI_Request handle, Body body, Native native, const char* call = __builtin_FUNCTION()) noexcept {
  const bool its = natives_exist.load(std::memory_order_relaxed) && handle != MPI_REQUEST_NULL && !ours(handle);
  return its ? asking(native) : on_request(handle, body, call);
}

}  // namespace plait::mpi
