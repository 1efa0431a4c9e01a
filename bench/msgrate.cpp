// bench-msgrate: how many small messages a second go from one process to another, with one or more threads in each.
//
// Each thread of process 0 sends windows of messages by MPI_Isend and MPI_Waitall to its partner in process 1, which
// answers each window by one message:
//
//   mpi-single        the MPI without libplait; all threads use MPI_COMM_WORLD, told apart by tags
//   mpi-per-thread    the MPI without libplait; a duplicate of MPI_COMM_WORLD for each thread
//   plait-single      as mpi-single, called through libplait, which hands it on, or carries it with PLAIT_COMMUNICATORS=all
//   plait-per-thread  as mpi-per-thread, called through libplait
//   mpi-hints         the MPI without libplait; all threads on one duplicate, for which the program promises not to use wildcards
//   plait-hints       as mpi-hints, called through libplait
//   plait-streams     a stream and its communicator for each thread
//   raw-ring          the machine's limit: numbers through a ring of cells in shared memory, answered once at the end
//
// With one thread those of duplicates would be what the single ones are, and are left out. A rate is all threads'
// messages over the time from the first thread's start to the last one's end, at the sender.
#include <fmt/core.h>

#include <algorithm>
#include <barrier>
#include <memory>
#include <numeric>
#include <thread>

#include "common.hpp"
#include "raw.hpp"
#include "traffic.hpp"

namespace plait::bench {
namespace {

struct RateOptions : Options {
  int window = 64, threads = 1;
};

/// Runs work(thread, start) on so many threads, this one among them; each calls start() where its timed part begins, and
/// returns where it ends. Seconds from the first start to the last end.
template <class Work>
double timed_on_threads(int threads, Work work) {
  std::barrier<> together(threads);
  std::vector<double> begin(static_cast<std::size_t>(threads)), end(begin.size());
  const auto one = [&](std::size_t t) {
    work(t, [&] {
      together.arrive_and_wait();
      begin[t] = seconds();
    });
    end[t] = seconds();
  };
  {
    std::vector<std::jthread> others;
    for (std::size_t t = 1; t < begin.size(); ++t) others.emplace_back(one, t);
    one(0);
  }
  return *std::max_element(end.begin(), end.end()) - *std::min_element(begin.begin(), begin.end());
}

/// A side whose thread t uses comms[t] for messages of so many bytes.
template <class Calls>
Side messages(const Job& job, const RateOptions& o, const std::string& name, std::size_t size, const std::vector<MPI_Comm>& comms) {
  const auto run = [&job, &o, comms, name, size](std::int64_t windows) {
    constexpr int kWarmUp = 2;
    std::vector<std::unique_ptr<Windows<Calls>>> traffic;
    traffic.reserve(comms.size());
    for (std::size_t t = 0; t < comms.size(); ++t) {
      traffic.push_back(std::make_unique<Windows<Calls>>(comms[t], 1 - job.rank, static_cast<int>(2 * t), size, o.window));
    }
    const double took = timed_on_threads(o.threads, [&](std::size_t t, auto start) {
      if (job.rank == 0) {
        traffic[t]->fill();
        traffic[t]->send(kWarmUp);
        start();
        traffic[t]->send(windows);
      } else {
        traffic[t]->receive(kWarmUp);
        start();
        traffic[t]->receive(windows);
      }
    });
    insist(count_wrong(traffic, job.rank == 1), name);
    return took;
  };
  return {name, o.window * o.threads, run};
}

/// Rings in both directions between the processes, a pair for each thread.
class Rings {
 public:
  /// Collective, on one node.
  Rings(const Job& job, const RateOptions& o)
      : job_(job), o_(o), memory_(job, 2 * static_cast<std::size_t>(o.threads) * sizeof(raw::RingMemory)) {
    auto* const rings = static_cast<raw::RingMemory*>(memory_.data());
    const auto spin = raw::Spin::of(job, o.threads);
    for (int t = 0; t < o.threads; ++t) {
      senders_.emplace_back(rings[2 * t + job.rank], spin);
      receivers_.emplace_back(rings[2 * t + 1 - job.rank], spin);
    }
  }

  Side side(const std::string& name) {
    return {name, o_.window * o_.threads, [this, name](std::int64_t windows) {
              std::vector<std::int64_t> wrong(senders_.size());
              const double took = timed_on_threads(o_.threads, [&](std::size_t t, auto start) {
                start();
                const auto count = static_cast<std::uint64_t>(windows * o_.window);
                wrong[t] = static_cast<std::int64_t>(job_.rank == 0 ? send(t, count) : receive(t, count));
              });
              insist(job_.rank == 0 ? std::accumulate(wrong.begin(), wrong.end(), std::int64_t{0}) : 0, name);
              return took;
            }};
  }

