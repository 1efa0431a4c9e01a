// What one process decides for all: the vertex that each takes. And what PLAIT_REPORT says of it. No MPI.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "topology/graph.hpp"
#include "topology/place.hpp"
#include "topology/spot.hpp"

namespace plait::topology {

/// What the program has asked for. `shape` where it is a grid. With as many vertices as there are ranks.
struct Wanted {
  Graph graph;
  std::optional<Shape> shape;
};

/// The vertex of each rank: the best for it with `reorder`, else that of its own number. With PLAIT_REPORT=1 a line on stderr tells what
/// reordering has brought, or would bring. `call`: the function's name. Where memory does not suffice all ranks stay.
[[nodiscard]] std::vector<int> choose(std::string_view call, bool reorder, std::span<const Spot> spots,
                                      const std::function<Wanted()>& describe);

/// That line, without its end.
[[nodiscard]] std::string report(std::string_view call, bool reordered, const Wanted& wanted, std::span<const Where> ranks,
                                 const Answer& answer);

}  // namespace plait::topology
