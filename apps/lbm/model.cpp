#include "model.hpp"

#include <fmt/format.h>

#include <array>

#include "error.hpp"
#include "messages.hpp"

namespace plait::lbm {

void Model::exchange_halo(Messages& messages, Phase phase, StepTimes& times, Stopwatch& watch) {
  messages.pack(before(phase));
  watch.lap(times.pack);
  messages.start();
  messages.wait();
  watch.lap(times.wait);
  messages.unpack(before(phase));
  watch.lap(times.unpack);
}

std::span<const ModelInfo> models() {
  static constexpr std::array kModels{
      ModelInfo{"pure-mpi", MPI_THREAD_SINGLE, false, false, false, "a process per core, no threads", make_pure_mpi},
      ModelInfo{"masteronly", MPI_THREAD_FUNNELED, true, false, false, "one thread communicates while the others wait", make_masteronly},
      ModelInfo{"funneled-reserved", MPI_THREAD_FUNNELED, true, true, false,
                "one thread does nothing but communicate while the others update the interior", make_funneled_reserved},
      ModelInfo{"funneled-balanced", MPI_THREAD_FUNNELED, true, false, false,
                "the same, and it takes so much of the interior that all finish together (also: funneled)", make_funneled_balanced},
      ModelInfo{"multiple", MPI_THREAD_MULTIPLE, true, false, false, "each thread exchanges its share on its own communicator",
                make_multiple},
      ModelInfo{"multiple-reserved", MPI_THREAD_MULTIPLE, true, true, false,
                "half of the threads do so and nothing else while the others update the interior", make_multiple_reserved},
      ModelInfo{"multiple-balanced", MPI_THREAD_MULTIPLE, true, false, false,
                "each thread does so, and updates so much of the interior that all finish together", make_multiple_balanced},
      ModelInfo{"partitioned", MPI_THREAD_MULTIPLE, true, false, false, "threads add their shares to one message for each face",
                make_partitioned},
      ModelInfo{"gaspi", MPI_THREAD_MULTIPLE, true, false, false, "each thread writes its shares into its neighbours' segments",
                make_gaspi},
      ModelInfo{"gaspi-shared", MPI_THREAD_MULTIPLE, true, false, true, "neighbours on a node are read where they lie", make_gaspi_shared},
      // main.cpp makes the threads ranks.
      ModelInfo{"threadcomm", MPI_THREAD_SINGLE, true, false, false, "each thread is a rank, with a box of its own, as in pure-mpi",
                make_pure_mpi},
  };
  return kModels;
}

const ModelInfo& find_model(std::string_view name) {
  if (name == "funneled") name = "funneled-balanced";
  std::string known;
  for (const auto& m : models()) {
    if (m.name == name) return m;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", m.name);
  }
  throw Error(fmt::format("--model {}: unknown; there are {}", name, known));
}

}  // namespace plait::lbm
