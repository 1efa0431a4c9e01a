// Lending at the MPI's begin, and blocking calls of the MPI's that leave the core free while they wait.
#pragma once

#include <mpi.h>

#include "lend/lend.hpp"
#include "mpi/native.hpp"
#include "progress/wait.hpp"

namespace plait::mpi {

/// All processes have PLAIT_LEND=1: puts up the node's board, or says why there is none. Collective.
void start_lending() noexcept;

/// Rounds of `test`, a call of the MPI's that asks, until it says that it is done or returns an error.
template <class Test>
int poll(Test test) noexcept {
  class Nowhere final : public progress::Waiter {
  } nowhere;
  lend::ask_others();
  int error = MPI_SUCCESS;
  const auto round = [&] {
    int done = 0;
    const MpiLock lock;
    error = test(&done);
    return done != 0 || error != MPI_SUCCESS;
  };
  bool over = round();
  if (over) return error;
  progress::flush();
  const auto look = [&] { return over = over || round(); };
  progress::Wait wait(nowhere, progress::kForRequests);
  while (!look()) wait.pause(look);
  return error;
}

/// A blocking call that is `start`, its nonblocking form, and a wait.
template <class Start>
[[gnu::noinline]] int poll_started(Start start, MPI_Status* status = MPI_STATUS_IGNORE) noexcept {
  MPI_Request request = MPI_REQUEST_NULL;
  const int error = gated([&] { return start(&request); });
  return error != MPI_SUCCESS ? error : poll([&](int* done) { return PMPI_Test(&request, done, status); });
}

/// One that receives and sends.
template <class Receive, class Send>
[[gnu::noinline]] int poll_both(Receive receive, Send send, MPI_Status* status) noexcept {
  MPI_Request receiving = MPI_REQUEST_NULL;
  int error = gated([&] { return receive(&receiving); });
  if (error != MPI_SUCCESS) return error;
  error = poll_started(send);
  if (error == MPI_SUCCESS) return poll([&](int* done) { return PMPI_Test(&receiving, done, status); });
  const MpiLock lock;
  PMPI_Cancel(&receiving);
  PMPI_Request_free(&receiving);
  return error;
}

}  // namespace plait::mpi
