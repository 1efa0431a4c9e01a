#include "kernel.hpp"

#include <algorithm>

#include "simd.hpp"

namespace plait::lbm {
namespace {

using simd::kWidth;
using simd::Mask;
using simd::Vec;

/// Collision of kWidth sites at once. Every result depends on its own lane alone.
class Collision {
 public:
  static constexpr bool kCollides = true;
  explicit Collision(const Fluid& fluid) : force_(fluid.force) {
    const double tau_even = 3 * fluid.viscosity + 0.5;
    const double tau_odd = 0.5 + (3.0 / 16.0) / (tau_even - 0.5);
    half_even_ = 0.5 / tau_even;
    half_odd_ = 0.5 / tau_odd;
  }

  /// Replaces the populations by those after collision.
  [[gnu::always_inline]] void operator()(Vec (&f)[kVelocities]) const {
    const Vec density = sum(f);
    const Vec rho = 1.0 + density;
    const Vec per_rho = 1.0 / rho;
    const Vec ux = ((f[1] - f[2]) + (f[7] - f[8]) + (f[9] - f[10]) + (f[11] - f[12]) + (f[13] - f[14]) + 0.5 * force_[0]) * per_rho;
    const Vec uy = ((f[3] - f[4]) + (f[7] - f[8]) - (f[9] - f[10]) + (f[15] - f[16]) + (f[17] - f[18]) + 0.5 * force_[1]) * per_rho;
    const Vec uz = ((f[5] - f[6]) + (f[11] - f[12]) - (f[13] - f[14]) + (f[15] - f[16]) - (f[17] - f[18]) + 0.5 * force_[2]) * per_rho;
    // The even equilibrium of velocity i is w (base + 4.5 rho (c.u)^2), its force part w (9 (c.u)(c.F) - 3 u.F); what
    // does not depend on c is the same for all velocities of one weight.
    const Vec base = density - rho * (1.5 * (ux * ux + uy * uy + uz * uz));
    const Vec common = (2 * half_even_) * base - (3 * (1 - half_even_)) * (ux * force_[0] + uy * force_[1] + uz * force_[2]);
    f[0] -= (2 * half_even_) * f[0] - weight(0) * common;
    const Vec axis = weight(1) * common, diagonal = weight(7) * common;
    const double fx = force_[0], fy = force_[1], fz = force_[2];
    pair<1>(f, rho, axis, ux, fx);
    pair<3>(f, rho, axis, uy, fy);
    pair<5>(f, rho, axis, uz, fz);
    pair<7>(f, rho, diagonal, ux + uy, fx + fy);
    pair<9>(f, rho, diagonal, ux - uy, fx - fy);
    pair<11>(f, rho, diagonal, ux + uz, fx + fz);
    pair<13>(f, rho, diagonal, ux - uz, fx - fz);
    pair<15>(f, rho, diagonal, uy + uz, fy + fz);
    pair<17>(f, rho, diagonal, uy - uz, fy - fz);
  }

 private:
  [[gnu::always_inline]] static Vec sum(const Vec (&f)[kVelocities]) {
    return f[0] + (((f[1] + f[2]) + (f[3] + f[4])) + ((f[5] + f[6]) + (f[7] + f[8]))) +
           (((f[9] + f[10]) + (f[11] + f[12])) + ((f[13] + f[14]) + (f[15] + f[16])) + (f[17] + f[18]));
  }

  /// Velocities I and I + 1, which are opposite; cu and cf are velocity I's product with u and the force.
  template <int I>
  [[gnu::always_inline]] void pair(Vec (&f)[kVelocities], Vec rho, Vec common, Vec cu, double cf) const {
    constexpr double w = weight(I);
    const Vec rcu = rho * cu;
    const Vec even = half_even_ * (f[I] + f[I + 1]) - (common + cu * ((9 * w * half_even_) * rcu + ((1 - half_even_) * w * 9 * cf)));
    const Vec odd = half_odd_ * (f[I] - f[I + 1]) - ((6 * w * half_odd_) * rcu + ((1 - half_odd_) * w * 3 * cf));
    f[I] -= even + odd;
    f[I + 1] -= even - odd;
  }

