// Calls that make ordinary communicators. Each gets an id by which its members know it (partitioned/communicator_id.hpp), and is carried
// where the program wants that of all (ordinary/carried.hpp).
#pragma once

#include <mpi.h>

#include "mpi/native.hpp"
#include "ordinary/carried.hpp"
#include "p2p/duplicate.hpp"
#include "partitioned/communicator_id.hpp"

namespace plait::mpi {

/// `call` makes a communicator and writes its handle to `made`. `info`: the program's hints.
template <class Call>
int carrying(MPI_Comm* made, Call call, MPI_Info info = MPI_INFO_NULL) noexcept {
  const int error = call();
  if (error == MPI_SUCCESS) ordinary::carry(*made, info);
  return error;
}

/// `name`: gives what was made its id. It asks the MPI, so it is a part of the call.
template <class Call, class Name>
int making(MPI_Comm* made, Call call, Name name) noexcept {
  return carrying(made, [&] {
    const partitioned::NoDuplicate guard;
    return blocking([&] {
      const int error = call();
      if (error == MPI_SUCCESS) name();
      return error;
    });
  });
}

/// Collective over `parent`.
template <class Call>
int naming_child(MPI_Comm parent, MPI_Comm* made, Call call) noexcept {
  p2p::wait_until_made(parent);
  return making(made, call, [&] { partitioned::identify_child(parent, *made); });
}

/// Collective over the new communicator's members alone. All name the same `parent`, or none.
template <class Call>
int naming_apart(MPI_Comm parent, int tag, MPI_Comm* made, Call call) noexcept {
  return making(made, call, [&] { partitioned::identify_apart(parent, *made, tag); });
}

}  // namespace plait::mpi
