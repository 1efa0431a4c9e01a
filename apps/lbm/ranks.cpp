#include "ranks.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include "halo.hpp"

namespace plait::lbm {

int rank_of(MPI_Comm comm) {
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  return rank;
}

namespace {

/// The node of this process: the least rank there.
int node_of(MPI_Comm comm) {
  MPI_Comm here = MPI_COMM_NULL;
  MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &here);
  int node = rank_of(comm);
  MPI_Bcast(&node, 1, MPI_INT, 0, here);
  MPI_Comm_free(&here);
  return node;
}

long sum(long mine, MPI_Comm comm) {
  long all = 0;
  MPI_Allreduce(&mine, &all, 1, MPI_LONG, MPI_SUM, comm);
  return all;
}

/// Bytes before a step, of all boxes, where box p is that of rank p.
long bytes_between_nodes(const Deck& deck, const Int3& grid, MPI_Comm comm, int node) {
  std::vector<int> nodes(static_cast<std::size_t>(grid[0]) * grid[1] * grid[2]);
  MPI_Allgather(&node, 1, MPI_INT, nodes.data(), 1, MPI_INT, comm);
  const Subdomain box = subdomain(deck, grid, rank_of(comm));
  long places = 0;
  for (const Int3& side : shared_sides(box)) {
    if (nodes[box.neighbor(side)] != node) places += places_across(box, side);
  }
  return sum(places * static_cast<long>(sizeof(double)), comm);
}

/// The boxes as a graph, whose edges are the links of a halo.
MPI_Comm reorder_ranks(const Deck& deck, const Int3& grid, MPI_Comm comm) {
  const Subdomain box = subdomain(deck, grid, rank_of(comm));
  // As many places are lent across a side as are borrowed. They are counted rather than bytes, of which an int holds fewer; a link of more
  // is no message, and the halo says so.
  std::vector<int> neighbors, places;
  for (const Int3& side : shared_sides(box)) {
    neighbors.push_back(box.neighbor(side));
    places.push_back(static_cast<int>(std::min<long>(places_across(box, side), std::numeric_limits<int>::max())));
  }
  const auto n = static_cast<int>(neighbors.size());
  const int* weights = n > 0 ? places.data() : MPI_WEIGHTS_EMPTY;
  MPI_Comm made = MPI_COMM_NULL;
  MPI_Dist_graph_create_adjacent(comm, n, neighbors.data(), weights, n, neighbors.data(), weights, MPI_INFO_NULL, 1, &made);
  return made;
}

}  // namespace

Ranks::Ranks(const Deck& deck, const Int3& grid, MPI_Comm comm, bool reorder) : given_(comm) {
  const int node = node_of(comm);
  nodes_ = static_cast<int>(sum(node == rank_of(comm) ? 1 : 0, comm));
  if (reorder) made_ = reorder_ranks(deck, grid, comm);
  if (nodes_ == 1) return;
  as_given_ = bytes_between_nodes(deck, grid, given_, node);
  between_nodes_ = reorder ? bytes_between_nodes(deck, grid, made_, node) : as_given_;
}

Ranks::~Ranks() {
  if (made_ != MPI_COMM_NULL) MPI_Comm_free(&made_);
}

}  // namespace plait::lbm
