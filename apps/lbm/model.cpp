#include "model.hpp"

#include <fmt/format.h>

#include <array>

#include "error.hpp"

namespace plait::lbm {

std::span<const ModelInfo> models() {
  static constexpr std::array kModels{
      ModelInfo{"pure-mpi", MPI_THREAD_SINGLE, false, "a process per core, no threads", make_pure_mpi},
      ModelInfo{"masteronly", MPI_THREAD_FUNNELED, true, "one thread communicates while the others wait", make_masteronly},
      ModelInfo{"funneled", MPI_THREAD_FUNNELED, true, "one thread communicates while the others update the interior", make_funneled},
      ModelInfo{"multiple", MPI_THREAD_MULTIPLE, true, "each thread exchanges its share on its own communicator", make_multiple},
      ModelInfo{"partitioned", MPI_THREAD_MULTIPLE, true, "threads add their shares to one message for each face", make_partitioned},
      // main.cpp makes the threads ranks.
      ModelInfo{"threadcomm", MPI_THREAD_SINGLE, true, "each thread is a rank, with a box of its own, as in pure-mpi", make_pure_mpi},
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

}  // namespace plait::lbm
