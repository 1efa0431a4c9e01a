// The frame of a benchmark that runs in several processes: from main to the end of MPI.
#pragma once

#include <sched.h>
#ifdef _OPENMP
#include <omp.h>

#include <vector>
#endif

#include <functional>

#include "job.hpp"
#include "options.hpp"

namespace plait::bench {

/// How many processes a benchmark takes.
struct Needs {
  int least = 2, most = 2;
  bool even = false;

  void check(int processes) const;
};

constexpr int kAny = 1 << 30;

/// The processors that this process may use. Static, since only programs with OpenMP can ask OpenMP.
[[maybe_unused]] static cpu_set_t usable_processors() {
  cpu_set_t mine{};
  sched_getaffinity(0, sizeof mine, &mine);
#ifdef _OPENMP
  // OpenMP may have bound this thread to one of its places already.
  for (int place = 0; place < omp_get_num_places(); ++place) {
    std::vector<int> ids(static_cast<std::size_t>(omp_get_place_num_procs(place)));
    omp_get_place_proc_ids(place, ids.data());
    for (const int id : ids) CPU_SET(id, &mine);
  }
#endif
  return mine;
}

/// Starts MPI, reads the command line and runs the benchmark; the status that main returns.
int run(int argc, char** argv, CommandLine& line, const std::function<void(const Job&)>& benchmark, Needs needs = {},
        cpu_set_t (*usable)() = usable_processors);

}  // namespace plait::bench
