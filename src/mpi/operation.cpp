// The exported functions that make and free operations: what they do is called by collective calls of plait's without the MPI.
#include "base/mpi_lock.hpp"
#include "collective/combine.hpp"
#include "mpi/error.hpp"

using plait::MpiLock;

#pragma GCC visibility push(default)

extern "C" int MPI_Op_create(MPI_User_function* function, int commute, MPI_Op* op) {
  const MpiLock lock;
  const int error = PMPI_Op_create(function, commute, op);
  if (error == MPI_SUCCESS) plait::collective::remember_operation(*op, function);
  return error;
}

#if MPI_VERSION >= 4
extern "C" int MPI_Op_create_c(MPI_User_function_c* function, int commute, MPI_Op* op) {
  const MpiLock lock;
  const int error = PMPI_Op_create_c(function, commute, op);
  if (error == MPI_SUCCESS) plait::collective::remember_operation(*op, function);
  return error;
}
#endif

extern "C" int MPI_Op_free(MPI_Op* op) {
  const MpiLock lock;
  if (op) plait::collective::forget_operation(*op);
  return PMPI_Op_free(op);
}

#pragma GCC visibility pop
