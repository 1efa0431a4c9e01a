// Ways through a grid: nodes that take the cells in such an order, each as many as it has ranks, have few neighbours on others. No MPI.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "topology/graph.hpp"

namespace plait::topology {

/// All cells of a grid, once each. Empty where the method does not fit: nodecart wants equal nodes whose ranks can be a block of the
/// grid's.
using Order = std::vector<int>;

struct Method {
  std::string_view name;
  Order (*order)(const Grid& grid, std::span<const Offset> stencil, std::span<const int> nodes);
};

/// `nodes` are the numbers of ranks.
///   nodecart        blocks of one size: W. Gropp, "Using node and socket information to implement MPI Cartesian topologies", Parallel
///                   Computing 85 (2019)
///   hyperplane, k-d tree, stencil strips
///                   S. Hunold, K. von Kirchbach, M. Lehr, C. Schulz, J. L. Träff, "Efficient process-to-node mapping algorithms for
///                   stencil computations", IEEE Cluster 2020
[[nodiscard]] std::span<const Method> methods() noexcept;

}  // namespace plait::topology