 private:
  // Each works on a copy of its end, whose counters can then stay in registers.
  std::uint64_t send(std::size_t t, std::uint64_t count) {
    auto ring = senders_[t];
    for (std::uint64_t i = 0; i < count; ++i) ring.send(i);
    senders_[t] = ring;
    return receivers_[t].receive();  // the time counts until all have arrived
  }
  std::uint64_t receive(std::size_t t, std::uint64_t count) {
    auto ring = receivers_[t];
    std::uint64_t wrong = 0;
    for (std::uint64_t i = 0; i < count; ++i) wrong += ring.receive() == i ? 0 : 1;
    receivers_[t] = ring;
    senders_[t].send(wrong);
    return wrong;
  }

  const Job& job_;
  const RateOptions& o_;
  raw::SharedMemory memory_;
  std::vector<raw::RingSender> senders_;
  std::vector<raw::RingReceiver> receivers_;
};

void add_figures(Report& report, std::size_t size, const std::vector<Side>& sides) {
  if (report.prints())
    fmt::print("\n{:<28} {:>10} {:>10} {:>10}\n", fmt::format("million messages/s, {} B", size), "median", "least", "most");
  for (const Side& side : sides) {
    std::vector<double> rates;
    rates.reserve(side.samples.size());
    for (const double s : side.samples) rates.push_back(1 / s);
    report.add("message_rate", "1/s", {{"bytes", size}}, side, rates);
    const Summary s(rates);
    if (report.prints()) fmt::print("{:<28} {:>10.3f} {:>10.3f} {:>10.3f}\n", side.name, s.median / 1e6, s.least / 1e6, s.most / 1e6);
  }
}

void benchmark(const Job& job, const RateOptions& o) {
  if (o.threads > 1 && job.level < MPI_THREAD_MULTIPLE) throw Error("--threads: this MPI gives no MPI_THREAD_MULTIPLE");
  const auto names = {"mpi-single", "plait-single", "mpi-per-thread", "plait-per-thread",
                      "mpi-hints",  "plait-hints",  "plait-streams",  "raw-ring"};
  if (std::none_of(names.begin(), names.end(), [&](auto name) { return o.wants(name); })) throw Error("--only: no side has such a name");
  Report report("msgrate", job, o, o.threads);
  report.set("window", o.window);
  const std::vector<MPI_Comm> world(static_cast<std::size_t>(o.threads), MPI_COMM_WORLD);
  std::unique_ptr<Communicators> duplicates, hinted, streams;
  std::unique_ptr<Rings> rings;
  if (o.threads > 1 && (o.wants("mpi-per-thread") || o.wants("plait-per-thread"))) {
    duplicates = std::make_unique<Communicators>(Communicators::Kind::duplicate, o.threads);
  }
  if (o.threads > 1 && (o.wants("mpi-hints") || o.wants("plait-hints"))) {
    hinted = std::make_unique<Communicators>(Communicators::Kind::hinted, o.threads);
  }
  if (o.wants("plait-streams")) streams = std::make_unique<Communicators>(Communicators::Kind::stream, o.threads);
  if (o.wants("raw-ring") && job.one_node) rings = std::make_unique<Rings>(job, o);
  if (o.wants("raw-ring") && !job.one_node) report.skip("raw-ring", "the processes share no memory");

  for (const std::size_t size : o.sizes) {
    std::vector<Side> sides;
    if (o.wants("mpi-single")) sides.push_back(messages<Native>(job, o, "mpi-single", size, world));
    if (o.wants("plait-single")) sides.push_back(messages<Interposed>(job, o, "plait-single", size, world));
    if (duplicates && o.wants("mpi-per-thread")) sides.push_back(messages<Native>(job, o, "mpi-per-thread", size, duplicates->comms));
    if (duplicates && o.wants("plait-per-thread")) {
      sides.push_back(messages<Interposed>(job, o, "plait-per-thread", size, duplicates->comms));
    }
    if (hinted && o.wants("mpi-hints")) sides.push_back(messages<Native>(job, o, "mpi-hints", size, hinted->comms));
    if (hinted && o.wants("plait-hints")) sides.push_back(messages<Interposed>(job, o, "plait-hints", size, hinted->comms));
    if (streams) sides.push_back(messages<Interposed>(job, o, "plait-streams", size, streams->comms));
    if (rings && size == sizeof(std::uint64_t)) sides.push_back(rings->side("raw-ring"));
    measure(sides, o.time, o.rounds);
    add_figures(report, size, sides);
  }
  report.write();
}

}  // namespace
}  // namespace plait::bench

int main(int argc, char** argv) {
  plait::bench::RateOptions o;
  o.time = 0.2;
  plait::bench::CommandLine line("Message rate between 2 processes: the MPI, plait and the machine", "bench-msgrate");
  o.sizes = {8};
  o.describe_sizes(line, "Bytes in a message; the ring's are of 8");
  line.number("--window", o.window, "Messages before an answer", 1, 1 << 16);
  line.number("-t,--threads", o.threads, "Threads in each process", 1, 256);
  o.describe(line);
  return plait::bench::run(argc, argv, line, [&](const plait::bench::Job& job) { plait::bench::benchmark(job, o); });
}
