// The populations of one process's box, updated in place (Bailey et al., ICPP 2009, "AA pattern").
//
// There is one copy of the populations. Two kinds of step take turns:
//   local    a site reads its own 19 places and writes each result to the place of the opposite velocity;
//   crossing a site reads, for velocity i, the place of the opposite velocity at the site that i comes from,
//            and writes where i goes to: these are the same 19 places.
// In both, a place is read and written by exactly one site, so sites may be updated in any order and by
// any thread, with no second copy: 2 * 19 * 8 = 304 bytes move per update. A link that ends in a wall uses the
// site's own place instead (half-way bounce-back): again a place that no other site uses.
//
// Populations are kept as differences from their weights, which keeps more digits in slow flows.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "d3q19.hpp"
#include "decomposition.hpp"
#include "geometry.hpp"
#include "places.hpp"

namespace plait::lbm {

enum class Phase { local, crossing };

[[nodiscard]] constexpr Phase next(Phase p) { return p == Phase::local ? Phase::crossing : Phase::local; }

/// A piece of a row of sites: vector blocks [begin, end) of row (y, z). The unit of work of a thread.
struct Span {
  int y, z;
  int begin, end;
};

/// Spans with the work that each holds, so that threads get equal shares of it.
class Spans {
 public:
  void add(Span span, long work);
  /// The spans whose work lies in [from, to) of the whole, 0 <= from <= to <= 1: contiguous, in order.
  [[nodiscard]] std::pair<const Span*, const Span*> part(double from, double to) const;
  [[nodiscard]] std::pair<const Span*, const Span*> part(int thread, int threads) const {
    return part(1.0 * thread / threads, 1.0 * (thread + 1) / threads);
  }
  /// The spans that begin in units [begin, end) of the work, 0 <= begin <= end <= work(): each is in one of the ranges that units are cut
  /// into.
  [[nodiscard]] std::pair<const Span*, const Span*> begun_in(long begin, long end) const;
  [[nodiscard]] long work() const { return before_.back(); }

 private:
  std::vector<Span> spans_;
  std::vector<long> before_{0};
};

/// A block with walls in it or beside it; one bit per site, lowest x lowest.
struct WallBlock {
  std::uint8_t fluid = 0;                             // sites that are fluid (and within the box)
  std::array<std::uint8_t, kVelocities> from_wall{};  // fluid sites to which velocity i comes from a wall
  bool moving = false;                                // one of these walls moves
};

class Lattice {
 public:
  using Allocate = std::function<std::unique_ptr<Places>(std::size_t bytes)>;
  /// Places lie in what `allocate` returns, and are first touched by `threads` threads, each its share. Throws std::bad_alloc, and what
  /// `allocate` throws, which is called before anything else can fail.
  Lattice(const Subdomain& box, Solids solids, int threads, const Allocate& allocate = Places::own);
  Lattice(const Lattice&) = delete;
  Lattice& operator=(const Lattice&) = delete;

  [[nodiscard]] const Subdomain& box() const { return box_; }
  [[nodiscard]] const Solids& solids() const { return solids_; }
  [[nodiscard]] const Places& memory() const { return *memory_; }

  /// Index of site (x, y, z) in one velocity's places; -1 and size are the layer around the box.
  [[nodiscard]] std::ptrdiff_t index(int x, int y, int z) const { return x + y * row_ + z * plane_; }
  [[nodiscard]] double* places(int velocity) { return first_ + velocity * pitch_; }
  [[nodiscard]] const double* places(int velocity) const { return first_ + velocity * pitch_; }
  [[nodiscard]] const std::uint8_t* kinds() const { return kind_first_; }
  [[nodiscard]] bool fluid(int x, int y, int z) const { return kind_first_[index(x, y, z)] == 0; }

  [[nodiscard]] std::ptrdiff_t row() const { return row_; }
  [[nodiscard]] std::ptrdiff_t plane() const { return plane_; }
  [[nodiscard]] int blocks() const { return blocks_; }
  /// What the kernel has to do in each block of row (y, z): kSkip (no fluid), kFree (all fluid, no wall beside it), or
  /// the index of its WallBlock.
  static constexpr std::int32_t kSkip = -1, kFree = -2;
  [[nodiscard]] const std::int32_t* row_blocks(int y, int z) const {
    return blocks_of_.data() + blocks_ * (y + static_cast<std::size_t>(box_.size[1]) * z);
  }
  [[nodiscard]] const WallBlock& wall_block(std::int32_t index) const { return wall_blocks_[index]; }

  /// Row y, or its image where the box is its own neighbour in y (likewise z).
  [[nodiscard]] int wrap_y(int y) const { return wrap(1, y); }
  [[nodiscard]] int wrap_z(int z) const { return wrap(2, z); }

  /// All the box; what needs the halo; what does not.
  [[nodiscard]] const Spans& all() const { return all_; }
  [[nodiscard]] const Spans& boundary() const { return boundary_; }
  [[nodiscard]] const Spans& interior() const { return interior_; }

  [[nodiscard]] long fluid_sites() const { return fluid_sites_; }

  /// Population i of site (x, y, z) as the coming step of that phase will read it (halo in place).
  [[nodiscard]] double population(int i, int x, int y, int z, Phase phase) const;

 private:
  [[nodiscard]] int wrap(int d, int i) const {
    return box_.wraps(d) ? (i < 0 ? i + box_.size[d] : i >= box_.size[d] ? i - box_.size[d] : i) : i;
  }
  void place_kinds();
  void classify();
  [[nodiscard]] WallBlock look_at(int b, int y, int z) const;
  void divide();

  Subdomain box_;
  Solids solids_;
  std::ptrdiff_t row_, plane_, pitch_;
  int blocks_;
  std::unique_ptr<Places> memory_;
  double* first_ = nullptr;  // place of velocity 0 at site (0, 0, 0)
  std::vector<std::uint8_t> kind_memory_;
  std::uint8_t* kind_first_ = nullptr;
  std::vector<std::int32_t> blocks_of_;
  std::vector<WallBlock> wall_blocks_;
  Spans all_, boundary_, interior_;
  long fluid_sites_ = 0;
};

}  // namespace plait::lbm
