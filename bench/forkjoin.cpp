// bench-forkjoin: what OpenMP's own constructs cost, which every hybrid program pays beside its messages, in one process:
//
//   fork-join    an empty parallel region
//   barrier      a barrier inside one
//   reduction    a loop with a sum, one iteration a thread
//   threadcomm   MPI_Barrier on a thread communicator of the same threads
#include <omp.h>
#include <plait/mpix.h>

#include "common.hpp"

namespace plait::bench {
namespace {

struct ForkJoinOptions : Options {
  int threads = 2;
};

double fork_join(int threads, std::int64_t times) {
  const double begin = seconds();
  for (std::int64_t i = 0; i < times; ++i) {
#pragma omp parallel num_threads(threads)
    asm volatile("" : : : "memory");
  }
  return seconds() - begin;
}

double barrier(int threads, std::int64_t times) {
  double took = 0;
#pragma omp parallel num_threads(threads) default(shared)
  {
#pragma omp barrier
    const double begin = seconds();
    for (std::int64_t i = 0; i < times; ++i) {
#pragma omp barrier
    }
    if (omp_get_thread_num() == 0) took = seconds() - begin;
  }
  return took;
}

double reduction(int threads, std::int64_t times) {
  const double begin = seconds();
  std::int64_t sum = 0;
  for (std::int64_t i = 0; i < times; ++i) {
#pragma omp parallel for num_threads(threads) reduction(+ : sum)
    for (int k = 0; k < threads; ++k) sum += k;
  }
  const double took = seconds() - begin;
  insist(sum == times * threads * (threads - 1) / 2 ? 0 : 1, "reduction");
  return took;
}

double threadcomm_barrier(MPI_Comm comm, int threads, std::int64_t times) {
  double took = 0;
#pragma omp parallel num_threads(threads) default(shared)
  {
    MPIX_Threadcomm_start(comm);
    MPI_Barrier(comm);
    const double begin = seconds();
    for (std::int64_t i = 0; i < times; ++i) MPI_Barrier(comm);
    if (omp_get_thread_num() == 0) took = seconds() - begin;
    MPIX_Threadcomm_finish(comm);
  }
  return took;
}

void benchmark(const Job& job, const ForkJoinOptions& o) {
  Report report("forkjoin", job, o, o.threads);
  const int n = o.threads;
  MPI_Comm comm = MPI_COMM_NULL;
  MPIX_Threadcomm_init(MPI_COMM_WORLD, n, &comm);
  std::vector<Side> sides = {
      {"fork-join", 1, [n](std::int64_t times) { return fork_join(n, times); }},
      {"barrier", 1, [n](std::int64_t times) { return barrier(n, times); }},
      {"reduction", 1, [n](std::int64_t times) { return reduction(n, times); }},
      {"threadcomm", 1, [n, comm](std::int64_t times) { return threadcomm_barrier(comm, n, times); }},
  };
  std::erase_if(sides, [&](const Side& side) { return !o.wants(side.name); });
  if (sides.empty()) throw Error("--only: no side has such a name");
  measure(sides, o.time, o.rounds);
  report.add("overhead", {{"threads", n}}, sides);
  MPIX_Threadcomm_free(&comm);
  report.write();
}

}  // namespace
}  // namespace plait::bench

int main(int argc, char** argv) {
  plait::bench::ForkJoinOptions o;
  o.time = 0.02;
  plait::bench::CommandLine line("Fork and join, barrier and reduction of OpenMP's threads", "bench-forkjoin");
  line.number("-t,--threads", o.threads, "Threads", 1, 1024);
  o.describe(line);
  return plait::bench::run(argc, argv, line, [&](const plait::bench::Job& job) { plait::bench::benchmark(job, o); }, {1, 1});
}
