// bench-threadcomm: what calls take where threads are ranks, and where processes are.
//
//   bench-threadcomm [--threads T] [--rounds R] [--most BYTES]
//
// With T threads in each process these are the ranks; with 0 the processes are, on the MPI's own communicators: run it once
// each with the same number of ranks. Half the round trip between ranks 0 and 1, barrier, allreduce, broadcast, all-to-all and
// a ring exchange, 8 bytes to BYTES; microseconds, median of R measurements with the least and the most. Where both ranks of the
// ping-pong are threads of one process, the hand-over of a cache line between two threads is measured in between.
#include <mpi.h>
#include <plait/mpix.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "common.hpp"

namespace {

using plait::bench::seconds;

struct Options {
  int threads = 2;
  int rounds = 7;
  int most = 1 << 20;
  double time = 0.02;
};

struct alignas(64) Line {
  std::atomic<std::uint64_t> value{0};
};
Line there, back;

class Rank {
 public:
  Rank(MPI_Comm comm, const Options& o) : comm_(comm), o_(o) {
    MPI_Comm_rank(comm, &rank_);
    MPI_Comm_size(comm, &size_);
    const std::size_t most = static_cast<std::size_t>(o.most) * static_cast<std::size_t>(size_);
    in_.resize(most);
    out_.assign(most, 1);
  }

  void measure_all() {
    if (o_.threads > 1) measure("hand-over", 64, [this](int n) { hand_over(n); });
    measure("barrier", 0, [this](int n) {
      for (int i = 0; i < n; ++i) MPI_Barrier(comm_);
    });
    for (int bytes = 8; bytes <= o_.most; bytes *= bytes < 1024 ? 128 : 8) {
      const int doubles = bytes / 8;
      if (size_ > 1) measure("half round trip", bytes, [&](int n) { ping_pong(n, bytes); });
      measure("allreduce", bytes, [&](int n) {
        for (int i = 0; i < n; ++i) MPI_Allreduce(out_.data(), in_.data(), doubles, MPI_DOUBLE, MPI_SUM, comm_);
      });
      measure("bcast", bytes, [&](int n) {
        for (int i = 0; i < n; ++i) MPI_Bcast(in_.data(), doubles, MPI_DOUBLE, i % size_, comm_);
      });
      measure("alltoall", bytes, [&](int n) {
        for (int i = 0; i < n; ++i) MPI_Alltoall(out_.data(), doubles, MPI_DOUBLE, in_.data(), doubles, MPI_DOUBLE, comm_);
      });
      measure("ring", bytes, [&](int n) {
        for (int i = 0; i < n; ++i)
          MPI_Sendrecv(out_.data(), doubles, MPI_DOUBLE, (rank_ + 1) % size_, 0, in_.data(), doubles, MPI_DOUBLE,
                       (rank_ + size_ - 1) % size_, 0, comm_, MPI_STATUS_IGNORE);
      });
    }
  }

 private:
  void ping_pong(int n, int bytes) {
    for (int i = 0; i < n; ++i) {
      if (rank_ == 0) {
        MPI_Send(out_.data(), bytes, MPI_BYTE, 1, 0, comm_);
        MPI_Recv(in_.data(), bytes, MPI_BYTE, 1, 0, comm_, MPI_STATUS_IGNORE);
      } else if (rank_ == 1) {
        MPI_Recv(in_.data(), bytes, MPI_BYTE, 0, 0, comm_, MPI_STATUS_IGNORE);
        MPI_Send(out_.data(), bytes, MPI_BYTE, 0, 0, comm_);
      }
    }
  }
  void hand_over(int n) {
    if (rank_ > 1) return;
    Line& mine = rank_ == 0 ? there : back;
    Line& other = rank_ == 0 ? back : there;
    for (int i = 0; i < n; ++i) {
      if (rank_ == 1) wait_for(other);
      mine.value.store(mine.value.load(std::memory_order_relaxed) + 1, std::memory_order_release);
      if (rank_ == 0) wait_for(other);
    }
  }
  void wait_for(Line& line) {
    ++seen_;
    while (line.value.load(std::memory_order_acquire) < seen_) __builtin_ia32_pause();
  }

  void measure(const std::string& name, int bytes, const std::function<void(int)>& run) {
    int n = 1;
    // The shorter of two: one may have met something else.
    for (double took = 0; took < o_.time / 4; n *= 2) took = std::min(timed(run, n), timed(run, n));
    n = std::max(1, n / 2);
    std::vector<double> samples;
    samples.reserve(static_cast<std::size_t>(o_.rounds));
    for (int i = 0; i < o_.rounds; ++i) samples.push_back(timed(run, n) / n * 1e6);
    const bool both_ways = name == "half round trip" || name == "hand-over";
    const plait::bench::Summary s(samples);
    const double share = both_ways ? 0.5 : 1.0;
    if (rank_ == 0)
      std::printf("%-16s %8d B %10.3f us  (%.3f to %.3f)\n", name.c_str(), bytes, s.median * share, s.least * share, s.most * share);
  }
  /// As rank 0 has it.
  double timed(const std::function<void(int)>& run, int n) {
    MPI_Barrier(comm_);
    const double begin = seconds();
    run(n);
    double took = seconds() - begin;
    MPI_Bcast(&took, 1, MPI_DOUBLE, 0, comm_);
    return took;
  }

  MPI_Comm comm_;
  const Options& o_;
  int rank_ = 0, size_ = 1;
  std::uint64_t seen_ = 0;
  std::vector<char> in_, out_;
};

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  Options o;
  CLI::App app("What calls take where threads are ranks");
  app.add_option("--threads", o.threads, "Ranks in each process; 0: the process is one")->check(CLI::Range(0, 1024));
  app.add_option("--rounds", o.rounds)->check(CLI::Range(1, 1000));
  app.add_option("--most", o.most, "Bytes of the largest messages")->check(CLI::Range(8, 1 << 28));
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const int status = rank == 0 ? app.exit(e) : e.get_exit_code();
    MPI_Finalize();
    return status == 0 ? 0 : 2;
  }
  if (o.threads == 0) {
    Rank(MPI_COMM_WORLD, o).measure_all();
  } else {
    MPI_Comm comm = MPI_COMM_NULL;
    MPIX_Threadcomm_init(MPI_COMM_WORLD, o.threads, &comm);
    std::vector<std::thread> team;
    team.reserve(static_cast<std::size_t>(o.threads));
    for (int t = 0; t < o.threads; ++t) {
      team.emplace_back([&] {
        MPIX_Threadcomm_start(comm);
        Rank(comm, o).measure_all();
        MPIX_Threadcomm_finish(comm);
      });
    }
    for (std::thread& t : team) t.join();
    MPIX_Threadcomm_free(&comm);
  }
  MPI_Finalize();
  return 0;
}
