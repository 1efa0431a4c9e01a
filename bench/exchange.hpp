// The point-to-point benchmarks of the mixed-mode set: who sends to whom in which order is theirs (see Plan), how the threads of
// a process do that is in exchange.cpp.
//
//   phase   messages that a process sends and receives at the same time, each of threads x bytes. The threads write the messages
//           before and read those received after
//   repeat  all phases, one after the other
#pragma once

#include <functional>
#include <vector>

#include "mixed.hpp"
#include "program.hpp"

namespace plait::bench {

struct Phase {
  std::vector<int> to, from;  ///< processes; message k to a process meets message k from there
};

using Plan = std::vector<Phase>;  ///< one process's; empty for one that only watches

/// Seconds of so many repeats of a plan, with messages of `bytes` for each thread, in one mode; contents are checked. It is kept for no
/// longer than the team and the plan. What it gives is called by all processes.
std::function<double(std::int64_t repeats)> exchange(const Team& team, const Plan& plan, const NamedMode& mode, std::size_t bytes);

/// The whole of such a benchmark: plan(rank, processes) is one process's. Gives what main returns.
int run_exchange(int argc, char** argv, const char* name, const char* what, Needs needs, Plan (*plan)(int rank, int processes));

}  // namespace plait::bench
