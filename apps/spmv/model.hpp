// A hybrid programming model: how the threads of a process share the exchange of the halo and the product.
#pragma once

#include <mpi.h>
#include <plait/subteam.h>

#include <memory>
#include <span>
#include <string_view>

#include "deck/stopwatch.hpp"
#include "matrix.hpp"

namespace plait::spmv {

/// Where the time of an iteration goes, in seconds, as the process's first thread sees it. Waiting for other threads counts to the part
/// that they are in.
struct PartTimes {
  double communication = 0;  ///< packing as well
  double inner = 0;          ///< rows that need no halo
  double outer = 0;          ///< rows that need it
  double total = 0;          ///< more than these where x is scaled
};

using deck::Stopwatch;

/// What a model works on. `reserved`: threads that communicate, and of reserved models do nothing else.
struct World {
  Matrix& matrix;
  const Team& team;
  int reserved;
};

class Model {
 public:
  explicit Model(const World& world) : world_(world) {}
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;
  virtual ~Model() = default;

  /// One iteration: the halo of x comes into its slots, and y becomes the product. Called by every thread of the team, which is together
  /// again at the end.
  virtual void step(double* x, double* y, int thread, PartTimes& times) = 0;

 protected:
  [[nodiscard]] const Team& team() const { return world_.team; }
  [[nodiscard]] Matrix& matrix() { return world_.matrix; }

 private:
  World world_;
};

/// One entry of the list of models.
struct ModelInfo {
  std::string_view name;
  int thread_level;  // what it needs of MPI_Init_thread
  bool threads;      // whether it uses more than one thread
  bool reserves;     // whether some threads do nothing but communicate, while others multiply
  std::string_view what;
  std::unique_ptr<Model> (*make)(const World&);
};

[[nodiscard]] std::span<const ModelInfo> models();
/// Throws Error for an unknown name, naming the known ones.
[[nodiscard]] const ModelInfo& find_model(std::string_view name);
/// World::reserved of a model with so many threads in a process. `asked`: the user's number, 0 for none. Throws Error.
[[nodiscard]] int reserved_threads(const ModelInfo& model, int threads, int asked);

std::unique_ptr<Model> make_masteronly(const World&);
std::unique_ptr<Model> make_funneled_reserved(const World&);
std::unique_ptr<Model> make_multiple_reserved(const World&);
std::unique_ptr<Model> make_funneled_balanced(const World&);
std::unique_ptr<Model> make_multiple_balanced(const World&);

}  // namespace plait::spmv
