// The processes of a benchmark, their nodes and their cores.
#pragma once

#include <mpi.h>
#include <sched.h>

#include <cstdint>
#include <string>

#include "error.hpp"

namespace plait::bench {

/// The first line of that file in /proc which starts so, after its colon; the first line of all for an empty start.
std::string from_proc(const char* file, const std::string& start);

/// The processes that take part and the cores that they have.
struct Job {
  int rank = 0, processes = 1, level = MPI_THREAD_SINGLE;
  int nodes = 1;            ///< groups of processes that can share memory
  bool one_node = true;     ///< there is one such group
  bool one_machine = true;  ///< all processes share cores, also from several simulated nodes
  int cores = 1;            ///< that all processes on this machine may use together
  int cores_here = 1;       ///< that this process may use: a launcher may bind each to its own

  /// `usable`: the processors that this process may use. Collective.
  static Job find(cpu_set_t usable);

  /// Whether so many spinning threads in each process have a core each.
  [[nodiscard]] bool room_for(int threads) const { return threads <= cores_here && threads * (one_machine ? processes : 1) <= cores; }

  /// As process 0 has it. Collective.
  [[nodiscard]] static double agreed(double value);

  /// The sum over all processes. Collective.
  [[nodiscard]] static std::int64_t sum(std::int64_t value);
};

/// Throws where plait does not carry ordinary communicators.
void need_carrying();

/// All processes learn whether a message had wrong contents. Collective.
void insist(std::int64_t wrong, const std::string& side);

}  // namespace plait::bench
