// The graph partitioner METIS (G. Karypis and V. Kumar, 1998), where the machine has it. No MPI.
#pragma once

#include <span>

#include "topology/partition.hpp"

namespace plait::topology {

/// Parts of about these sizes: even_out() them. Empty where there is no libmetis.so.5, no edge, or a part of fewer than 4 vertices. The
/// same answer each time, unless another thread calls rand() meanwhile, which METIS uses. Looks for the library once. One thread at a time
/// is in METIS, which changes the handlers of two signals meanwhile.
[[nodiscard]] Parts by_metis(const Graph& graph, std::span<const int> sizes);

}  // namespace plait::topology
