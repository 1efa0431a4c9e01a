// Where the walls are: the kind of every site of a process's box and of the layer of sites around it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "decomposition.hpp"

namespace plait::lbm {

/// Kinds of sites: 0 is fluid, k > 0 a wall that moves with walls[k - 1]. walls[0] is at rest.
struct Solids {
  std::vector<std::uint8_t> kind;  // (size + 2) sites in each direction, x fastest
  std::vector<Double3> walls{{0, 0, 0}};
};

/// The centres of a random packing: equal spheres that do not overlap, periodic in `size`. The same for the
/// same seed on every machine. Throws Error if the volume fraction cannot be reached.
[[nodiscard]] std::vector<Double3> pack_spheres(const Packing& packing, const Int3& size);

/// The kinds of one box; packed[k] are the centres of the deck's packing k. `folder` is the deck's. Throws Error.
[[nodiscard]] Solids mark_solids(const Deck& deck, const Subdomain& box, const std::string& folder,
                                 const std::vector<std::vector<Double3>>& packed);

/// The same on all processes: packings are made on process 0 and sent to the others; a file is read by each.
/// Collective over comm; reports as collectively() does.
[[nodiscard]] Solids make_solids(const Deck& deck, const Subdomain& box, const std::string& folder, MPI_Comm comm);

}  // namespace plait::lbm
