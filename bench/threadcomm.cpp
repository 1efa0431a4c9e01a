// bench-threadcomm: what calls take where threads are ranks, and where processes are.
//
// With T threads in each process these are the ranks of a thread communicator; with 0 the processes are, on MPI_COMM_WORLD: run it
// once each with the same number of ranks. Half the round trip between ranks 0 and 1, barrier, allreduce, broadcast, all-to-all and
// a ring exchange. Beside the round trip, one memcpy; and where both ranks of it are threads of one process, what handing a cache line from
// one thread to another takes.
#include <mpi.h>
#include <omp.h>
#include <plait/mpix.h>

#include <algorithm>
#include <atomic>
#include <cstddef>

#include "common.hpp"
#include "raw.hpp"

namespace plait::bench {
namespace {

struct RankOptions : Options {
  int threads = 2;
};

/// One rank: its buffers, and the calls on them. What is sent is all ones.
class Rank {
 public:
  Rank(MPI_Comm comm, std::size_t bytes) : comm_(comm), doubles_(static_cast<int>(bytes / sizeof(double))) {
    MPI_Comm_rank(comm, &rank_);
    MPI_Comm_size(comm, &size_);
    in_.resize(static_cast<std::size_t>(doubles_) * static_cast<std::size_t>(size_));
    out_.assign(in_.size(), 1.0);
  }

  void barrier() { MPI_Barrier(comm_); }
  void allreduce() { MPI_Allreduce(out_.data(), in_.data(), doubles_, MPI_DOUBLE, MPI_SUM, comm_); }
  void bcast() { MPI_Bcast(rank_ == 0 ? out_.data() : in_.data(), doubles_, MPI_DOUBLE, 0, comm_); }
  void alltoall() { MPI_Alltoall(out_.data(), doubles_, MPI_DOUBLE, in_.data(), doubles_, MPI_DOUBLE, comm_); }
  void ring() {
    MPI_Sendrecv(out_.data(), doubles_, MPI_DOUBLE, (rank_ + 1) % size_, 0, in_.data(), doubles_, MPI_DOUBLE, (rank_ + size_ - 1) % size_,
                 0, comm_, MPI_STATUS_IGNORE);
  }
  void ping_pong() {
    if (rank_ == 0) {
      MPI_Send(out_.data(), doubles_, MPI_DOUBLE, 1, 0, comm_);
      MPI_Recv(in_.data(), doubles_, MPI_DOUBLE, 1, 0, comm_, MPI_STATUS_IGNORE);
    } else if (rank_ == 1) {
      MPI_Recv(in_.data(), doubles_, MPI_DOUBLE, 0, 0, comm_, MPI_STATUS_IGNORE);
      MPI_Send(out_.data(), doubles_, MPI_DOUBLE, 0, 0, comm_);
    }
  }

  [[nodiscard]] int rank() const { return rank_; }

  void wipe() { std::fill(in_.begin(), in_.end(), 0.0); }
  /// Whether one of the first `blocks` x bytes received is not `value`.
  [[nodiscard]] bool wrong(int blocks, double value) const {
    const auto end = in_.begin() + static_cast<std::ptrdiff_t>(blocks) * doubles_;
    return std::any_of(in_.begin(), end, [value](double x) { return x != value; });
  }
  [[nodiscard]] int size() const { return size_; }

 private:
  MPI_Comm comm_;
  int doubles_, rank_ = 0, size_ = 1;
  std::vector<double> in_, out_;
};

/// A call, and what a rank has received after one.
struct Call {
  const char* name;
  void (Rank::*call)();
  int units;  ///< in a repeat
  /// How many blocks are received and with which value.
  void (*received)(const Rank&, int& blocks, double& value);
};

void one(const Rank&, int& blocks, double& value) { blocks = 1, value = 1; }
const Call kCalls[] = {
    {"half_round_trip", &Rank::ping_pong, 2, [](const Rank& r, int& blocks, double& value) { blocks = r.rank() == 0 ? 1 : 0, value = 1; }},
    {"allreduce", &Rank::allreduce, 1, [](const Rank& r, int& blocks, double& value) { blocks = 1, value = r.size(); }},
    {"bcast", &Rank::bcast, 1, [](const Rank& r, int& blocks, double& value) { blocks = r.rank() == 0 ? 0 : 1, value = 1; }},
    {"alltoall", &Rank::alltoall, 1, [](const Rank& r, int& blocks, double& value) { blocks = r.size(), value = 1; }},
    {"ring", &Rank::ring, 1, one},
};
const Call kBarrier = {"barrier", &Rank::barrier, 1, [](const Rank&, int& blocks, double& value) { blocks = 0, value = 0; }};

/// All ranks of this process.
class Ranks {
 public:
  explicit Ranks(int threads) : threads_(threads) {
    if (threads > 0) MPIX_Threadcomm_init(MPI_COMM_WORLD, threads, &comm_);
  }
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;
  ~Ranks() {
    if (threads_ > 0) MPIX_Threadcomm_free(&comm_);
  }