  Double3 force_;
  double half_even_, half_odd_;  // half the relaxation rates
};

/// What the memory alone costs: the same loads and stores around nothing.
struct NoCollision {
  static constexpr bool kCollides = false;
  [[gnu::always_inline]] void operator()(Vec (&)[kVelocities]) const {}
};

/// Where the 19 places of a row's sites begin.
struct Row {
  double* place[kVelocities];  // of velocity i for the site x = 0
  double* own[kVelocities];    // velocity i's place at the site itself
  const std::uint8_t* kind;

  Row(Lattice& l, Phase phase, int y, int z) : kind(l.kinds() + l.index(0, y, z)) {
    for (int i = 0; i < kVelocities; ++i) {
      const auto& c = kVelocity[i];
      own[i] = l.places(i) + l.index(0, y, z);
      place[i] = phase == Phase::local ? own[i] : l.places(opposite(i)) + l.index(-c[0], l.wrap_y(y - c[1]), l.wrap_z(z - c[2]));
    }
  }

  /// Where the box is its own neighbour in x, the places beyond the row's ends are images of places within it. If
  /// the site at the end is fluid no other site uses either, so the row may fetch them before and return
  /// them after. If it is a wall, the site on its other side keeps what it reflects there: leave it alone.
  void fetch_ends(int n) const {
    const bool first = !kind[0], last = !kind[n - 1];
    for (int i = 1; i < kVelocities; ++i) {
      if (kVelocity[i][0] > 0 && first) place[i][0] = place[i][n];
      if (kVelocity[i][0] < 0 && last) place[i][n - 1] = place[i][-1];
    }
  }
  void return_ends(int n) const {
    const bool first = !kind[0], last = !kind[n - 1];
    for (int i = 1; i < kVelocities; ++i) {
      if (kVelocity[i][0] > 0 && first) place[i][n] = place[i][0];
      if (kVelocity[i][0] < 0 && last) place[i][-1] = place[i][n - 1];
    }
  }
};

/// Hardware prefetchers do not keep up with 19 streams that are both read and written, and one site's arithmetic
/// fills the window of instructions in flight: without this, computing and loading take turns (measured on
/// Zen 5: 0.58 of the memory's speed without, 0.95 with). A row's end leads into the next row's beginning.
constexpr int kPrefetchAhead = 64;  // doubles

/// Fetches what block b will need that lies kPrefetchAhead after x, unless it will be skipped.
[[gnu::always_inline]] inline void prefetch(const Row& row, int x, const std::int32_t* blocks, int b, int count) {
  constexpr int kAhead = kPrefetchAhead / kWidth;
  if (b + kAhead < count && blocks[b + kAhead] == Lattice::kSkip) return;
#pragma GCC unroll 19
  for (double* place : row.place) __builtin_prefetch(place + x + kPrefetchAhead, 1);
}

template <class Collide>
[[gnu::always_inline]] inline void update_free(const Collide& collide, const Row& row, int x) {
  Vec f[kVelocities];
#pragma GCC unroll 19
  for (int i = 0; i < kVelocities; ++i) f[i] = simd::load(row.place[i] + x);
  collide(f);
#pragma GCC unroll 19
  for (int i = 0; i < kVelocities; ++i) simd::store(row.place[i] + x, f[opposite(i)]);
}

template <class Collide>
[[gnu::noinline]] void update_local(const Collide& collide, const Row& row, int x, Mask fluid) {
  Vec f[kVelocities];
#pragma GCC unroll 19
  for (int i = 0; i < kVelocities; ++i) f[i] = simd::load_masked(Vec{}, fluid, row.place[i] + x);
  collide(f);
#pragma GCC unroll 19
  for (int i = 0; i < kVelocities; ++i) simd::store_masked(row.place[i] + x, fluid, f[opposite(i)]);
}

/// What a moving wall adds to velocity i on reflection: 6 w (c . u_wall), by lane.
Vec push_of_wall(const Lattice& l, int i, int x, int y, int z, Mask from_wall) {
  const auto& c = kVelocity[i];
  const std::uint8_t* kind = l.kinds() + l.index(x - c[0], y - c[1], z - c[2]);
  Vec push{};
  for (int k = 0; k < kWidth; ++k) {
    if (!((from_wall >> k) & 1U)) continue;
    const Double3& u = l.solids().walls[kind[k] - 1];
    push[k] = 6 * weight(i) * (c[0] * u[0] + c[1] * u[1] + c[2] * u[2]);
  }
  return push;
}

/// A crossing step beside walls: what velocity i brings from a wall is what the site sent there, found in the
/// site's own place; what leaves toward it is left there for the next step. `push` is what moving walls add.
template <bool Moving, class Collide>
[[gnu::noinline]] void update_crossing(const Collide& collide, const Row& row, int x, const WallBlock& walls, const Vec* push) {
  const Mask fluid = walls.fluid;
  Vec f[kVelocities];
#pragma GCC unroll 19
  for (int i = 0; i < kVelocities; ++i) {
    const Mask wall = walls.from_wall[i];
    f[i] = simd::load_masked(simd::load_masked(Vec{}, fluid & ~wall, row.place[i] + x), wall, row.own[i] + x);
    if constexpr (Moving) f[i] += push[i];
  }
  collide(f);
#pragma GCC unroll 19
  for (int i = 0; i < kVelocities; ++i) {
    const Mask wall = walls.from_wall[i];
    Vec out = f[opposite(i)];
    simd::store_masked(row.place[i] + x, fluid & ~wall, out);
    if constexpr (Moving) out += push[i];
    simd::store_masked(row.own[i] + x, wall, out);
  }
}

template <class Collide>
void update_walls(Lattice& l, const Collide& collide, Phase phase, const Row& row, const Span& s, int x, const WallBlock& walls) {
  if (phase == Phase::local) return update_local(collide, row, x, walls.fluid);
  if (!walls.moving || !Collide::kCollides) return update_crossing<false>(collide, row, x, walls, nullptr);
  Vec push[kVelocities];
  for (int i = 0; i < kVelocities; ++i) push[i] = push_of_wall(l, i, x, s.y, s.z, walls.from_wall[i]);
  update_crossing<true>(collide, row, x, walls, push);
}

template <class Collide>
void update_spans(Lattice& lattice, const Collide& collide, Phase phase, const Span* begin, const Span* end) {
  const int size = lattice.box().size[0];
  const bool ends = phase == Phase::crossing && lattice.box().wraps(0);
  for (const Span* s = begin; s != end; ++s) {
    const Row row(lattice, phase, s->y, s->z);
    const std::int32_t* blocks = lattice.row_blocks(s->y, s->z);
    if (ends) row.fetch_ends(size);
    for (int b = s->begin; b < s->end; ++b) {
      const int x = b * kWidth;
      prefetch(row, x, blocks, b, lattice.blocks());
      if (blocks[b] == Lattice::kSkip) continue;
      if (blocks[b] == Lattice::kFree)
        update_free(collide, row, x);
      else
        update_walls(lattice, collide, phase, row, *s, x, lattice.wall_block(blocks[b]));
    }
    if (ends) row.return_ends(size);
  }
}

}  // namespace

void update(Lattice& lattice, const Fluid& fluid, Phase phase, const Span* begin, const Span* end) {
  update_spans(lattice, Collision(fluid), phase, begin, end);
}

void sweep_memory(Lattice& lattice, Phase phase, const Span* begin, const Span* end) {
  update_spans(lattice, NoCollision{}, phase, begin, end);
}

Moments moments(const double (&f)[kVelocities], const Fluid& fluid) {
  double density = 0;
  Double3 j{};
  for (int i = 0; i < kVelocities; ++i) {
    density += f[i];
    for (int d = 0; d < 3; ++d) j[d] += kVelocity[i][d] * f[i];
  }
  Moments m{1 + density, {}};
  for (int d = 0; d < 3; ++d) m.velocity[d] = (j[d] + 0.5 * fluid.force[d]) / m.density;
  return m;
}

void equilibrium(double density, const Double3& u, double (&f)[kVelocities]) {
  const double square = u[0] * u[0] + u[1] * u[1] + u[2] * u[2];
  for (int i = 0; i < kVelocities; ++i) {
    const auto& c = kVelocity[i];
    const double cu = c[0] * u[0] + c[1] * u[1] + c[2] * u[2];
    f[i] = weight(i) * (density + (1 + density) * (3 * cu + 4.5 * cu * cu - 1.5 * square));
  }
}

}  // namespace plait::lbm
