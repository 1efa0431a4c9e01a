// One step of the lattice-Boltzmann method on a piece of the lattice: collision and streaming at once.
#pragma once

#include "lattice.hpp"

namespace plait::lbm {

/// Two-relaxation-time collision (Ginzburg, Verhaeghe, d'Humieres 2008) with the magic parameter 3/16, which puts
/// half-way bounce-back walls exactly half-way whatever the viscosity; body force after Guo, Zheng, Shi (2002).
struct Fluid {
  double viscosity = 1.0 / 6.0;
  Double3 force{};
};

/// Updates the sites of spans [begin, end). Any thread; no two may have the same span. Before a crossing step,
/// what the spans need of the halo must be there.
void update(Lattice& lattice, const Fluid& fluid, Phase phase, const Span* begin, const Span* end);

/// The same places read and written, in the same order, with no arithmetic: what memory alone would take.
void sweep_memory(Lattice& lattice, Phase phase, const Span* begin, const Span* end);

/// Density and velocity of a site from its populations (as differences from the weights); half the force
/// is counted in, as the scheme has it.
struct Moments {
  double density;
  Double3 velocity;
};
[[nodiscard]] Moments moments(const double (&f)[kVelocities], const Fluid& fluid);

/// Populations in equilibrium at that density (difference from 1) and velocity, as differences from the weights.
void equilibrium(double density, const Double3& velocity, double (&f)[kVelocities]);

}  // namespace plait::lbm
