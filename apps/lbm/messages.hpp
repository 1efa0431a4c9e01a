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

/// The messages in so many pieces, each on a communicator of its own: as many threads may exchange at once.
class Pieces {
 public:
  /// Collective over `comm`, as the destructor is.
  Pieces(Halo& halo, MPI_Comm comm, int pieces);
  Pieces(const Pieces&) = delete;
  Pieces& operator=(const Pieces&) = delete;
  ~Pieces();

  [[nodiscard]] Messages& operator[](int piece) { return messages_[static_cast<std::size_t>(piece)]; }

 private:
  std::vector<MPI_Comm> comms_;
  std::vector<Messages> messages_;
};

}  // namespace plait::lbm
