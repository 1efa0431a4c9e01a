#include "collective.hpp"

#include <fmt/core.h>

#include <string>
#include <vector>

namespace plait::bench {
namespace {

/// Runs a collective operation in a mode; seconds for so many repeats. Collective.
double run_collective(const Team& team, Mode mode, Collective& op, std::int64_t repeats) {
  const auto give = [&op](int t, std::int64_t repeat) {
    op.write(t, repeat);
    if (op.combines) {
#pragma omp barrier
      op.combine(t);
    }
  };
  switch (mode) {
    case Mode::masteronly:
      return team.outside(repeats, [&](std::int64_t r) {
#pragma omp parallel num_threads(team.threads) default(shared)
        give(omp_get_thread_num(), r);
        op.call(0, team.whole());
        if (op.reads) {
#pragma omp parallel num_threads(team.threads) default(shared)
          op.read(omp_get_thread_num());
        }
      });
    case Mode::funneled:
      return team.inside(mode, repeats, [&](int t, std::int64_t r) {
        give(t, r);
#pragma omp barrier
        if (t == 0) op.call(0, team.whole());
#pragma omp barrier
        op.read(t);
      });
    case Mode::multiple:
      return team.inside(mode, repeats, [&](int t, std::int64_t r) {
        give(t, r);
        op.call(t, team.duplicate(t));
        if (op.mixes || op.combines) {
#pragma omp barrier
        }
        op.read(t);
        if (op.mixes && op.reads) {
#pragma omp barrier  // all have read what the next call overwrites
        }
      });
    case Mode::threadcomm:
      return team.inside(mode, repeats, [&](int t, std::int64_t r) {
        op.write(t, r);
        op.call(t, team.threadcomm());
        op.read(t);
      });
    default:
      return 0;
  }
}

std::string no_collective(Mode mode) {
  if (mode == Mode::streams) return "collective calls on a stream's communicator are the MPI's own, as in multiple";
  if (mode == Mode::partitioned) return "there are no partitioned collective calls";
  return {};
}

}  // namespace

int run_collective(int argc, char** argv, const char* name, const char* what, const Operation& operation) {
  MixedOptions o;
  CommandLine line(what, std::string("bench-") + name);
  if (!operation.has_data) o.sizes = {8};
  o.describe_mixed(line);
  return run(argc, argv, line,
             [&](const Job& job) {
               o.check();
               constexpr std::size_t kMost = std::size_t{1} << 30;
               const auto threads = static_cast<std::size_t>(o.threads), ranks = threads * static_cast<std::size_t>(job.processes);
               Report report(name, job, o, o.threads);
               if (!operation.has_data) o.sizes = {8};
               std::erase_if(o.sizes, [&](std::size_t n) {
                 const bool much = n * operation.parts(threads, ranks) > kMost;
                 if (much) report.skip(fmt::format("{} B", n), "a process would need more than 1 GB");
                 return much;
               });
               const Team team(job, o.threads);
               const auto make = [&](const NamedMode& m, std::size_t bytes) {
                 return [&team, &operation, m, bytes](std::int64_t repeats) {
                   using Way = Collective::Way;
                   const Way way = m.mode == Mode::multiple ? Way::share : m.mode == Mode::threadcomm ? Way::rank : Way::whole;
                   const auto op = operation.make(team, way, bytes / sizeof(Number));
                   const double took = run_collective(team, m.mode, *op, repeats);
                   std::int64_t wrong = 0;
                   for (int t = 0; t < team.threads; ++t) wrong += op->wrong(t, Team::last(repeats));
                   insist(wrong, m.name);
                   return took;
                 };
               };
               measure_modes(report, job, o, "time", make, no_collective);
               report.write();
             },
             {2, kAny});
}

}  // namespace plait::bench