  /// A side that makes a call of that many bytes.
  Side side(const Call& call, std::size_t bytes) const {
    return {name(), call.units, [this, &call, bytes](std::int64_t times) { return run(call, bytes, times); }};
  }

  /// Two threads of one process that hand a cache line back and forth.
  static Side hand_over() {
    return {"hand-over", 2, [](std::int64_t times) {
              raw::HandOverMemory line{};
              const double begin = seconds();
#pragma omp parallel num_threads(2) default(shared)
              raw::hand_over(line, omp_get_thread_num() == 0, 0, times, raw::Spin{raw::Spin::kRounds});
              return seconds() - begin;
            }};
  }

  /// One copy from a buffer to another: the least that a large message takes.
  static Side copy(std::size_t bytes) {
    return {"memcpy", 1,
            [from = std::vector<std::byte>(bytes, std::byte{1}), to = std::vector<std::byte>(bytes)](std::int64_t times) mutable {
              return raw::copy(to.data(), from.data(), from.size(), times);
            }};
  }

  [[nodiscard]] std::string name() const { return threads_ > 0 ? "threads" : "processes"; }

 private:
  double run(const Call& call, std::size_t bytes, std::int64_t times) const {
    double took = 0;
    std::atomic<std::int64_t> wrong{0};
    if (threads_ == 0) {
      took = run_rank(MPI_COMM_WORLD, call, bytes, times, wrong);
    } else {
#pragma omp parallel num_threads(threads_) default(shared)
      {
        MPIX_Threadcomm_start(comm_);
        const double mine = run_rank(comm_, call, bytes, times, wrong);
        if (omp_get_thread_num() == 0) took = mine;
        MPIX_Threadcomm_finish(comm_);
      }
    }
    insist(wrong, call.name);
    return took;
  }

  static double run_rank(MPI_Comm comm, const Call& call, std::size_t bytes, std::int64_t times, std::atomic<std::int64_t>& wrong) {
    Rank rank(comm, bytes);
    for (int i = 0; i < 2; ++i) (rank.*call.call)();
    MPI_Barrier(comm);
    const double begin = seconds();
    for (std::int64_t i = 0; i < times; ++i) (rank.*call.call)();
    const double took = seconds() - begin;
    rank.wipe();
    (rank.*call.call)();
    int blocks = 0;
    double value = 0;
    call.received(rank, blocks, value);
    wrong += rank.wrong(blocks, value) ? 1 : 0;
    MPI_Barrier(comm);
    return took;
  }

  int threads_;
  MPI_Comm comm_ = MPI_COMM_NULL;
};

void benchmark(const Job& job, const RankOptions& o) {
  o.check_sizes();
  if (job.processes * std::max(1, o.threads) < 2) throw Error("needs 2 ranks or more: more processes or more threads");
  Report report("threadcomm", job, o, std::max(1, o.threads));
  const Ranks ranks(o.threads);
  int measured = 0;
  const auto measured_at = [&](const char* quantity, std::size_t bytes, std::vector<Side> sides) {
    std::erase_if(sides, [&](const Side& side) { return !o.wants(side.name); });
    measured += static_cast<int>(sides.size());
    measure(sides, o.time, o.rounds);
    report.add(quantity, {{"bytes", bytes}}, sides);
  };
  measured_at("barrier", 0, {ranks.side(kBarrier, 0)});
  for (const std::size_t bytes : o.sizes) {
    for (const Call& call : kCalls) {
      std::vector<Side> sides = {ranks.side(call, bytes)};
      const bool line = bytes <= 64 && o.threads > 1 && job.processes == 1 && call.call == &Rank::ping_pong;
      if (line) sides.push_back(Ranks::hand_over());
      if (call.call == &Rank::ping_pong) sides.push_back(Ranks::copy(bytes));
      measured_at(call.name, bytes, sides);
    }
  }
  if (measured == 0) throw Error("--only: no side has such a name");
  report.write();
}

}  // namespace
}  // namespace plait::bench

int main(int argc, char** argv) {
  plait::bench::RankOptions o;
  o.time = 0.02;
  o.sizes = {8, 1024, 8192, 65536, 524288};
  plait::bench::CommandLine line("Calls where threads are ranks, and where processes are", "bench-threadcomm");
  line.number("-t,--threads", o.threads, "Ranks in each process; 0: the process is one", 0, 1024);
  o.describe_sizes(line, "Bytes of a message, multiples of 8");
  o.describe(line);
  return plait::bench::run(argc, argv, line, [&](const plait::bench::Job& job) { plait::bench::benchmark(job, o); },
                           {1, plait::bench::kAny});
}
