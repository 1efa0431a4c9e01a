// A deck: what to simulate, read from a TOML file. Every quantity is in lattice units (spacing 1, step 1,
// density 1). docs/lbm.md describes each key.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace plait::lbm {

using Int3 = std::array<int, 3>;
using Double3 = std::array<double, 3>;

/// Solid primitives. Site (x, y, z) has its centre at (x + 1/2, y + 1/2, z + 1/2); in periodic directions
/// a primitive is there with all its images.
struct Sphere {
  Double3 center{};
  double radius = 0;
  Double3 velocity{};
};
struct Box {
  Double3 low{}, high{};
  Double3 velocity{};
};
/// Spheres on a simple cubic lattice of counts[0] x counts[1] x counts[2] cells that fills the domain.
struct SphereArray {
  Int3 counts{1, 1, 1};
  double radius = 0;
};
/// Equal spheres at random that do not overlap, by seed; periodic.
struct Packing {
  double radius = 0;
  double volume_fraction = 0;
  std::uint64_t seed = 1;
  /// How many spheres that is on a lattice of that size, before rounding.
  [[nodiscard]] double spheres(const Int3& size) const;
};
/// One process places a packing; it takes a minute for so many.
inline constexpr int kMostPacked = 1000000;

struct Geometry {
  std::vector<Sphere> spheres;
  std::vector<Box> boxes;
  std::vector<SphereArray> arrays;
  std::vector<Packing> packings;
  std::string file;  // .npy of bytes with shape (nz, ny, nx), 0 = fluid; relative to the deck
};

/// Steps of a run at most: the times of each are kept.
inline constexpr long kMostSteps = 100000000;

/// Drag of simple cubic arrays of spheres (Zick and Homsy, J. Fluid Mech. 115 (1982) 13-26, table 2).
struct ZickHomsy {
  double fraction, drag;
};
inline constexpr ZickHomsy kZickHomsy[] = {{0.027, 2.008}, {0.064, 2.810}, {0.125, 4.292}, {0.216, 7.442},
                                           {0.343, 15.4},  {0.45, 28.1},   {0.5236, 42.1}};

enum class Reference { none, taylor_green, duct, zick_homsy, ghia };

struct Deck {
  std::string name;  // the file's name without folder and ending
  std::string title;
  Int3 size{};
  double viscosity = 0;
  double reynolds = 0;  // 0 where the deck gives the viscosity itself
  double velocity = 0;  // the velocity scale of the Reynolds number
  Double3 force{};      // body force per volume
  /// walls[d][0] at the low side of direction d and walls[d][1] at the high one; none on both: periodic.
  std::array<std::array<std::optional<Double3>, 2>, 3> walls;
  Geometry geometry;
  double taylor_green = 0;  // amplitude of an initial Taylor-Green vortex in x and y
  long steps = 0;
  double steady = 0;    // stop when the mean size of the velocity changes by less, relatively, in one interval
  long interval = 100;  // steps between looks at the mean velocity
  std::string directory = "out";
  bool fields = true;     // write the final fields as .vti
  long fields_every = 0;  // and every so many steps
  long checkpoint_every = 0;
  Reference reference = Reference::none;
  double tolerance = 0;

  [[nodiscard]] bool periodic(int d) const { return !walls[d][0]; }
};

/// Reads a deck from TOML text. `path` is named in messages; `settings` are "key=value" lines that replace
/// the deck's. Throws Error for unknown keys (naming the nearest), wrong types and values out of range.
[[nodiscard]] Deck parse_deck(const std::string& text, const std::string& path, const std::vector<std::string>& settings = {});

}  // namespace plait::lbm
