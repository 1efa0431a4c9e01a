// Calls that make ordinary communicators, which get a name by which their members know them: partitioned/communicator_id.hpp.
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

/// Collective over those that are in it alone, who all name the same `parent` if any.
template <class Call>
int naming_apart(MPI_Comm parent, int tag, MPI_Comm* made, Call call) noexcept {
  const int error = making(call);
  if (error == MPI_SUCCESS) partitioned::identify_apart(parent, *made, tag);
  return error;
}

}  // namespace plait::mpi
