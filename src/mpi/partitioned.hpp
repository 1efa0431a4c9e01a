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

/// Threads of the host carry partitioned messages, also those on the communicator of a queue: throws MPIError{MPI_ERR_BUFFER} where the
/// memory is its device's. Without the MPI's lock, as a call of a device's driver may wait.
void check_memory(const partitioned::Arguments& a);

/// A call that makes one; thread communicators have none.
template <class Make>
int initialize_request(const partitioned::Arguments& a, MPI_Request* request, Make make, const char* call = __builtin_FUNCTION()) noexcept {
  if (const int no = refused(a.comm, call); no != MPI_SUCCESS) return no;
  const auto run = [&] {
    require(request, MPI_ERR_ARG);
    check_memory(a);
    const MpiLock lock;
    *request = handle_of(make());
  };
  return on(a.comm, run, call);
}

/// Has the program partitioned requests of the MPI's own, on communicators that plait cannot serve?
inline constinit std::atomic<bool> natives_exist{false};

/// A call that makes one: of plait's, or where that cannot serve the communicator the MPI's own.
template <class Make, class Native>
int initialize_request(const partitioned::Arguments& a, MPI_Request* request, Make make, Native native,
                       const char* call = __builtin_FUNCTION()) noexcept {
  if (const int no = refused(a.comm, call); no != MPI_SUCCESS) return no;
  bool served = true;
  const auto run = [&] {
    check_memory(a);
    const MpiLock lock;
    served = a.comm == MPI_COMM_NULL || partitioned::serves(a.comm, a.rank);
    require(served || has_own_partitioned(), MPI_ERR_UNSUPPORTED_OPERATION);
    if (!served) return;
    require(request, MPI_ERR_ARG);
    *request = handle_of(make());
  };
  const int error = on(a.comm, run, call);
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
