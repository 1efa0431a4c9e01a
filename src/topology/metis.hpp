// The graph partitioner METIS (G. Karypis and V. Kumar, 1998), where the machine has it. No MPI.
#pragma once

#include <span>

#include "topology/partition.hpp"

namespace plait::topology {

/// Parts of about these sizes: even_out() them. Empty where there is no libmetis.so.5, or the graph is too small for it. The same answer
/// each time. Looks for the library once. One thread at a time is in METIS, which changes the handlers of two signals meanwhile.
[[nodiscard]] Parts by_metis(const Graph& graph, std::span<const int> sizes);

}  // namespace plait::topology
