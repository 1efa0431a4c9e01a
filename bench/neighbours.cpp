// bench-neighbours: what a job of many processes costs of which each talks to six others, as in a grid of three dimensions.
//
//   start_up   from the start of the first process until all have met after MPI_Init
//   exchange   a message to each neighbour and one from each
//   memory     of a process afterwards: resident, what is shared divided by those who share it (Pss); the mean of all
//
// This program is not linked with libplait. Its one side is `mpi`, and where libplait is preloaded `carried`: run that with
// PLAIT_COMMUNICATORS=all. Contents are compared in each exchange.
#include "neighbours.hpp"

#include <fmt/core.h>
#include <mpi.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>
#include <sstream>

#include "common.hpp"
#include "native.hpp"

namespace plait::bench {
namespace {

/// Seconds since this process was started, in steps of the system's clock tick, 10 ms.
double age() {
  const std::string all = from_proc("/proc/self/stat", "");
  std::istringstream fields(all.substr(all.rfind(')') + 1));  // the name before may have anything in it
  constexpr int kBefore = 19;                                 // of the fields behind it, before the time of its start
  std::string skipped;
  for (int i = 0; i < kBefore; ++i) fields >> skipped;
  double start = 0;
  fields >> start;
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec) - start / static_cast<double>(sysconf(_SC_CLK_TCK));
}

/// As the oldest process has it. Collective.
double age_of_job() {
  double mine = age(), oldest = 0;
  MPI_Allreduce(&mine, &oldest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return oldest;
}

/// The mean over all processes, in bytes; 0 where the system does not tell. Collective.
double memory(const Job& job) {
  const std::string mine = from_proc("/proc/self/smaps_rollup", "Pss:");
  const std::int64_t kilobytes = mine.empty() ? 0 : std::stoll(mine);
  return 1024.0 * static_cast<double>(Job::sum(kilobytes)) / job.processes;
}

void benchmark(const Job& job, const Options& o) {
  const double started = age_of_job();
  if (native::asked()) need_carrying();
  o.check_sizes();
  const std::string name = native::asked() ? "carried" : "mpi";
  Report report("neighbours", job, o, 1);
  const auto once = [&](const char* quantity, const char* unit, double value) {
    report.add(quantity, unit, {}, {name, 1, {}}, {value});
    if (report.prints()) fmt::print("{:<16} {:<16} {:>14.6g} {}\n", quantity, name, value, unit);
  };
  once("start_up", "s", started);
  Neighbours neighbours(MPI_COMM_WORLD, false);
  for (const std::size_t bytes : o.sizes) {
    std::vector<Side> sides{neighbours.side(name, bytes)};
    measure(sides, o.time, o.rounds);
    report.add("exchange", {{"bytes", bytes}}, sides);
  }
  if (const double each = memory(job); each > 0) {
    once("memory", "B", each);
  } else {
    report.skip("memory", "the system does not tell it");
  }
  report.write();
}

}  // namespace
}  // namespace plait::bench

int main(int argc, char** argv) {
  plait::bench::Options o;
  o.time = 0.02;
  o.sizes = {8, 4096, 65536};
  plait::bench::CommandLine line("Start-up, exchange with six neighbours and memory of many processes", "bench-neighbours");
  o.describe_sizes(line, "Bytes in a message, multiples of 8");
  o.describe(line);
  return plait::bench::run(argc, argv, line, [&](const plait::bench::Job& job) { plait::bench::benchmark(job, o); },
                           {1, plait::bench::kAny});
}
