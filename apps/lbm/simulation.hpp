// A running simulation: a lattice, the model that steps it, and what can be asked of its state.
#pragma once

#include <mpi.h>
#include <omp.h>

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "deck.hpp"
#include "deck/files.hpp"
#include "model.hpp"

namespace plait::lbm {

/// 128 bits over the populations of all fluid sites: equal exactly when every bit of the flow is equal (but for
/// an accident of 2^-128), whatever the number of processes and threads.
using Digest = std::array<std::uint64_t, 2>;
[[nodiscard]] std::string to_string(const Digest& digest);

using deck::mix;

class Simulation {
 public:
  /// Collective over comm, which stays the caller's. `folder` is the deck's. Reports as collectively() does.
  Simulation(const Deck& deck, const ModelInfo& model, const Int3& grid, int threads, const std::string& folder, MPI_Comm comm);

  [[nodiscard]] const Deck& deck() const { return deck_; }
  [[nodiscard]] const Lattice& lattice() const { return *lattice_; }
  [[nodiscard]] const Subdomain& box() const { return box_; }
  [[nodiscard]] const Fluid& fluid() const { return fluid_; }
  [[nodiscard]] MPI_Comm comm() const { return comm_; }
  [[nodiscard]] long step() const { return step_; }
  [[nodiscard]] long fluid_sites() const { return fluid_sites_; }
  [[nodiscard]] long halo_bytes() const { return halo_->bytes(); }

  /// Sets the populations from the deck's initial state.
  void initialize();
  /// Sets population i of the box's sites (x fastest) as they were at `step`.
  void restore(long step, int i, std::span<const double> values);

  /// Makes `steps` steps. Times of each are appended to times().
  void run(long steps);
  [[nodiscard]] const std::vector<StepTimes>& times() const { return times_; }

  /// Seconds that a step would take if it did no arithmetic: a local and a crossing sweep over the same memory by all
  /// processes and threads at once, the slowest process's time. Every sweep is made twice, which puts all back as it
  /// was, so the limit can be measured in turn with the steps. Collective.
  [[nodiscard]] double measure_limit();

  /// Looks at every population and reports, as collectively() does, if one is not finite. It takes about half a step, and no
  /// exchange. Collective.
  void require_finite();

  /// After this, population() may be called until the next run(). Collective.
  void settle();
  /// Population i of a site of the box (as a difference from its weight) at the current step.
  [[nodiscard]] double population(int i, int x, int y, int z) const { return lattice_->population(i, x, y, z, phase_); }
  [[nodiscard]] Moments site(int x, int y, int z) const;

  /// Means over all sites, walls counting as 0: of the velocity (the superficial velocity) and of the size of its
  /// components. The same bits however the lattice is cut. Reports, as collectively() does, if the flow is unstable: if a site has
  /// no density, or is faster than 1. Collective; settles.
  struct Means {
    Double3 velocity;
    double size;
  };
  [[nodiscard]] Means means();
  /// Collective; settles.
  [[nodiscard]] Digest digest();
  /// Over the kinds of all sites, with the velocities of those that are walls: tells one geometry from another. Collective.
  [[nodiscard]] std::uint64_t geometry_digest() const;

 private:
  template <class Work>
  void for_each_fluid(Work&& work) const;
  /// Reports if the walls' motion adds mass to the fluid or takes it away. It does neither if each moving body has fluid all
  /// around; what touches another wall lacks the side that would take back what the others give. Collective.
  void require_kept_mass() const;
  [[noreturn]] void fail_unstable();

  Deck deck_;
  MPI_Comm comm_;
  Subdomain box_;
  Fluid fluid_;
  int threads_;
  std::unique_ptr<Lattice> lattice_;
  std::unique_ptr<Halo> halo_;
  std::unique_ptr<Model> model_;
  std::vector<StepTimes> times_;
  long step_ = 0;
  long fluid_sites_ = 0;
  Phase phase_ = Phase::local;
  bool in_place_ = true;  // the exchange before the next step has been made, or is not needed
};

}  // namespace plait::lbm
