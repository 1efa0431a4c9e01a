#include "simulation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>
#include <limits>

#include "error.hpp"
#include "messages.hpp"

namespace plait::lbm {
namespace {

std::uint64_t global_index(const Subdomain& box, int x, int y, int z) {
  return (box.offset[0] + x) + static_cast<std::uint64_t>(box.global[0]) *
                                   ((box.offset[1] + y) + static_cast<std::uint64_t>(box.global[1]) * (box.offset[2] + z));
}

/// A sum of numbers of at most 1 in size that does not depend on their order: whole multiples of 2^-60, in two halves, which hold
/// 2^34 numbers. Processes' sums may be added half by half, with a carry() at the end.
struct ExactSum {
  std::int64_t high = 0, low = 0;
  void add(double v) {
    const auto q = static_cast<std::int64_t>(std::llrint(v * 0x1p60));
    high += q >> 32;
    low += q & 0xffffffff;
    carry();
  }
  /// The same value, written in one way only.
  void carry() {
    high += low >> 32;
    low &= 0xffffffff;
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
  const auto allocate = [&](std::size_t bytes) { return model.shared ? Places::shared(bytes, comm) : Places::own(bytes); };
  collectively(comm, [&] {
    lattice_ = std::make_unique<Lattice>(box_, std::move(solids), threads, allocate);
    halo_ = std::make_unique<Halo>(*lattice_);
  });
  long mine = lattice_->fluid_sites();
  MPI_Allreduce(&mine, &fluid_sites_, 1, MPI_LONG, MPI_SUM, comm);
  collectively(comm, [&] {
    if (fluid_sites_ == 0 && rank == 0) throw Error("the geometry leaves no fluid: every site is solid");
  });
  require_kept_mass();
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

void Simulation::require_kept_mass() const {
  const auto& walls = lattice_->solids().walls;
  if (std::all_of(walls.begin(), walls.end(), [](const Double3& u) { return u == Double3{}; })) return;
  // What walls push into the fluid in a step. Around a closed body as many links leave in one direction as in the opposite
  // one, with the opposite number, so the exact sum is exactly nothing.
  ExactSum mine, all;
  for_each_fluid([&](int x, int y, int z) {
    for (int i = 1; i < kVelocities; ++i) {
      const auto& c = kVelocity[i];
      const int kind = lattice_->kinds()[lattice_->index(x - c[0], y - c[1], z - c[2])];
      if (!kind) continue;
      const Double3& u = walls[kind - 1];
      mine.add(6 * weight(i) * (c[0] * u[0] + c[1] * u[1] + c[2] * u[2]));
    }
  });
  static_assert(sizeof mine == 2 * sizeof(std::int64_t));
  MPI_Allreduce(&mine, &all, 2, MPI_INT64_T, MPI_SUM, comm_);
  all.carry();
  const double gain = all.value();
  collectively(comm_, [&] {
    if (gain == 0) return;
    throw Error(
        fmt::format("the moving walls would {} {:.3g} of mass in every step, since one of them touches another wall: move them apart, "
                    "or give them the same velocity",
                    gain > 0 ? "add" : "take", std::abs(gain)));
  });
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

void Simulation::require_finite() {
  constexpr std::uint64_t kExponent = 0x7ffULL << 52;  // all ones: infinite, or not a number
  int mine = 0, all = 0;
#pragma omp parallel num_threads(threads_) reduction(| : mine)
  {
    const auto [begin, end] = lattice_->all().part(omp_get_thread_num(), threads_);
    for (const Span* s = begin; s != end; ++s) {
      for (int i = 0; i < kVelocities; ++i) {
        const double* place = lattice_->places(i) + lattice_->index(0, s->y, s->z);
        for (int x = 0; x < box_.size[0]; ++x) mine |= (std::bit_cast<std::uint64_t>(place[x]) & kExponent) == kExponent;
      }
    }
  }
  MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MAX, comm_);
  if (all) fail_unstable();
}

void Simulation::fail_unstable() {
  collectively(comm_, [&] {
    throw Error(
        fmt::format("the flow became unstable: at step {} it has speeds or densities out of all bounds; use a larger viscosity, or a "
                    "smaller force and smaller velocities",
                    step_));
  });
  throw Quit{};
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
  // What each process sends: the sums, and whether a site has left the bounds.
  struct Sums {
    ExactSum velocity[3], size;
    std::int64_t unstable = 0;
  } mine, all;
  for_each_fluid([&](int x, int y, int z) {
    const Moments m = site(x, y, z);
    // Written so that it holds for what is not a number. Nothing below a speed of 1 comes from beyond it again.
    bool stable = m.density > 0 && m.density < std::numeric_limits<double>::infinity();
    for (int d = 0; d < 3; ++d) stable = stable && std::abs(m.velocity[d]) <= 1;
    if (!stable) {
      mine.unstable = 1;
      return;
    }
    for (int d = 0; d < 3; ++d) {
      mine.velocity[d].add(m.velocity[d]);
      mine.size.add(std::abs(m.velocity[d]));
    }
  });
  static_assert(sizeof mine == 9 * sizeof(std::int64_t));
  MPI_Allreduce(&mine, &all, 9, MPI_INT64_T, MPI_SUM, comm_);
  if (all.unstable) fail_unstable();
  for (ExactSum* sum : {&all.velocity[0], &all.velocity[1], &all.velocity[2], &all.size}) sum->carry();
  const double sites = 1.0 * box_.global[0] * box_.global[1] * box_.global[2];
  return {{all.velocity[0].value() / sites, all.velocity[1].value() / sites, all.velocity[2].value() / sites}, all.size.value() / sites};
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
  // What a wall's velocity adds to the site's number: by value, since the order of the list is no part of the geometry.
  std::vector<std::uint64_t> of_wall;
  for (const Double3& u : lattice_->solids().walls) {
    std::uint64_t h = 1;
    for (const double v : u) h = mix(h + std::bit_cast<std::uint64_t>(v + 0.0));  // -0 is 0
    of_wall.push_back(h);
  }
  const auto add = [&](int x, int y, int z) {
    const std::uint8_t kind = lattice_->kinds()[lattice_->index(x, y, z)];
    mine += mix(global_index(box_, x, y, z) + 1 + (kind ? of_wall[kind - 1] : 0));
  };
  for (int z = 0; z < box_.size[2]; ++z) {
    for (int y = 0; y < box_.size[1]; ++y) {
      for (int x = 0; x < box_.size[0]; ++x) add(x, y, z);
    }
  }
  MPI_Allreduce(&mine, &all, 1, MPI_UINT64_T, MPI_SUM, comm_);
  return all;
}

}  // namespace plait::lbm
