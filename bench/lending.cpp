// bench-lending: an uneven decomposition, and cores that are lent. In a step each process has so many regions of OpenMP's, then all meet in
// an MPI_Allreduce; the regions of process 0 have more work than those of the others.
//
//   mpi    by the MPI's own MPI_Allreduce; nothing is lent
//   lent   by MPI_Allreduce, while cores are lent (docs/lend.md)
//
// At a ratio of 1, where there is nothing to gain, it shows what lending costs. Sums are checked in each region and step. Run it by
// plait run --lend.
#include <fmt/core.h>
#include <omp.h>
#include <plait/lend.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <set>
#include <vector>

#include "common.hpp"
#include "native.hpp"

namespace plait::bench {
namespace {

struct LendingOptions : Options {
  int ratio = 3, regions = 20, region = 1000;
};

constexpr int kIterations = 64;  ///< of a region's loop

/// A region's iteration: so many steps, out of memory's way.
void iterate(std::int64_t steps) {
  volatile double x = 1;
  for (std::int64_t s = 0; s < steps; ++s) x = x * 1.0000001 + 1e-9;
}

/// Steps in one iteration of a region that takes so many microseconds by so many threads. Collective.
double steps_of(int microseconds, int threads) {
  constexpr std::int64_t kSteps = 100'000;
  double least = 1;
  for (int i = 0; i < 50; ++i) {
    const double begin = seconds();
    iterate(kSteps);
    least = std::min(least, seconds() - begin);
  }
  return 1e-6 * microseconds * threads / (Job::agreed(least) / kSteps) / kIterations;
}

class Stepper {
 public:
  Stepper(const Job& job, int threads, const LendingOptions& o, int ratio)
      : job_(job), regions_(o.regions), steps_(std::lround((job.rank == 0 ? ratio : 1) * steps_of(o.region, threads))) {}

  template <class Allreduce>
  double run(Allreduce allreduce, std::int64_t repeats) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = seconds();
    for (std::int64_t r = 0; r < repeats; ++r) {
      std::int64_t mine = 0, all = 0;
      for (int i = 0; i < regions_; ++i) mine += region();
      allreduce(&mine, &all, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
      wrong_ += all == std::int64_t{job_.processes} * regions_ * kIterations * (kIterations - 1) / 2 ? 0 : 1;
    }
    const double took = seconds() - begin;
    insist(wrong_, "lending");
    return took;
  }

 private:
  [[nodiscard]] std::int64_t region() const {
    std::int64_t sum = 0;
#pragma omp parallel for reduction(+ : sum)
    for (int i = 0; i < kIterations; ++i) {
      iterate(steps_);
      sum += i;
    }
    return sum;
  }

  const Job& job_;
  int regions_;
  std::int64_t steps_;
  std::int64_t wrong_ = 0;
};

void benchmark(const Job& job, const LendingOptions& o) {
  const int most = plait_lend_most();
  const int threads = omp_get_max_threads() - most;
  if (Job::sum(most) == 0) throw Error("nothing can be lent: run it by plait run --lend, with a core for each process");
  Report report("lending", job, o, threads);
  report.set("regions", o.regions);
  for (const int ratio : std::set{1, o.ratio}) {
    Stepper stepper(job, threads, o, ratio);
    std::vector<Side> sides = {{"mpi", 1,
                                [&](std::int64_t repeats) {
                                  plait_lend_disable();
                                  return stepper.run(native::Allreduce, repeats);
                                }},
                               {"lent", 1, [&](std::int64_t repeats) {
                                  plait_lend_enable();
                                  return stepper.run(MPI_Allreduce, repeats);
                                }}};
    measure(sides, o.time, o.rounds);
    report.add("step", {{"ratio", ratio}, {"microseconds", o.region}}, sides);
    if (report.prints()) {
      const double gain = Summary(sides[0].samples).median / Summary(sides[1].samples).median;
      fmt::print("{} : 1, {} regions of {} us: {:.3f} times as fast with cores lent\n", ratio, o.regions, o.region, gain);
    }
  }
  report.write();
}

}  // namespace
}  // namespace plait::bench

int main(int argc, char** argv) {
  plait::bench::LendingOptions o;
  o.time = 0.2;
  plait::bench::CommandLine line("An uneven decomposition, without and with cores lent", "bench-lending");
  line.number("--ratio", o.ratio, "Work of process 0 for 1 of the others", 1, 100);
  line.number("--regions", o.regions, "Parallel regions in a step", 1, 1 << 20);
  line.number("--region", o.region, "Microseconds of a region where the ratio is 1", 1, 1 << 20);
  o.describe(line);
  return plait::bench::run(argc, argv, line, [&](const plait::bench::Job& job) { plait::bench::benchmark(job, o); },
                           {2, plait::bench::kAny});
}
