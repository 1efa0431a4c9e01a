// The exported functions of finepoints: partitioned messages to which threads add ranges of one buffer.
#include "plait/finepoints.h"

#include "mpi/completion.hpp"
#include "mpi/partitioned.hpp"
#include "partitioned/request.hpp"

#pragma GCC visibility push(default)

using plait::mpi::initialize_request;
using plait::mpi::on_request;
using plait::mpi::report;

extern "C" int MPI_Partitioned_Send_create(const void* buf, int count, MPI_Datatype datatype, int numThreads, int dest, int tag,
                                           MPI_Comm comm, MPI_Request* request) {
  const plait::partitioned::Arguments a{buf, 1, count, datatype, dest, tag, comm, MPI_INFO_NULL};
  return initialize_request(a, request, [&]() -> plait::Request& { return plait::partitioned::send_create(a, numThreads); });
}

extern "C" int MPI_Partitioned_Recv_create(void* buf, int count, MPI_Datatype datatype, int src, int tag, MPI_Comm comm,
                                           MPI_Request* request) {
  const plait::partitioned::Arguments a{buf, 1, count, datatype, src, tag, comm, MPI_INFO_NULL};
  return initialize_request(a, request, [&]() -> plait::Request& { return plait::partitioned::receive_create(a); });
}

extern "C" int MPI_Start_part(MPI_Request* request) {
  if (!request) return report(MPI_ERR_REQUEST);
  return plait::mpi::start(request, "MPI_Start_part");
}

extern "C" int MPI_Partitioned_Add_to_buffer(MPI_Request* request, const void* buf, int count, MPI_Datatype datatype) {
  if (!request) return report(MPI_ERR_REQUEST);
  return on_request(*request, [&](plait::Request& r) { plait::partitioned::add(r, buf, count, datatype, false); });
}

extern "C" int MPI_Partitioned_Add_to_buffer_a(MPI_Request* request, const void* buf, int count, MPI_Datatype datatype) {
  if (!request) return report(MPI_ERR_REQUEST);
  return on_request(*request, [&](plait::Request& r) { plait::partitioned::add(r, buf, count, datatype, true); });
}

extern "C" int MPI_Wait_part(MPI_Request* request, MPI_Status* status) {
  if (!request) return report(MPI_ERR_REQUEST);
  return plait::mpi::wait(request, status, {"MPI_Wait_part", __builtin_return_address(0)});
}

extern "C" int MPI_Partitioned_free(MPI_Request* request) {
  if (!request || !plait::mpi::is_ours(request)) return report(MPI_ERR_REQUEST);
  return plait::mpi::free_request(request, "MPI_Partitioned_free");
}

#pragma GCC visibility pop
