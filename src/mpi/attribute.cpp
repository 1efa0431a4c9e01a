// The exported functions on what communicators carry: attributes, names, error handlers. Those of thread communicators: each
// rank has its attributes; names and error handlers are the handle's, which the threads of a process share.
#include "threadcomm/attribute.hpp"

#include "mpi/communicator.hpp"
#include "mpi/native.hpp"
#include "mpi/threads.hpp"

#pragma GCC visibility push(default)

using plait::MpiLock;
using plait::require;
using plait::mpi::gated;
using plait::mpi::on;
using plait::mpi::threads;
using plait::p2p::Communicator;
using plait::threadcomm::rank_of;

extern "C" int MPI_Comm_create_keyval(MPI_Comm_copy_attr_function* copy, MPI_Comm_delete_attr_function* remove, int* keyval, void* extra) {
  const MpiLock lock;
  const int error = PMPI_Comm_create_keyval(copy, remove, keyval, extra);
  if (error != MPI_SUCCESS) return error;
  return plait::mpi::guarded([&] { plait::threadcomm::remember_keyval(*keyval, copy, remove, extra); });
}

extern "C" int MPI_Comm_free_keyval(int* keyval) {
  const MpiLock lock;
  if (!keyval || plait::threadcomm::forget_keyval(*keyval)) return PMPI_Comm_free_keyval(keyval);
  *keyval = MPI_KEYVAL_INVALID;
  return MPI_SUCCESS;
}

extern "C" int MPI_Comm_set_attr(MPI_Comm comm, int keyval, void* value) {
  Communicator* const c = threads(comm);
  if (!c) return gated([&] { return PMPI_Comm_set_attr(comm, keyval, value); });
  return on(comm, [&] {
    require(keyval != MPI_KEYVAL_INVALID, MPI_ERR_KEYVAL);
    plait::threadcomm::set_attribute(rank_of(*c), keyval, value);
  });
}

extern "C" int MPI_Comm_get_attr(MPI_Comm comm, int keyval, void* value, int* found) {
  Communicator* const c = threads(comm);
  if (!c) return gated([&] { return PMPI_Comm_get_attr(comm, keyval, value, found); });
  if (!c->locals.empty() && plait::threadcomm::get_attribute(rank_of(*c), keyval, static_cast<void**>(value))) {
    *found = 1;
    return MPI_SUCCESS;
  }
  // What the MPI itself says of it, and what came from the parent of MPIX_Threadcomm_init.
  return gated([&] { return PMPI_Comm_get_attr(c->locals.empty() ? comm : rank_of(*c).group->attributes_of, keyval, value, found); });
}

extern "C" int MPI_Comm_delete_attr(MPI_Comm comm, int keyval) {
  Communicator* const c = threads(comm);
  if (!c) return gated([&] { return PMPI_Comm_delete_attr(comm, keyval); });
  return on(comm, [&] { require(plait::threadcomm::delete_attribute(rank_of(*c), keyval), MPI_ERR_KEYVAL); });
}

// The names of MPI-1, deprecated since.
extern "C" int MPI_Keyval_create(MPI_Copy_function* copy, MPI_Delete_function* remove, int* keyval, void* extra) {
  return MPI_Comm_create_keyval(copy, remove, keyval, extra);
}
extern "C" int MPI_Keyval_free(int* keyval) { return MPI_Comm_free_keyval(keyval); }
extern "C" int MPI_Attr_put(MPI_Comm comm, int keyval, void* value) { return MPI_Comm_set_attr(comm, keyval, value); }
extern "C" int MPI_Attr_get(MPI_Comm comm, int keyval, void* value, int* found) { return MPI_Comm_get_attr(comm, keyval, value, found); }
extern "C" int MPI_Attr_delete(MPI_Comm comm, int keyval) { return MPI_Comm_delete_attr(comm, keyval); }

#pragma GCC visibility pop
