// The exported functions that make and free communicators, where streams are concerned.
#include "mpi/communicator.hpp"

#include <vector>

#include "stream/stream.hpp"

namespace plait::mpi {
namespace {

using stream::Communicator;

/// A duplicate keeps the streams.
void duplicate(const Communicator& c, MPI_Comm* newcomm) {
  std::vector<int> streams;
  streams.reserve(c.locals.size());
  for (const stream::Local& l : c.locals) streams.push_back(l.stream);
  *newcomm = stream::create_communicator(c.handle, streams, c.multiplex);
}

int release(MPI_Comm* comm, int (*native)(MPI_Comm*)) {
  Communicator* const c = comm ? stream::find_communicator(*comm) : nullptr;
  if (c) stream::destroy_communicator(*c);
  return native(comm);
}

}  // namespace
}  // namespace plait::mpi

#pragma GCC visibility push(default)

using plait::mpi::on;
using plait::stream::Communicator;
using plait::stream::find_communicator;

extern "C" int MPI_Comm_dup(MPI_Comm comm, MPI_Comm* newcomm) {
  const Communicator* const c = find_communicator(comm);
  if (!c) return PMPI_Comm_dup(comm, newcomm);
  return on(comm, [&] { plait::mpi::duplicate(*c, newcomm); });
}

extern "C" int MPI_Comm_dup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm* newcomm) {
  const Communicator* const c = find_communicator(comm);
  if (!c) return PMPI_Comm_dup_with_info(comm, info, newcomm);
  return on(comm, [&] {
    plait::mpi::duplicate(*c, newcomm);
    plait::layout::check(PMPI_Comm_set_info(*newcomm, info));
  });
}

extern "C" int MPI_Comm_idup(MPI_Comm comm, MPI_Comm* newcomm, MPI_Request* request) {
  if (!find_communicator(comm)) return PMPI_Comm_idup(comm, newcomm, request);
  return plait::mpi::report_on(comm, MPI_ERR_UNSUPPORTED_OPERATION);
}

#if MPI_VERSION >= 4
extern "C" int MPI_Comm_idup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm* newcomm, MPI_Request* request) {
  if (!find_communicator(comm)) return PMPI_Comm_idup_with_info(comm, info, newcomm, request);
  return plait::mpi::report_on(comm, MPI_ERR_UNSUPPORTED_OPERATION);
}
#endif

extern "C" int MPI_Comm_free(MPI_Comm* comm) { return plait::mpi::release(comm, PMPI_Comm_free); }

extern "C" int MPI_Comm_disconnect(MPI_Comm* comm) { return plait::mpi::release(comm, PMPI_Comm_disconnect); }

#pragma GCC visibility pop
