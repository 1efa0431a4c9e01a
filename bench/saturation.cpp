// bench-saturation: how many communicating threads it takes to fill the link between two processes, best on two nodes.
//
// 1, 2, 4, ... threads of process 0 send windows of 16 messages to as many of process 1, which answer each window:
//
//   multiple    each thread on a duplicate of MPI_COMM_WORLD
//   streams     each thread on the communicator of a stream
//
// In bytes a second.
#include <fmt/core.h>

#include <set>

#include "mixed.hpp"

namespace plait::bench {
namespace {

constexpr int kWindow = 16;

Side bandwidth(const Job& job, const std::string& name, std::size_t bytes, std::vector<MPI_Comm> comms) {
  const int units = kWindow * static_cast<int>(comms.size());
  return {name, units, [&job, name, bytes, comms = std::move(comms)](std::int64_t windows) {
            std::vector<std::unique_ptr<Windows<Interposed>>> traffic;
            traffic.reserve(comms.size());
            for (const MPI_Comm comm : comms) {
              traffic.push_back(std::make_unique<Windows<Interposed>>(comm, 1 - job.rank, 0, bytes, kWindow));
            }
            double begin = 0;
#pragma omp parallel num_threads(static_cast<int>(comms.size())) default(shared)
            {
              const auto t = static_cast<std::size_t>(omp_get_thread_num());
              if (job.rank == 0) {
                traffic[t]->fill();
                traffic[t]->send(1);
#pragma omp barrier
                if (t == 0) begin = seconds();
                traffic[t]->send(windows);
              } else {
                traffic[t]->receive(1 + windows);
              }
            }
            const double took = seconds() - begin;
            insist(count_wrong(traffic, job.rank == 1), name);
            return took;
          }};
}

void benchmark(const Job& job, const MixedOptions& o) {
  Report report("saturation", job, o, o.threads);
  Communicators duplicates(Communicators::Kind::duplicate, o.threads), streams(Communicators::Kind::stream, o.threads);
  const bool multiple = job.level == MPI_THREAD_MULTIPLE;
  if (!multiple) report.skip("multiple", "this MPI gives no MPI_THREAD_MULTIPLE");
  std::set<int> counts = {o.threads};
  for (int n = 1; n < o.threads; n *= 2) counts.insert(n);
  int measured = 0;
  for (const std::size_t bytes : o.sizes) {
    for (const int n : counts) {
      const auto first = [n](const Communicators& of) { return std::vector<MPI_Comm>(of.comms.begin(), of.comms.begin() + n); };
      std::vector<Side> sides;
      if (multiple && o.wants("multiple")) sides.push_back(bandwidth(job, "multiple", bytes, first(duplicates)));
      if (o.wants("streams")) sides.push_back(bandwidth(job, "streams", bytes, first(streams)));
      measured += static_cast<int>(sides.size());
      measure(sides, o.time, o.rounds);
      for (Side& side : sides) {
        std::vector<double> rates;
        rates.reserve(side.samples.size());
        for (const double s : side.samples) rates.push_back(static_cast<double>(bytes) / s);
        report.add("bandwidth", "B/s", {{"bytes", bytes}, {"threads", n}}, side, rates);
        const Summary s(rates);
        if (report.prints()) {
          fmt::print("{:>9} B  {:>3} threads  {:<10} {:.4g} GB/s [{:.4g} {:.4g}]\n", bytes, n, side.name, s.median / 1e9, s.least / 1e9,
                     s.most / 1e9);
        }
      }
    }
  }
  if (measured == 0) throw Error("--only: no side has such a name");
  report.write();
}

}  // namespace
}  // namespace plait::bench

int main(int argc, char** argv) {
  plait::bench::MixedOptions o;
  o.sizes = {4096, 65536, 1048576};
  plait::bench::CommandLine line("Threads that fill the link between two processes", "bench-saturation");
  line.number("-t,--threads", o.threads, "Threads in each process at most", 1, 1024);
  o.describe_sizes(line, "Bytes in a message");
  o.describe(line);
  return plait::bench::run(argc, argv, line, [&](const plait::bench::Job& job) { plait::bench::benchmark(job, o); });
}
