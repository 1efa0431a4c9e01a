// bench-orthogonal: what a node sends to the next one and the previous, by one process with threads (hybrid) or by a process per core (pure
// MPI). After Rabenseifner's experiment: orthogonal parallel communication.
//
// The processes are split into nodes evenly, in order of rank. Sizes are those of a message of pure MPI; a node sends as many
// messages' worth as it has threads in all its processes, so that both sides send as much:
//
//   vertical     each process exchanges with its counterparts on the next and the previous node, as many bytes as its threads have
//   horizontal   pure MPI only: each also exchanges as much with both neighbours in its node, where threads share memory
//   exchange     both
//
// The threads write what is sent and read what was received within the time. Of threads, masteronly has the first one communicate, multiple
// each with its own message, streams on a stream of its own, and partitioned has each ready its part of one message: mixed.hpp.
#include <fmt/core.h>

#include "exchange.hpp"

namespace plait::bench {
namespace {

struct OrthogonalOptions : MixedOptions {
  int nodes = 2;
};

Phase with(int one, int other) { return {{one, other}, {other, one}}; }

void benchmark(const Job& job, const OrthogonalOptions& o) {
  if (job.processes % o.nodes != 0) throw Error(fmt::format("{} processes cannot be split evenly into {} nodes", job.processes, o.nodes));
  o.check_sizes();
  std::vector<NamedMode> modes;
  Report report("orthogonal", job, o, o.threads);
  for (const NamedMode& m : kModes) {
    if (o.threads == 1 || !o.wants(m.name) || m.mode == Mode::funneled || m.mode == Mode::threadcomm) continue;
    if (const std::string why = why_not(m.mode, job); !why.empty()) {
      report.skip(m.name, why);
    } else {
      modes.push_back(m);
    }
  }
  if (o.threads == 1) modes.push_back({Mode::masteronly, "pure-mpi"});
  if (modes.empty()) throw Error("--only: no side has such a name");

  const int each = job.processes / o.nodes, node = job.rank / each, seat = job.rank % each;
  const auto at = [&](int n, int s) { return (n + o.nodes) % o.nodes * each + (s + each) % each; };
  const Phase vertical = with(at(node + 1, seat), at(node - 1, seat)), horizontal = with(at(node, seat + 1), at(node, seat - 1));
  const Team team(job, o.threads);
  const auto measure_plan = [&](const char* quantity, const Plan& plan, std::size_t bytes) {
    std::vector<Side> sides;
    sides.reserve(modes.size());
    for (const NamedMode& m : modes) sides.push_back({m.name, 1, exchange(team, plan, m, bytes)});
    measure(sides, o.time, o.rounds);
    report.add(quantity, {{"bytes", bytes}}, sides);
  };
  for (const std::size_t n : o.sizes) {
    if (each == 1) {
      measure_plan("exchange", {vertical}, n);
      continue;
    }
    measure_plan("exchange", {vertical, horizontal}, n);
    measure_plan("vertical", {vertical}, n);
    measure_plan("horizontal", {horizontal}, n);
  }
  report.write();
}

}  // namespace
}  // namespace plait::bench

int main(int argc, char** argv) {
  plait::bench::OrthogonalOptions o;
  o.threads = 1;
  plait::bench::CommandLine line("Threads against processes between nodes: orthogonal parallel communication", "bench-orthogonal");
  line.number("--nodes", o.nodes, "Nodes that the processes are split into", 2, 1 << 20);
  o.describe_mixed(line);
  return plait::bench::run(argc, argv, line, [&](const plait::bench::Job& job) { plait::bench::benchmark(job, o); },
                           {2, plait::bench::kAny});
}
