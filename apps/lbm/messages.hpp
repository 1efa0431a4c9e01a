// The messages of a process with all its neighbours on one communicator, or one piece of each of them.
#pragma once

#include <mpi.h>

#include <vector>

#include "halo.hpp"

namespace plait::lbm {

/// One exchange is: pack, start, wait, unpack. One thread at a time. MPI errors abort (the default handler).
class Messages {
 public:
  Messages(Halo& halo, MPI_Comm comm, int piece = 0, int pieces = 1);

  void pack(Direction d);
  /// Posts the receives and sends what is packed.
  void start();
  void wait();
  void unpack(Direction d);

 private:
  Halo& halo_;
  MPI_Comm comm_;
  int piece_, pieces_;
  std::vector<MPI_Request> requests_;
};

}  // namespace plait::lbm
