// bench-polling: how much time a process that computes loses while another one polls by MPI_Test.
//
// Processes make pairs: one computes and then sends a message to the other, which meanwhile
//
//   asleep   looks once a millisecond whether the message is there
//   mpi      asks by MPI_Test without a pause: the MPI without libplait
//   carried  asks so through libplait, which carries the message: run with PLAIT_COMMUNICATORS=all
//
// The time is that of the computing, a thousand steps. What it is longer than beside a sleeper is lost. Of more processes than cores
// the pollers should leave the cores to those who compute.
#include <ctime>

#include "common.hpp"
#include "traffic.hpp"

namespace plait::bench {
namespace {

template <class Calls>
std::int64_t poll(int peer, const timespec* pause) {
  std::int64_t number = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  Calls::irecv(&number, 1, MPI_INT64_T, peer, 0, MPI_COMM_WORLD, &request);
  for (int done = 0; !done;) {
    if (pause) nanosleep(pause, nullptr);
    Calls::test(&request, &done, MPI_STATUS_IGNORE);
  }
  return number;
}

/// Process 0 is one of those that compute.
template <class Calls>
Side pairs(const Job& job, const std::string& name, bool sleeps) {
  return {name, 1, [name, sleeps, rank = job.rank](std::int64_t times) {
            constexpr timespec kMillisecond{0, 1'000'000};
            const int peer = rank ^ 1;
            const double begin = seconds();
            double took = 0;
            std::int64_t wrong = 0;
            if (rank % 2 == 0) {
              compute(times);
              took = seconds() - begin;
              Calls::send(&times, 1, MPI_INT64_T, peer, 0, MPI_COMM_WORLD);
            } else {
              wrong = poll<Calls>(peer, sleeps ? &kMillisecond : nullptr) == times ? 0 : 1;
            }
            insist(wrong, name);
            return took;
          }};
}

void benchmark(const Job& job, const Options& o) {
  need_carrying();
  std::vector<Side> sides;
  if (o.wants("asleep")) sides.push_back(pairs<Native>(job, "asleep", true));
  if (o.wants("mpi")) sides.push_back(pairs<Native>(job, "mpi", false));
  if (o.wants("carried")) sides.push_back(pairs<Interposed>(job, "carried", false));
  if (sides.empty()) throw Error("--only: no side has such a name");
  Report report("polling", job, o, 1);
  measure(sides, o.time, o.rounds);
  report.add("compute", {}, sides);
  report.write();
}

}  // namespace
}  // namespace plait::bench

int main(int argc, char** argv) {
  plait::bench::Options o;
  o.time = 0.1;
  plait::bench::CommandLine line("The time that a process loses while another polls by MPI_Test", "bench-polling");
  o.describe(line);
  return plait::bench::run(argc, argv, line, [&](const plait::bench::Job& job) { plait::bench::benchmark(job, o); },
                           {2, plait::bench::kAny, true});
}
