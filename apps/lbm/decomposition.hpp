// How the lattice is cut into boxes, one for each process.
#pragma once

#include <mpi.h>

#include "deck.hpp"

namespace plait::lbm {

/// Cuts `size` into grid[0] x grid[1] x grid[2] boxes so that as little as possible crosses their faces;
/// cuts across x, whose faces are scattered in memory, count double. Throws Error where some process would
/// get no plane. With `wanted` (all above 0) that grid is taken, and must have `processes` boxes.
[[nodiscard]] Int3 choose_grid(const Int3& size, int processes, const Int3& wanted = {});

/// Throws Error where a lattice cut like this takes more than `memory` bytes on all nodes together, or a box has more sites than
/// MPI's counts can tell.
void require_room(const Int3& size, const Int3& grid, double memory);

/// The box of one process. Box p has coordinates (p % gx, p / gx % gy, p / gx / gy).
struct Subdomain {
  Int3 grid{1, 1, 1};
  Int3 coordinates{};
  Int3 global{};  // the lattice's size
  Int3 offset{};  // global index of this box's first site
  Int3 size{};    // this box's sites
  std::array<bool, 3> periodic{};

  /// The process at `step` boxes from this one, or MPI_PROC_NULL beyond a wall.
  [[nodiscard]] int neighbor(const Int3& step) const;
  [[nodiscard]] bool divided(int d) const { return grid[d] > 1; }
  /// Undivided and periodic: the box is its own neighbour and no halo is needed.
  [[nodiscard]] bool wraps(int d) const { return grid[d] == 1 && periodic[d]; }
};

[[nodiscard]] Subdomain subdomain(const Deck& deck, const Int3& grid, int process);

}  // namespace plait::lbm
