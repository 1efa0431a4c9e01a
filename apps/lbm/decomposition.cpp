#include "decomposition.hpp"

#include <fmt/format.h>

#include <limits>

#include "d3q19.hpp"
#include "error.hpp"

namespace plait::lbm {
namespace {

/// Populations that cross the cuts, per step and process; x counts double.
double traffic(const Int3& size, const Int3& grid) {
  double box[3], sum = 0;
  for (int d = 0; d < 3; ++d) box[d] = 1.0 * size[d] / grid[d];
  for (int d = 0; d < 3; ++d) {
    if (grid[d] > 1) sum += (d == 0 ? 2 : 1) * box[(d + 1) % 3] * box[(d + 2) % 3];
  }
  return sum;
}

bool fits(const Int3& size, const Int3& grid) { return grid[0] <= size[0] && grid[1] <= size[1] && grid[2] <= size[2]; }

std::string show(const Int3& v) { return fmt::format("{}x{}x{}", v[0], v[1], v[2]); }

}  // namespace

Int3 choose_grid(const Int3& size, int processes, const Int3& wanted) {
  if (wanted[0] > 0) {
    const double boxes = 1.0 * wanted[0] * wanted[1] * wanted[2];  // no whole number holds every product
    if (boxes != processes) {
      throw Error(fmt::format("--grid {} has {} boxes, but there are {} processes", show(wanted), boxes, processes));
    }
    if (!fits(size, wanted)) {
      throw Error(fmt::format("--grid {} cuts the lattice {} into more boxes than it has planes", show(wanted), show(size)));
    }
    return wanted;
  }
  Int3 best{};
  for (int z = processes; z >= 1; --z) {  // of equal grids the one with most cuts across z, whose faces lie together
    if (processes % z) continue;
    for (int y = processes / z; y >= 1; --y) {
      if ((processes / z) % y) continue;
      const Int3 grid{processes / z / y, y, z};
      if (fits(size, grid) && (best[0] == 0 || traffic(size, grid) < traffic(size, best))) best = grid;
    }
  }
  if (best[0] == 0) {
    throw Error(
        fmt::format("{} processes cannot share a lattice of {} sites: more processes than planes; use fewer", processes, show(size)));
  }
  return best;
}

void require_room(const Int3& size, const Int3& grid, double memory) {
  // 19 doubles and the kind, twice while it is sorted.
  constexpr double kBytesPerSite = kVelocities * sizeof(double) + 2;
  double largest = 1, sites = 1;
  for (int d = 0; d < 3; ++d) {
    const int planes = (size[d] + grid[d] - 1) / grid[d];
    largest *= planes;
    sites *= size[d];
  }
  if (sites * kBytesPerSite > memory) {
    throw Error(
        fmt::format("a lattice of {} sites takes {:.3g} GB of memory, and there are {:.3g} GB: use a smaller lattice.size or more nodes",
                    show(size), sites * kBytesPerSite / 1e9, memory / 1e9));
  }
  // MPI counts in int.
  if (largest > std::numeric_limits<int>::max()) {
    throw Error(fmt::format("a box of {:.0f} sites is too large for one process, which can have {}: use more processes", largest,
                            std::numeric_limits<int>::max()));
  }
}

int Subdomain::neighbor(const Int3& step) const {
  Int3 c{};
  for (int d = 0; d < 3; ++d) {
    c[d] = coordinates[d] + step[d];
    if (c[d] >= 0 && c[d] < grid[d]) continue;
    if (!periodic[d]) return MPI_PROC_NULL;
    c[d] = (c[d] + grid[d]) % grid[d];
  }
  return c[0] + grid[0] * (c[1] + grid[1] * c[2]);
}

Subdomain subdomain(const Deck& deck, const Int3& grid, int process) {
  Subdomain s;
  s.grid = grid;
  s.global = deck.size;
  s.coordinates = {process % grid[0], process / grid[0] % grid[1], process / grid[0] / grid[1]};
  for (int d = 0; d < 3; ++d) {
    const auto begin = [&](int c) { return static_cast<int>(1LL * deck.size[d] * c / grid[d]); };
    s.offset[d] = begin(s.coordinates[d]);
    s.size[d] = begin(s.coordinates[d] + 1) - s.offset[d];
    s.periodic[d] = deck.periodic(d);
  }
  return s;
}

}  // namespace plait::lbm
