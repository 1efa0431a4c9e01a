// Virtual topologies of thread communicators: what MPI_Cart_create and its kin make. Each rank calls them.
#pragma once

#include <span>

#include "collective/collective.hpp"
#include "threadcomm/threadcomm.hpp"

namespace plait::threadcomm {

/// Null on ranks that do not belong to it. `reorder`: ranks may take other places than their own. Throw MPIError.
[[nodiscard]] Rank* create_cartesian(Rank& parent, std::span<const int> dims, std::span<const int> periods, bool reorder, p2p::Call call);
/// Of the dimensions that `remain`.
[[nodiscard]] Rank* sub_cartesian(Rank& parent, std::span<const int> remain, p2p::Call call);
[[nodiscard]] Rank* create_graph(Rank& parent, std::span<const int> index, std::span<const int> edges, bool reorder, p2p::Call call);
/// Neighbours as given by this rank, for the vertex of its number. Where what one rank gives is not `good`, or not as it should be, that
/// one gets MPI_ERR_ARG and the others MPI_ERR_TOPOLOGY; so with Edges.
[[nodiscard]] Rank& create_adjacent(Rank& parent, Topology mine, bool good, bool reorder, p2p::Call call);
/// Edges as given by any rank: from sources[i] to degrees[i] of the targets.
struct Edges {
  std::span<const int> sources, degrees, targets, weights;
  bool weighted;
  bool good = true;
};
[[nodiscard]] Rank& create_distributed(Rank& parent, const Edges& edges, bool reorder, p2p::Call call);

/// A Cartesian communicator's, else MPIError{MPI_ERR_TOPOLOGY}.
[[nodiscard]] const Topology& topology_of(const Rank& rank, Topology::Kind kind);
/// Coordinates of a rank, and the rank at coordinates; MPI_PROC_NULL outside of a dimension that is not periodic.
void coordinates(const Topology& t, int rank, std::span<int> coords);
[[nodiscard]] int rank_at(const Topology& t, std::span<const int> coords);
/// The rank `displacement` steps along one dimension.
[[nodiscard]] int neighbour(const Topology& t, int rank, int dimension, int displacement);
/// Neighbours of any rank of a graph.
[[nodiscard]] std::span<const int> graph_neighbours(const Topology& t, int rank);

/// In the order of neighbourhood collectives.
struct Neighbourhood {
  std::vector<int> sources, destinations;
  bool cartesian;
};
[[nodiscard]] Neighbourhood neighbourhood_of(const Rank& rank);

/// The algorithm of a collective call between neighbours: blocks by neighbour. `same`: every neighbour gets the first block.
[[nodiscard]] collective::Steps neighbors(collective::Collective& c, collective::Blocks from, collective::Blocks to, bool same);

}  // namespace plait::threadcomm
