#include "model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "error.hpp"

namespace plait::spmv {

std::span<const ModelInfo> models() {
  static constexpr std::array kModels{
      // Of one thread masteronly is pure MPI.
      ModelInfo{"pure-mpi", MPI_THREAD_SINGLE, false, false, "a process per core, no threads", make_masteronly},
      ModelInfo{"masteronly", MPI_THREAD_FUNNELED, true, false, "one thread communicates while the others wait", make_masteronly},
      ModelInfo{"funneled-reserved", MPI_THREAD_FUNNELED, true, true, "one thread communicates while the others multiply",
                make_funneled_reserved},
      ModelInfo{"multiple-reserved", MPI_THREAD_MULTIPLE, true, true, "some threads communicate while the others multiply",
                make_multiple_reserved},
      ModelInfo{"funneled-balanced", MPI_THREAD_FUNNELED, true, false, "one thread communicates, and multiplies as much less",
                make_funneled_balanced},
      ModelInfo{"multiple-balanced", MPI_THREAD_MULTIPLE, true, false, "each thread communicates, and multiplies as much less",
                make_multiple_balanced},
  };
  return kModels;
}

const ModelInfo& find_model(std::string_view name) {
  std::string known;
  for (const auto& m : models()) {
    if (m.name == name) return m;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", m.name);
  }
  throw Error(fmt::format("--model {}: unknown; there are {}", name, known));
}

int reserved_threads(const ModelInfo& model, int threads, int asked) {
  const bool all = model.make == make_multiple_balanced, some = model.make == make_multiple_reserved;
  if (!model.threads && threads > 1) {
    throw Error(fmt::format("model {} uses one thread a process, but OMP_NUM_THREADS is {}; set it to 1 or choose another model",
                            model.name, threads));
  }
  if (!model.reserves) {
    if (!asked) return all ? threads : 1;
    throw Error(fmt::format("--reserved is for the models funneled-reserved and multiple-reserved, and the model is {}", model.name));
  }
  if (threads < 2) {
    throw Error(fmt::format("model {} needs at least 2 threads a process, and there is 1; set OMP_NUM_THREADS or choose another model",
                            model.name));
  }
  if (asked >= threads) {
    throw Error(fmt::format("--reserved {}: must be at least 1 and below the number of threads of a process, which is {}", asked, threads));
  }
  return asked ? asked : some ? std::max(1, threads / 2) : 1;
}

}  // namespace plait::spmv
