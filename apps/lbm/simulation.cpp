#include "simulation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>

#include "error.hpp"
#include "messages.hpp"

namespace plait::lbm {
namespace {

/// A bijection that spreads every bit over the word (the finalizer of SplitMix64).
std::uint64_t mix(std::uint64_t v) {
  v = (v ^ (v >> 30)) * 0xbf58476d1ce4e5b9ULL;
  v = (v ^ (v >> 27)) * 0x94d049bb133111ebULL;
  return v ^ (v >> 31);
}

std::uint64_t global_index(const Subdomain& box, int x, int y, int z) {
  return (box.offset[0] + x) + static_cast<std::uint64_t>(box.global[0]) *
                                   ((box.offset[1] + y) + static_cast<std::uint64_t>(box.global[1]) * (box.offset[2] + z));
}

/// A sum of numbers below 1 in size that does not depend on their order: whole multiples of 2^-60, in two
/// halves that cannot overflow for fewer than 2^31 numbers.
struct ExactSum {
  std::int64_t high = 0, low = 0;
  void add(double v) {
    const auto q = static_cast<std::int64_t>(std::llrint(v * 0x1p60));
    high += q >> 32;
    low += q & 0xffffffff;
  }
  [[nodiscard]] double value() const { return static_cast<double>(high) * 0x1p-28 + static_cast<double>(low) * 0x1p-60; }
};

/// Taylor-Green vortices in x and y, with the pressure and the viscous stress that belong to them.
void taylor_green(const Deck& deck, double px, double py, double (&f)[kVelocities]) {
  const double kx = 2 * M_PI / deck.size[0], ky = 2 * M_PI / deck.size[1], u0 = deck.taylor_green;
  const double x = kx * px, y = ky * py;
  const Double3 u{-u0 * std::sqrt(ky / kx) * std::cos(x) * std::sin(y), u0 * std::sqrt(kx / ky) * std::sin(x) * std::cos(y), 0};
  const double pressure = -0.25 * u0 * u0 * ((ky / kx) * std::cos(2 * x) + (kx / ky) * std::cos(2 * y));
  equilibrium(3 * pressure, u, f);
  const double dxux = u0 * std::sqrt(ky / kx) * kx * std::sin(x) * std::sin(y);
  const double dyuy = -u0 * std::sqrt(kx / ky) * ky * std::sin(x) * std::sin(y);
  const double dyux = -u0 * std::sqrt(ky / kx) * ky * std::cos(x) * std::cos(y);
  const double dxuy = u0 * std::sqrt(kx / ky) * kx * std::cos(x) * std::cos(y);
  const double tau = 3 * deck.viscosity + 0.5;
  for (int i = 0; i < kVelocities; ++i) {
    const auto& c = kVelocity[i];
    f[i] -= weight(i) * 3 * tau * (c[0] * c[0] * dxux + c[1] * c[1] * dyuy + c[0] * c[1] * (dyux + dxuy));
  }
}

}  // namespace

std::string to_string(const Digest& digest) { return fmt::format("{:016x}{:016x}", digest[0], digest[1]); }

Simulation::Simulation(const Deck& deck, const ModelInfo& model, const Int3& grid, int threads, const std::string& folder, MPI_Comm comm)
    : deck_(deck), comm_(comm), fluid_{deck.viscosity, deck.force}, threads_(threads) {
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  box_ = subdomain(deck, grid, rank);
  Solids solids = make_solids(deck, box_, folder, comm);
  collectively(comm, [&] {
    lattice_ = std::make_unique<Lattice>(box_, std::move(solids), threads);
    halo_ = std::make_unique<Halo>(*lattice_);
  });
  long mine = lattice_->fluid_sites();
  MPI_Allreduce(&mine, &fluid_sites_, 1, MPI_LONG, MPI_SUM, comm);
  collectively(comm, [&] {
    if (fluid_sites_ == 0 && rank == 0) throw Error("the geometry leaves no fluid: every site is solid");
  });
  model_ = model.make(World{*lattice_, *halo_, fluid_, comm, threads});
}

template <class Work>
void Simulation::for_each_fluid(Work&& work) const {
  for (int z = 0; z < box_.size[2]; ++z) {
    for (int y = 0; y < box_.size[1]; ++y) {
      for (int x = 0; x < box_.size[0]; ++x) {
        if (lattice_->fluid(x, y, z)) work(x, y, z);
      }
    }
  }
}

void Simulation::restore(long step, int i, std::span<const double> values) {
  step_ = step;
  phase_ = Phase::local;
  in_place_ = true;
  auto value = values.begin();
  for (int z = 0; z < box_.size[2]; ++z) {
    for (int y = 0; y < box_.size[1]; ++y) {
      std::copy_n(value, box_.size[0], lattice_->places(i) + lattice_->index(0, y, z));
      value += box_.size[0];
    }
  }
}

void Simulation::initialize() {
  step_ = 0;
  phase_ = Phase::local;
  in_place_ = true;
  for_each_fluid([&](int x, int y, int z) {
    double f[kVelocities]{};  // at rest, with the density 1
    if (deck_.taylor_green > 0) taylor_green(deck_, box_.offset[0] + x + 0.5, box_.offset[1] + y + 0.5, f);
    for (int i = 0; i < kVelocities; ++i) lattice_->places(i)[lattice_->index(x, y, z)] = f[i];
  });
}

void Simulation::run(long steps) {
  const std::size_t first = times_.size();
  times_.resize(first + static_cast<std::size_t>(steps));
#pragma omp parallel num_threads(threads_)
  {
    const int thread = omp_get_thread_num();
    Phase phase = phase_;
    bool exchange = !in_place_;
    StepTimes others;
    for (long k = 0; k < steps; ++k) {
      model_->step(phase, exchange, thread, thread == 0 ? times_[first + static_cast<std::size_t>(k)] : others);
      phase = next(phase);
      exchange = true;
    }
  }
  if (steps == 0) return;
  if (steps % 2) phase_ = next(phase_);
  in_place_ = false;
  step_ += steps;
}

void Simulation::settle() {
  if (in_place_) return;
  Messages messages(*halo_, comm_);
  messages.pack(before(phase_));
  messages.start();
  messages.wait();
  messages.unpack(before(phase_));
  in_place_ = true;
}

double Simulation::measure_limit() {
  static constexpr Phase kSweeps[] = {Phase::local, Phase::local, Phase::crossing, Phase::crossing};
  MPI_Barrier(comm_);
  const double start = MPI_Wtime();
#pragma omp parallel num_threads(threads_)
  {
    const auto [begin, end] = lattice_->all().part(omp_get_thread_num(), threads_);
    for (const Phase phase : kSweeps) {
      sweep_memory(*lattice_, phase, begin, end);
#pragma omp barrier
    }
  }
  double mine = (MPI_Wtime() - start) / std::size(kSweeps), slowest = 0;
  MPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, comm_);
  return slowest;
}

