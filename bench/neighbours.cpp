// bench-neighbours: what a job of many processes costs of which each talks to six others, as in a grid of three dimensions.
//
//   start_up   from the start of the first process until all have met after MPI_Init
//   exchange   a message to each neighbour and one from each
//   memory     of a process afterwards: resident, what is shared divided by those who share it (Pss); the mean of all
//
// This program is not linked with libplait. Its one side is `mpi`, and where libplait is preloaded `carried`: run that with
// PLAIT_COMMUNICATORS=all. Contents are compared in each exchange.
#include <fmt/core.h>
#include <mpi.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <ctime>
#include <sstream>

#include "common.hpp"
#include "native.hpp"
#include "traffic.hpp"

namespace plait::bench {
namespace {

constexpr int kDimensions = 3, kNeighbours = 2 * kDimensions;

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

class Neighbours {
 public:
  /// Collective.
  explicit Neighbours(const Job& job) {
    std::array<int, kDimensions> counts{};
    constexpr std::array<int, kDimensions> kPeriodic{1, 1, 1};
    MPI_Dims_create(job.processes, kDimensions, counts.data());
    MPI_Cart_create(MPI_COMM_WORLD, kDimensions, counts.data(), kPeriodic.data(), 0, &grid_);
    MPI_Comm_rank(grid_, &rank_);
    for (int d = 0; d < kDimensions; ++d) MPI_Cart_shift(grid_, d, 1, &at(2 * d), &at(2 * d + 1));
  }
  Neighbours(const Neighbours&) = delete;
  Neighbours& operator=(const Neighbours&) = delete;
  ~Neighbours() { MPI_Comm_free(&grid_); }

  Side side(const std::string& name, std::size_t bytes) {
    return {name, 1, [this, name, count = bytes / sizeof(Number)](std::int64_t times) {
              Numbers from(kNeighbours * count, Buffer::From::heap), to(kNeighbours * count, Buffer::From::heap);
              std::int64_t wrong = 0;
              const double begin = seconds();
              for (std::int64_t i = 0; i < times; ++i) wrong += exchange(from, to, count, i);
              const double took = seconds() - begin;
              insist(wrong, name);
              return took;
            }};
  }

 private:
  int& at(int direction) { return ranks_[static_cast<std::size_t>(direction)]; }

  /// The direction is the message's tag: two neighbours may be the same process. Counts the wrong messages.
  std::int64_t exchange(const Numbers& from, const Numbers& to, std::size_t count, Number number) {
    std::array<MPI_Request, 2 * kNeighbours> requests{};
    const auto part = [count](int direction) { return count * static_cast<std::size_t>(direction); };
    const auto seed = [number](int rank, int direction) { return number + 1000 * direction + 10000 * static_cast<Number>(rank); };
    const int n = static_cast<int>(count);
    for (int d = 0; d < kNeighbours; ++d) {
      MPI_Irecv(to.at(part(d)), n, MPI_INT64_T, at(d), d ^ 1, grid_, &requests[static_cast<std::size_t>(d)]);
    }
    for (int d = 0; d < kNeighbours; ++d) {
      fill(from.at(part(d)), count, seed(rank_, d));
      MPI_Isend(from.at(part(d)), n, MPI_INT64_T, at(d), d, grid_, &requests[kNeighbours + static_cast<std::size_t>(d)]);
    }
    MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
    std::int64_t wrong = 0;
    for (int d = 0; d < kNeighbours; ++d) wrong += differs(to.at(part(d)), count, seed(at(d), d ^ 1));
    return wrong;
  }

  MPI_Comm grid_ = MPI_COMM_NULL;
  int rank_ = 0;
  std::array<int, kNeighbours> ranks_{};
};

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
  Neighbours neighbours(job);
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
