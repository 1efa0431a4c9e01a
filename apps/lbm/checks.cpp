#include "checks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "error.hpp"

namespace plait::lbm {
namespace {

/// Relative L2 error of the velocity against `exact(x, y, z)` at the sites' centres.
template <class Exact>
double l2_error(Simulation& s, Exact&& exact) {
  s.settle();
  double mine[2]{}, all[2]{};
  const Subdomain& box = s.box();
  for (int z = 0; z < box.size[2]; ++z) {
    for (int y = 0; y < box.size[1]; ++y) {
      for (int x = 0; x < box.size[0]; ++x) {
        if (!s.lattice().fluid(x, y, z)) continue;
        const Double3 u = s.site(x, y, z).velocity;
        const Double3 e = exact(box.offset[0] + x + 0.5, box.offset[1] + y + 0.5, box.offset[2] + z + 0.5);
        for (int d = 0; d < 3; ++d) {
          mine[0] += (u[d] - e[d]) * (u[d] - e[d]);
          mine[1] += e[d] * e[d];
        }
      }
    }
  }
  MPI_Allreduce(mine, all, 2, MPI_DOUBLE, MPI_SUM, s.comm());
  return std::sqrt(all[0] / all[1]);
}

CheckResult check_taylor_green(Simulation& s) {
  const Deck& d = s.deck();
  const double kx = 2 * M_PI / d.size[0], ky = 2 * M_PI / d.size[1];
  const double u = d.taylor_green * std::exp(-d.viscosity * (kx * kx + ky * ky) * static_cast<double>(s.step()));
  const double error = l2_error(s, [&](double x, double y, double) {
    return Double3{-u * std::sqrt(ky / kx) * std::cos(kx * x) * std::sin(ky * y),
                   u * std::sqrt(kx / ky) * std::sin(kx * x) * std::cos(ky * y), 0};
  });
  return {"Taylor-Green decay (analytic)", "velocity, L2", 0, 0, error, d.tolerance};
}

/// Flow along x in a duct of ny by nz (White, Viscous Fluid Flow, 2006, eq. 3-48): the series converges
/// like 1/n^3, and the hyperbolic ratio is written so that it does not overflow.
CheckResult check_duct(Simulation& s) {
  const Deck& d = s.deck();
  const double a = d.size[1], b = d.size[2];
  const double error = l2_error(s, [&](double, double y, double z) {
    double sum = 0;
    for (int n = 1; n < 400; n += 2) {
      const double k = n * M_PI / a, zz = std::abs(z - b / 2);
      const double ratio = (std::exp(k * (zz - b / 2)) + std::exp(-k * (zz + b / 2))) / (1 + std::exp(-k * b));
      sum += (1 - ratio) * std::sin(k * y) / (1.0 * n * n * n);
    }
    return Double3{4 * d.force[0] * a * a / (d.viscosity * M_PI * M_PI * M_PI) * sum, 0, 0};
  });
  return {"flow in a rectangular duct (series solution)", "velocity, L2", 0, 0, error, d.tolerance};
}

/// Drag of a simple cubic array: K = force / (6 pi viscosity radius velocity), with the superficial velocity.
/// The driving force acts on a whole cell, as a pressure gradient does.
CheckResult check_zick_homsy(Simulation& s) {
  const Deck& d = s.deck();
  const SphereArray& a = d.geometry.arrays.front();
  const double cell = 1.0 * d.size[0] * d.size[1] * d.size[2] / (1.0 * a.counts[0] * a.counts[1] * a.counts[2]);
  const double fraction = 4.0 / 3.0 * M_PI * std::pow(a.radius, 3) / cell;
  const auto& row = *std::min_element(std::begin(kZickHomsy), std::end(kZickHomsy), [&](const ZickHomsy& p, const ZickHomsy& q) {
    return std::abs(p.fraction - fraction) < std::abs(q.fraction - fraction);
  });
  const double found = d.force[0] * cell / (6 * M_PI * d.viscosity * a.radius * s.means().velocity[0]);
  return {fmt::format("Zick and Homsy 1982, simple cubic, volume fraction {}", row.fraction),
          "drag coefficient",
          found,
          row.drag,
          std::abs(found / row.drag - 1),
          d.tolerance};
}

/// Component `d` of the velocity along direction `along`, on the line through the middle of the square.
std::vector<double> middle_line(Simulation& s, int d, int along) {
  s.settle();
  const Subdomain& box = s.box();
  const int n = box.global[along], across = 1 - along;
  std::vector<double> mine(n), all(n);
  // With an even number of sites the middle lies between two: their mean.
  const int middle[2] = {(box.global[across] - 1) / 2, box.global[across] / 2};
  for (int m : middle) {
    for (int k = 0; k < box.size[along]; ++k) {
      Int3 p{};
      p[across] = m - box.offset[across];
      p[along] = k;
      if (box.offset[2] == 0 && p[across] >= 0 && p[across] < box.size[across]) {
        mine[box.offset[along] + k] += 0.5 * s.site(p[0], p[1], 0).velocity[d];
      }
    }
  }
  MPI_Allreduce(mine.data(), all.data(), n, MPI_DOUBLE, MPI_SUM, s.comm());
  return all;
}

/// Linear interpolation between sites' centres, and to the wall's velocity at both ends.
double interpolate(const std::vector<double>& line, double at, double low, double high) {
  const double p = at * static_cast<double>(line.size()) - 0.5;
  const auto n = static_cast<double>(line.size());
  if (p < 0) return low + (line.front() - low) * (p + 0.5) * 2;
  if (p > n - 1) return line.back() + (high - line.back()) * (p - (n - 1)) * 2;
  const auto k = std::min(static_cast<std::size_t>(p), line.size() - 2);
  return line[k] + (line[k + 1] - line[k]) * (p - static_cast<double>(k));
}

struct Point {
  double at, re100, re400;
};
// Ghia, Ghia and Shin, J. Comput. Phys. 48 (1982) 387-411, tables I and II, lid at y = 1.
constexpr Point kAlongY[] = {{0.0547, -0.03717, -0.08186}, {0.0625, -0.04192, -0.09266}, {0.0703, -0.04775, -0.10338},
                             {0.1016, -0.06434, -0.14612}, {0.1719, -0.10150, -0.24299}, {0.2813, -0.15662, -0.32726},
                             {0.4531, -0.21090, -0.17119}, {0.5000, -0.20581, -0.11477}, {0.6172, -0.13641, 0.02135},
                             {0.7344, 0.00332, 0.16256},   {0.8516, 0.23151, 0.29093},   {0.9531, 0.68717, 0.55892},
                             {0.9609, 0.73722, 0.61756},   {0.9688, 0.78871, 0.68439},   {0.9766, 0.84123, 0.75837}};
// The table's value at x = 0.9063 for Re 400, -0.23827, breaks the curve through its neighbours (a misprint known
// since), so that point is left out for both.
constexpr Point kAlongX[] = {{0.0625, 0.09233, 0.18360},   {0.0703, 0.10091, 0.19713},   {0.0781, 0.10890, 0.20920},
                             {0.0938, 0.12317, 0.22965},   {0.1563, 0.16077, 0.28124},   {0.2266, 0.17507, 0.30203},
                             {0.2344, 0.17527, 0.30174},   {0.5000, 0.05454, 0.05186},   {0.8047, -0.24533, -0.38598},
                             {0.8594, -0.22445, -0.44993}, {0.9453, -0.10313, -0.22847}, {0.9531, -0.08864, -0.19254},
                             {0.9609, -0.07391, -0.15663}, {0.9688, -0.05906, -0.12146}};

CheckResult check_ghia(Simulation& s) {
  const Deck& d = s.deck();
  const double lid = (*d.walls[1][1])[0];
  double worst = 0;  // NaN as soon as one difference is: std::max would drop it
  const auto compare = [&](std::span<const Point> table, const std::vector<double>& line, double high) {
    for (const Point& p : table) {
      const double expected = d.reynolds == 100 ? p.re100 : p.re400;
      const double difference = std::abs(interpolate(line, p.at, 0, high) / lid - expected);
      if (!(difference <= worst) && !std::isnan(worst)) worst = difference;
    }
  };
  compare(kAlongY, middle_line(s, 0, 1), lid);
  compare(kAlongX, middle_line(s, 1, 0), 0);
  return {fmt::format("Ghia, Ghia and Shin 1982, cavity, Re {}", d.reynolds),
          "velocity on the middle lines, largest difference in lid velocities",
          0,
          0,
          worst,
          d.tolerance};
}

}  // namespace

void require_checkable(const Deck& deck, long last) {
  if (deck.reference != Reference::taylor_green) return;
  constexpr double kDecay = 20;  // e^-20: what is left is rounding
  const double kx = 2 * M_PI / deck.size[0], ky = 2 * M_PI / deck.size[1];
  const double rate = deck.viscosity * (kx * kx + ky * ky);
  if (rate * static_cast<double>(last) <= kDecay) return;
  throw Error(fmt::format("the check against taylor-green says nothing after {} steps, when the vortices are gone: make at most {:.0f}",
                          last, std::floor(kDecay / rate)));
}

std::optional<CheckResult> check(Simulation& s) {
  switch (s.deck().reference) {
    case Reference::taylor_green:
      return check_taylor_green(s);
    case Reference::duct:
      return check_duct(s);
    case Reference::zick_homsy:
      return check_zick_homsy(s);
    case Reference::ghia:
      return check_ghia(s);
    case Reference::none:
      break;
  }
  return std::nullopt;
}

}  // namespace plait::lbm