Moments Simulation::site(int x, int y, int z) const {
  double f[kVelocities];
  for (int i = 0; i < kVelocities; ++i) f[i] = population(i, x, y, z);
  return moments(f, fluid_);
}

Simulation::Means Simulation::means() {
  settle();
  ExactSum mine[4], all[4];
  for_each_fluid([&](int x, int y, int z) {
    const Double3 u = site(x, y, z).velocity;
    for (int d = 0; d < 3; ++d) {
      mine[d].add(u[d]);
      mine[3].add(std::abs(u[d]));
    }
  });
  static_assert(sizeof mine == 8 * sizeof(std::int64_t));
  MPI_Allreduce(mine, all, 8, MPI_INT64_T, MPI_SUM, comm_);
  const double sites = 1.0 * box_.global[0] * box_.global[1] * box_.global[2];
  return {{all[0].value() / sites, all[1].value() / sites, all[2].value() / sites}, all[3].value() / sites};
}

Digest Simulation::digest() {
  settle();
  Digest mine{}, all{};
  for_each_fluid([&](int x, int y, int z) {
    std::uint64_t a = mix(global_index(box_, x, y, z) + 1), b = mix(~a);
    for (int i = 0; i < kVelocities; ++i) {
      const auto bits = std::bit_cast<std::uint64_t>(population(i, x, y, z));
      a = mix(a + bits);
      b = mix(b ^ bits);
    }
    mine[0] += a;
    mine[1] += b;
  });
  MPI_Allreduce(mine.data(), all.data(), 2, MPI_UINT64_T, MPI_SUM, comm_);
  return all;
}

std::uint64_t Simulation::geometry_digest() const {
  std::uint64_t mine = 0, all = 0;
  for_each_fluid([&](int x, int y, int z) { mine += mix(global_index(box_, x, y, z) + 1); });
  MPI_Allreduce(&mine, &all, 1, MPI_UINT64_T, MPI_SUM, comm_);
  return all;
}

}  // namespace plait::lbm
