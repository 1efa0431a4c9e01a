#include "model.hpp"

#include <fmt/format.h>

#include <array>

#include "error.hpp"

namespace plait::lbm {

std::span<const ModelInfo> models() {
  static constexpr std::array kModels{
      ModelInfo{"pure-mpi", MPI_THREAD_SINGLE, false, false, "a process per core, no threads", make_pure_mpi},
      ModelInfo{"masteronly", MPI_THREAD_FUNNELED, true, false, "one thread communicates while the others wait", make_masteronly},
      ModelInfo{"funneled", MPI_THREAD_FUNNELED, true, false, "one thread communicates while the others update the interior",
                make_funneled},
      ModelInfo{"multiple", MPI_THREAD_MULTIPLE, true, false, "each thread exchanges its share on its own communicator", make_multiple},
      ModelInfo{"partitioned", MPI_THREAD_MULTIPLE, true, false, "threads add their shares to one message for each face", make_partitioned},
      ModelInfo{"gaspi", MPI_THREAD_MULTIPLE, true, false, "each thread writes its shares into its neighbours' segments", make_gaspi},
      ModelInfo{"gaspi-shared", MPI_THREAD_MULTIPLE, true, true, "neighbours on a node are read where they lie", make_gaspi_shared},
      // main.cpp makes the threads ranks.
      ModelInfo{"threadcomm", MPI_THREAD_SINGLE, true, false, "each thread is a rank, with a box of its own, as in pure-mpi",
                make_pure_mpi},
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
