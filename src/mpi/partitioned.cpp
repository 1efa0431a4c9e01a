// The exported functions of partitioned communication (MPI-4.1, 4.2), under every MPI.
#include "mpi/partitioned.hpp"

#include "mpi/communicator.hpp"
#include "mpi/quirks.hpp"
#include "mpi/threads.hpp"
#include "p2p/types.hpp"
#include "partitioned/request.hpp"
#include "queue/communicator.hpp"
#include "queue/place.hpp"

// The MPI's own call, which is there if any request of its own is.
#if PLAIT_MPI_HAS_CALLS_OF_4
#define PLAIT_OWN_OF_MPI(CALL) [&] { return P##CALL; }
#else
#define PLAIT_OWN_OF_MPI(CALL) [] { return MPI_ERR_UNSUPPORTED_OPERATION; }
#endif

namespace plait::mpi {

void check_memory(const partitioned::Arguments& a) {
  const queue::Communicator* const c = queue::find(p2p::find_communicator(a.comm));
  if (c && a.rank != MPI_PROC_NULL && a.partitions > 0 && a.count > 0)
    queue::require_of_host(c->queue->device(), p2p::memory_of(a.buffer, a.count * a.partitions, a.type));
}

}  // namespace plait::mpi

#pragma GCC visibility push(default)

using plait::mpi::initialize_request;
using plait::mpi::on_request;

extern "C" int MPI_Psend_init(const void* buf, int partitions, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
                              MPI_Info info, MPI_Request* request) {
  const plait::partitioned::Arguments a{buf, partitions, count, datatype, dest, tag, comm, info};
  return initialize_request(
      a, request, [&]() -> plait::Request& { return plait::partitioned::send_init(a); },
      PLAIT_OWN_OF_MPI(MPI_Psend_init(buf, partitions, count, datatype, dest, tag, comm, info, request)));
}

extern "C" int MPI_Precv_init(void* buf, int partitions, MPI_Count count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
                              MPI_Info info, MPI_Request* request) {
  const plait::partitioned::Arguments a{buf, partitions, count, datatype, source, tag, comm, info};
  return initialize_request(
      a, request, [&]() -> plait::Request& { return plait::partitioned::receive_init(a); },
      PLAIT_OWN_OF_MPI(MPI_Precv_init(buf, partitions, count, datatype, source, tag, comm, info, request)));
}

extern "C" int MPI_Pready(int partition, MPI_Request request) {
  return on_request(
      request, [&](plait::Request& r) { plait::partitioned::ready(r, partition, partition); },
      PLAIT_OWN_OF_MPI(MPI_Pready(partition, request)));
}

extern "C" int MPI_Pready_range(int low, int high, MPI_Request request) {
  return on_request(
      request, [&](plait::Request& r) { plait::partitioned::ready(r, low, high); }, PLAIT_OWN_OF_MPI(MPI_Pready_range(low, high, request)));
}

extern "C" int MPI_Pready_list(int length, plait::mpi::ListedPartitions partitions[], MPI_Request request) {
  return on_request(
      request, [&](plait::Request& r) { plait::partitioned::ready(r, length, partitions); },
      PLAIT_OWN_OF_MPI(MPI_Pready_list(length, partitions, request)));
}

extern "C" int MPI_Parrived(MPI_Request request, int partition, int* flag) {
  return on_request(
      request,
      [&](plait::Request& r) {
        plait::require(flag, MPI_ERR_ARG);
        *flag = plait::partitioned::arrived(r, partition) ? 1 : 0;
      },
      PLAIT_OWN_OF_MPI(MPI_Parrived(request, partition, flag)));
}

#pragma GCC visibility pop
