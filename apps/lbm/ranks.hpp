// Which process computes which box. Box p is that of rank p, in a communicator whose ranks are numbered so that little of the halo leaves
// a node (docs/topology.md), or as the launcher has numbered them.
#pragma once

#include <mpi.h>

#include "decomposition.hpp"

namespace plait::lbm {

[[nodiscard]] int rank_of(MPI_Comm comm);

class Ranks {
 public:
  /// Collective over `comm`, as the destructor is. Without `reorder` ranks stay as they are.
  Ranks(const Deck& deck, const Int3& grid, MPI_Comm comm, bool reorder);
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;
  ~Ranks();

  /// Box p is that of rank p here. Until this object goes.
  [[nodiscard]] MPI_Comm comm() const { return made_ == MPI_COMM_NULL ? given_ : made_; }
  [[nodiscard]] int nodes() const { return nodes_; }
  /// What all boxes together send to other nodes before each step, in bytes: with the ranks of comm(), and with those of the communicator
  /// that was given.
  [[nodiscard]] long between_nodes() const { return between_nodes_; }
  [[nodiscard]] long between_nodes_as_given() const { return as_given_; }

 private:
  MPI_Comm given_, made_ = MPI_COMM_NULL;
  int nodes_ = 1;
  long between_nodes_ = 0, as_given_ = 0;
};

}  // namespace plait::lbm
