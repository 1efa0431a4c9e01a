// A lattice-Boltzmann method written down as the textbooks do, with two lattices and no thought for speed: the oracle
// that the in-place kernel is held against.
#pragma once

#include <cmath>
#include <random>
#include <vector>

#include "kernel.hpp"

namespace plait::lbm::test {

class ReferenceLattice {
 public:
  /// kinds as Solids has them: with a layer around the box.
  ReferenceLattice(const Int3& size, std::vector<std::uint8_t> kinds, std::vector<Double3> walls, const Fluid& fluid)
      : n_(size), kinds_(std::move(kinds)), walls_(std::move(walls)), fluid_(fluid) {
    f_.assign(kVelocities, std::vector<double>(static_cast<std::size_t>(n_[0]) * n_[1] * n_[2]));
  }

  double& at(int i, int x, int y, int z) { return f_[i][x + n_[0] * (y + static_cast<std::size_t>(n_[1]) * z)]; }
  [[nodiscard]] int kind(int x, int y, int z) const {
    return kinds_[(x + 1) + (n_[0] + 2) * ((y + 1) + static_cast<std::size_t>(n_[1] + 2) * (z + 1))];
  }

  void step() {
    for (int z = 0; z < n_[2]; ++z) {
      for (int y = 0; y < n_[1]; ++y) {
        for (int x = 0; x < n_[0]; ++x) {
          if (!kind(x, y, z)) collide(x, y, z);
        }
      }
    }
    stream();
  }

 private:
  void collide(int x, int y, int z) {
    double f[kVelocities], eq[kVelocities];
    for (int i = 0; i < kVelocities; ++i) f[i] = at(i, x, y, z);
    const Moments m = moments(f, fluid_);
    equilibrium(m.density - 1, m.velocity, eq);
    const double tau_even = 3 * fluid_.viscosity + 0.5, tau_odd = 0.5 + 3.0 / 16 / (tau_even - 0.5);
    const auto& u = m.velocity;
    for (int i = 0; i < kVelocities; ++i) {
      const int j = opposite(i);
      const double even = 0.5 * (f[i] + f[j] - eq[i] - eq[j]), odd = 0.5 * (f[i] - f[j] - eq[i] + eq[j]);
      double cu = 0, cf = 0, uf = 0;
      for (int d = 0; d < 3; ++d) {
        cu += kVelocity[i][d] * u[d];
        cf += kVelocity[i][d] * fluid_.force[d];
        uf += u[d] * fluid_.force[d];
      }
      at(i, x, y, z) = f[i] - even / tau_even - odd / tau_odd +
                       weight(i) * ((1 - 0.5 / tau_even) * (9 * cu * cf - 3 * uf) + (1 - 0.5 / tau_odd) * 3 * cf);
    }
  }

  void stream() {
    const auto after = f_;
    const auto old = [&](int i, int x, int y, int z) { return after[i][x + n_[0] * (y + static_cast<std::size_t>(n_[1]) * z)]; };
    for (int z = 0; z < n_[2]; ++z) {
      for (int y = 0; y < n_[1]; ++y) {
        for (int x = 0; x < n_[0]; ++x) {
          if (kind(x, y, z)) continue;
          for (int i = 0; i < kVelocities; ++i) {
            const auto& c = kVelocity[i];
            const int k = kind(x - c[0], y - c[1], z - c[2]);
            if (k) {
              const Double3& u = walls_[k - 1];
              at(i, x, y, z) = old(opposite(i), x, y, z) + 6 * weight(i) * (c[0] * u[0] + c[1] * u[1] + c[2] * u[2]);
            } else {
              at(i, x, y, z) = old(i, (x - c[0] + n_[0]) % n_[0], (y - c[1] + n_[1]) % n_[1], (z - c[2] + n_[2]) % n_[2]);
            }
          }
        }
      }
    }
  }

  Int3 n_;
  std::vector<std::uint8_t> kinds_;
  std::vector<Double3> walls_;
  Fluid fluid_;
  std::vector<std::vector<double>> f_;
};

/// A deck with nothing in it but its size.
inline Deck empty_deck(const Int3& size) {
  Deck d;
  d.size = size;
  d.viscosity = 0.05;
  d.steps = 1;
  return d;
}

}  // namespace plait::lbm::test
