// Lending at the MPI's begin, and blocking calls of the MPI's that leave the core free while they wait.
#pragma once

#include <mpi.h>

#include "lend/lend.hpp"
#include "mpi/native.hpp"
#include "progress/wait.hpp"

namespace plait::mpi {

/// All processes have PLAIT_LEND=1: puts up the node's board, or says why there is none; then calls are polled if some node has one.
/// Collective.
void start_lending() noexcept;

/// Are collective calls on it polled? Not where its groups may be of different jobs, of which one does not lend.
[[nodiscard]] inline bool polls_on(MPI_Comm comm) noexcept {
  int inter = 0;
  return PMPI_Comm_test_inter(comm, &inter) == MPI_SUCCESS && !inter;
}

// Not inline, and what they call holds copies: calls that are not polled want a small frame.

/// After a call that has started something. Returns its error.
[[gnu::noinline]] inline int after_start(int error) noexcept {
  lend::ask_others();
  return error;
}

/// Rounds of `test`, a call of the MPI's that asks, until it says that it is done or returns an error. MPICH 5.0 tells an error handler
/// of the program's, returns success and writes nothing.
template <class Test>
[[gnu::noinline]] int poll(Test test) noexcept {
  int error = MPI_SUCCESS;
  const auto over = [&] {
    int done = -1;
    const MpiLock lock;
    error = test(&done);
    return done != 0 || error != MPI_SUCCESS;
  };
  progress::Nowhere nowhere;
  progress::flush();
  progress::wait_until(nowhere, progress::kForRequests, [] { return false; }, over, [] {});
  return error;
}

inline int poll_request(MPI_Request* request, MPI_Status* status) noexcept {
  return poll([=](int* done) { return PMPI_Test(request, done, status); });
}

/// A blocking call that is `start`, its nonblocking form, and a wait.
template <class Start>
[[gnu::noinline]] int poll_started(Start start, MPI_Status* status = MPI_STATUS_IGNORE) noexcept {
  MPI_Request request = MPI_REQUEST_NULL;
  const int error = gated([&] { return start(&request); });
  if (error != MPI_SUCCESS) return error;
  lend::ask_others();
  return poll_request(&request, status);
}

/// One that receives and sends. A request that stays null was refused, and that told.
template <class Receive, class Send>
[[gnu::noinline]] int poll_both(Receive receive, Send send, MPI_Status* status) noexcept {
  MPI_Request receiving = MPI_REQUEST_NULL;
  MPI_Request sending = MPI_REQUEST_NULL;
  int error = gated([&] { return receive(&receiving); });
  if (error != MPI_SUCCESS || receiving == MPI_REQUEST_NULL) return error;
  error = gated([&] { return send(&sending); });
  if (error == MPI_SUCCESS && sending != MPI_REQUEST_NULL) {
    lend::ask_others();
    error = poll_request(&sending, MPI_STATUS_IGNORE);
    if (error == MPI_SUCCESS) return poll_request(&receiving, status);
  }
  // It is cancelled, or has its message: either ends it, so that nothing is written after the call.
  gated([&] { return PMPI_Cancel(&receiving); });
  poll_request(&receiving, MPI_STATUS_IGNORE);
  return error;
}

}  // namespace plait::mpi
