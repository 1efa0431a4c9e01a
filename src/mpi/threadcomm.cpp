// The exported functions of thread communicators: MPIX_Threadcomm_* and MPIX_Comm_test_threadcomm.
#include "threadcomm/threadcomm.hpp"

#include <system_error>

#include "mpi/communicator.hpp"
#include "mpi/error.hpp"
#include "mpi/threads.hpp"
#include "plait/mpix.h"

namespace plait::mpi {
namespace {

/// What MPIX_Threadcomm_init has made.
threadcomm::LocalGroup& base_of(MPI_Comm comm) {
  p2p::Communicator* const c = p2p::find_communicator(comm);
  require(c && threadcomm::is_threadcomm(*c), MPI_ERR_COMM);
  return threadcomm::local_group_of(*c);
}

}  // namespace
}  // namespace plait::mpi

#pragma GCC visibility push(default)

using plait::require;
using plait::mpi::base_of;
using plait::mpi::on;

extern "C" int MPIX_Threadcomm_init(MPI_Comm comm, int num_threads, MPI_Comm* newthreadcomm) {
  return on(comm, [&] {
    require(newthreadcomm, MPI_ERR_ARG);
    require(!plait::mpi::threads(comm), MPI_ERR_COMM);
    try {
      *newthreadcomm = plait::threadcomm::create(comm, num_threads);
    } catch (const std::system_error&) {
      throw plait::MPIError{MPI_ERR_UNSUPPORTED_OPERATION, false};
    }
  });
}

extern "C" int MPIX_Threadcomm_free(MPI_Comm* threadcomm) {
  return on(threadcomm ? *threadcomm : MPI_COMM_NULL, [&] {
    require(threadcomm, MPI_ERR_ARG);
    plait::threadcomm::destroy(base_of(*threadcomm));
    *threadcomm = MPI_COMM_NULL;
  });
}

extern "C" int MPIX_Threadcomm_start(MPI_Comm threadcomm) {
  const plait::p2p::Call call{"MPIX_Threadcomm_start", __builtin_return_address(0)};
  return on(threadcomm, [&] { plait::threadcomm::start(base_of(threadcomm), call); });
}

extern "C" int MPIX_Threadcomm_finish(MPI_Comm threadcomm) {
  const plait::p2p::Call call{"MPIX_Threadcomm_finish", __builtin_return_address(0)};
  return on(threadcomm, [&] { plait::threadcomm::finish(base_of(threadcomm), call); });
}

extern "C" int MPIX_Comm_test_threadcomm(MPI_Comm comm, int* flag) {
  return on(comm, [&] {
    require(flag, MPI_ERR_ARG);
    const plait::p2p::Communicator* const c = plait::p2p::find_communicator(comm);
    *flag = c && plait::threadcomm::is_threadcomm(*c) ? 1 : 0;
  });
}

#pragma GCC visibility pop
