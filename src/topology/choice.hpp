// What one process decides for all: the vertex that each takes. And what PLAIT_REPORT says of it. No MPI.
#pragma once

#include <cstdint>
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

/// What the user wants of all processes alike: it decides who takes part in a collective call.
struct Wishes {
  bool stay = false;    ///< PLAIT_REORDER=no
  bool report = false;  ///< PLAIT_REPORT=1
};
/// Those of all processes, by MPI_Init. Until then a process has its own, and reports nothing.
void agree_on(Wishes wishes) noexcept;
[[nodiscard]] Wishes own_wishes() noexcept;
[[nodiscard]] Wishes wishes() noexcept;

/// Edges of a distributed graph that rank 0 takes: they are some 700 MB of memory there until the choice is made.
constexpr std::int64_t kMostEdges = std::int64_t{1} << 23;

/// What the program has asked for. `shape` where it is a grid. With as many vertices as there are ranks.
struct Wanted {
  Graph graph;
  std::optional<Shape> shape;
};

/// The vertex of each rank: the best for it with `reorder`, else that of its own number. Where a report is wished a line on stderr tells
/// what reordering has brought, or would bring. `call`: the function's name. Where memory does not suffice all ranks stay.
[[nodiscard]] std::vector<int> choose(std::string_view call, bool reorder, std::span<const Spot> spots,
                                      const std::function<Wanted()>& describe);

/// That line, without its end.
[[nodiscard]] std::string report(std::string_view call, bool reordered, const Wanted& wanted, std::span<const Where> ranks,
                                 const Answer& answer);

}  // namespace plait::topology
