// Calls that make ordinary communicators. Each gets an id by which its members know it: partitioned/communicator_id.hpp.
#pragma once

#include <mpi.h>

#include "mpi/native.hpp"
#include "partitioned/communicator_id.hpp"

namespace plait::mpi {

template <class Call>
int making(Call call) noexcept {
  const partitioned::NoDuplicate guard;
  return blocking(call);
}

/// Collective over `parent`.
template <class Call>
int naming_child(MPI_Comm parent, MPI_Comm* made, Call call) noexcept {
  const int error = making(call);
  if (error == MPI_SUCCESS) partitioned::identify_child(parent, *made);
  return error;
}

/// Collective over the new communicator's members alone. All name the same `parent`, or none.
template <class Call>
int naming_apart(MPI_Comm parent, int tag, MPI_Comm* made, Call call) noexcept {
  const int error = making(call);
  if (error == MPI_SUCCESS) partitioned::identify_apart(parent, *made, tag);
  return error;
}

}  // namespace plait::mpi
