// A hybrid programming model: how the threads of a process share the exchange of the halo and the update.
// One file per model, or per mechanism that several share; model.cpp lists them.
#pragma once

#include <mpi.h>

#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "halo.hpp"
#include "kernel.hpp"

namespace plait::lbm {

/// Where the time of a step goes, in seconds, as the process's first thread sees it. Waiting for other
/// threads counts to the part that they are in.
struct StepTimes {
  double compute = 0, pack = 0, wait = 0, unpack = 0;
  [[nodiscard]] double halo() const { return pack + wait + unpack; }
  [[nodiscard]] double total() const { return compute + halo(); }
};

/// Adds the time since the last lap to a part.
class Stopwatch {
 public:
  using Clock = std::chrono::steady_clock;
  double lap(double& part) {
    const auto now = Clock::now();
    const double seconds = std::chrono::duration<double>(now - last_).count();
    last_ = now;
    part += seconds;
    return seconds;
  }

 private:
  Clock::time_point last_ = Clock::now();
};

/// What a model works on. The communicator is the application's own.
struct World {
  Lattice& lattice;
  Halo& halo;
  Fluid fluid;
  MPI_Comm comm;
  int threads;
};

class Messages;

class Model {
 public:
  explicit Model(const World& world) : world_(world) {}
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;
  virtual ~Model() = default;

  /// One step: the exchange before it (unless the halo is in place already), then the update. Called by every
  /// thread of an OpenMP team of world.threads; the team is together again at the end.
  virtual void step(Phase phase, bool exchange, int thread, StepTimes& times) = 0;

 protected:
  /// Updates this thread's share of all sites; the team is together at the end.
  void update_all(Phase phase, int thread) {
    update_part(world_.lattice.all(), phase, thread);
#pragma omp barrier
  }

  /// In two parts, of which the second is for after the exchange; the team is together at the end of that. Where x is shared, the
  /// boundary has both ends of every row, and to come back for them takes longer than the exchange: then all is in the second part.
  void update_interior(Phase phase, int thread) {
    if (!x_shared()) update_part(world_.lattice.interior(), phase, thread);
  }
  void update_boundary(Phase phase, int thread) {
    update_part(x_shared() ? world_.lattice.all() : world_.lattice.boundary(), phase, thread);
#pragma omp barrier
  }

  /// The calling thread's messages, from packing to unpacking.
  static void exchange_halo(Messages& messages, Phase phase, StepTimes& times, Stopwatch& watch);

  World world_;

 private:
  [[nodiscard]] bool x_shared() const { return world_.lattice.box().divided(0); }
  void update_part(const Spans& spans, Phase phase, int thread) {
    const auto [begin, end] = spans.part(thread, world_.threads);
    update(world_.lattice, world_.fluid, phase, begin, end);
  }
};

/// One entry of the list of models.
struct ModelInfo {
  std::string_view name;
  int thread_level;  // what it needs of MPI_Init_thread
  bool threads;      // whether it uses more than one thread
  bool reserved;     // whether it keeps threads for communication alone, and so needs more than one
  bool shared;       // whether processes of a node read each other's places where they lie
  std::string_view what;
  std::unique_ptr<Model> (*make)(const World&);
};

[[nodiscard]] std::span<const ModelInfo> models();
/// `funneled` is another name of funneled-balanced. Throws Error for an unknown name, naming the known ones.
[[nodiscard]] const ModelInfo& find_model(std::string_view name);

std::unique_ptr<Model> make_pure_mpi(const World&);
std::unique_ptr<Model> make_masteronly(const World&);
std::unique_ptr<Model> make_funneled_reserved(const World&);
std::unique_ptr<Model> make_funneled_balanced(const World&);
std::unique_ptr<Model> make_multiple(const World&);
std::unique_ptr<Model> make_multiple_reserved(const World&);
std::unique_ptr<Model> make_multiple_balanced(const World&);
std::unique_ptr<Model> make_partitioned(const World&);
std::unique_ptr<Model> make_gaspi(const World&);
std::unique_ptr<Model> make_gaspi_shared(const World&);

}  // namespace plait::lbm
