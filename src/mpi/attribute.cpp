// The exported functions on what communicators carry: attributes, names, error handlers. Those of thread communicators: each
// rank has its attributes; names and error handlers are the handle's, which the threads of a process share.
#include "threadcomm/attribute.hpp"

#include "base/mpi_lock.hpp"
#include "mpi/communicator.hpp"
#include "mpi/threads.hpp"

#pragma GCC visibility push(default)

using plait::MpiLock;
using plait::require;
using plait::mpi::on;
using plait::mpi::threads;
using plait::p2p::Communicator;
using plait::threadcomm::rank_of;

extern "C" int MPI_Comm_create_keyval(MPI_Comm_copy_attr_function* copy, MPI_Comm_delete_attr_function* remove, int* keyval, void* extra) {
  const MpiLock gate;
  const int error = PMPI_Comm_create_keyval(copy, remove, keyval, extra);
  if (error != MPI_SUCCESS) return error;
  return plait::mpi::guarded([&] { plait::threadcomm::remember_keyval(*keyval, copy, remove, extra); });
}

extern "C" int MPI_Comm_free_keyval(int* keyval) {
  const MpiLock gate;
  return PMPI_Comm_free_keyval(keyval);
}

extern "C" int MPI_Comm_set_attr(MPI_Comm comm, int keyval, void* value) {
  Communicator* const c = threads(comm);
  if (!c) return PMPI_Comm_set_attr(comm, keyval, value);
  return on(comm, [&] {
    require(keyval != MPI_KEYVAL_INVALID, MPI_ERR_KEYVAL);
    plait::threadcomm::set_attribute(rank_of(*c), keyval, value);
  });
}

extern "C" int MPI_Comm_get_attr(MPI_Comm comm, int keyval, void* value, int* found) {
  Communicator* const c = threads(comm);
  if (!c) return PMPI_Comm_get_attr(comm, keyval, value, found);
  if (!c->locals.empty() && plait::threadcomm::get_attribute(rank_of(*c), keyval, static_cast<void**>(value))) {
    *found = 1;
    return MPI_SUCCESS;
  }
  const MpiLock lock;
  return PMPI_Comm_get_attr(c->locals.empty() ? comm : rank_of(*c).process->attributes_of, keyval, value, found);
}

extern "C" int MPI_Comm_delete_attr(MPI_Comm comm, int keyval) {
  Communicator* const c = threads(comm);
  if (!c) return PMPI_Comm_delete_attr(comm, keyval);
  return on(comm, [&] { require(plait::threadcomm::delete_attribute(rank_of(*c), keyval), MPI_ERR_KEYVAL); });
}

/// The MPI's own, one thread at a time.
#define PLAIT_GATED(NAME, PARAMETERS, ARGUMENTS) \
  extern "C" int MPI_##NAME PARAMETERS {         \
    const MpiLock gate;                          \
    return PMPI_##NAME ARGUMENTS;                \
  }

PLAIT_GATED(Comm_set_name, (MPI_Comm c, const char* name), (c, name))
PLAIT_GATED(Comm_get_name, (MPI_Comm c, char* name, int* n), (c, name, n))
PLAIT_GATED(Comm_set_errhandler, (MPI_Comm c, MPI_Errhandler h), (c, h))
PLAIT_GATED(Comm_get_errhandler, (MPI_Comm c, MPI_Errhandler* h), (c, h))
PLAIT_GATED(Comm_create_errhandler, (MPI_Comm_errhandler_function * f, MPI_Errhandler* h), (f, h))
PLAIT_GATED(Errhandler_free, (MPI_Errhandler * h), (h))
PLAIT_GATED(Comm_call_errhandler, (MPI_Comm c, int code), (c, code))

#pragma GCC visibility pop
