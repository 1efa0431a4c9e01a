// bench-collectives: collective calls of unchanged programs, on MPI_COMM_WORLD, with any number of processes of one thread.
//
//   mpi      the MPI without libplait
//   carried  the same called through libplait, which carries it: run with PLAIT_COMMUNICATORS=all
//
// Results are compared at the end of each measurement. Bytes are what each process brings; to alltoall, to each other process.
#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "common.hpp"
#include "native.hpp"
#include "traffic.hpp"

namespace plait::bench {
namespace {

struct CollectiveOptions : Options {
  std::vector<std::string> calls;
};

#define PLAIT_COLLECTIVES(NAME, MPI)                                                                                                    \
  struct NAME {                                                                                                                         \
    static void barrier() { MPI(Barrier)(MPI_COMM_WORLD); }                                                                             \
    static void bcast(Number* at, int n) { MPI(Bcast)(at, n, MPI_INT64_T, 0, MPI_COMM_WORLD); }                                         \
    static void reduce(const Number* from, Number* to, int n) { MPI(Reduce)(from, to, n, MPI_INT64_T, MPI_SUM, 0, MPI_COMM_WORLD); }    \
    static void allreduce(const Number* from, Number* to, int n) { MPI(Allreduce)(from, to, n, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD); } \
    static void allgather(const Number* from, Number* to, int n) {                                                                      \
      MPI(Allgather)(from, n, MPI_INT64_T, to, n, MPI_INT64_T, MPI_COMM_WORLD);                                                         \
    }                                                                                                                                   \
    static void alltoall(const Number* from, Number* to, int n) {                                                                       \
      MPI(Alltoall)(from, n, MPI_INT64_T, to, n, MPI_INT64_T, MPI_COMM_WORLD);                                                          \
    }                                                                                                                                   \
  };
PLAIT_COLLECTIVES(Native, PLAIT_BENCH_PAST_PLAIT)
PLAIT_COLLECTIVES(Carried, PLAIT_BENCH_BY_NAME)

enum class Kind : std::uint8_t { barrier, bcast, reduce, allreduce, allgather, alltoall };
constexpr std::array<const char*, 6> kNames{"barrier", "bcast", "reduce", "allreduce", "allgather", "alltoall"};

/// One call with its data. Number i of what process r brings for process d is r + i + 1000 d.
class Exchange {
 public:
  Exchange(const Job& job, Kind kind, std::size_t bytes)
      : rank_(job.rank),
        size_(job.processes),
        kind_(kind),
        n_(static_cast<int>(bytes / sizeof(Number))),
        from_(count() * (kind_ == Kind::alltoall ? processes() : 1), Buffer::From::heap),
        to_(count() * processes(), Buffer::From::heap) {}

  template <class Calls>
  Side side(const std::string& name) {
    return {name, 1, [this, name](std::int64_t repeats) {
              fill();
              std::fill_n(to_.at(0), count() * processes(), -1);
              Calls::barrier();
              const double begin = seconds();
              for (std::int64_t i = 0; i < repeats; ++i) run<Calls>();
              const double took = seconds() - begin;
              insist(wrong(), name + ", " + kNames[static_cast<std::size_t>(kind_)]);
              return took;
            }};
  }

 private:
  [[nodiscard]] std::size_t count() const { return static_cast<std::size_t>(n_); }
  [[nodiscard]] std::size_t processes() const { return static_cast<std::size_t>(size_); }
  [[nodiscard]] static Number seed(int from, int to) { return from + 1000 * static_cast<Number>(to); }

  void fill() {
    const int parts = kind_ == Kind::alltoall ? size_ : 1;
    for (int d = 0; d < parts; ++d) bench::fill(from_.at(count() * static_cast<std::size_t>(d)), count(), seed(rank_, d));
  }

  template <class Calls>
  void run() {
    switch (kind_) {
      case Kind::barrier:
        return Calls::barrier();
      case Kind::bcast:
        return Calls::bcast(rank_ == 0 ? from_.at(0) : to_.at(0), n_);
      case Kind::reduce:
        return Calls::reduce(from_.at(0), to_.at(0), n_);
      case Kind::allreduce:
        return Calls::allreduce(from_.at(0), to_.at(0), n_);
      case Kind::allgather:
        return Calls::allgather(from_.at(0), to_.at(0), n_);
      case Kind::alltoall:
        return Calls::alltoall(from_.at(0), to_.at(0), n_);
    }
  }

  [[nodiscard]] std::int64_t wrong() const {
    switch (kind_) {
      case Kind::barrier:
        return 0;
      case Kind::bcast:
        return rank_ == 0 ? 0 : differs(to_.at(0), count(), seed(0, 0));
      case Kind::reduce:
        return rank_ == 0 ? wrong_sum() : 0;
      case Kind::allreduce:
        return wrong_sum();
      case Kind::allgather:
        return wrong_blocks(0);
      case Kind::alltoall:
        return wrong_blocks(rank_);
    }
    return 1;
  }
  [[nodiscard]] std::int64_t wrong_sum() const { return differs(to_.at(0), count(), static_cast<Number>(size_) * (size_ - 1) / 2, size_); }
  /// Of what each process has brought for process `to`.
  [[nodiscard]] std::int64_t wrong_blocks(int to) const {
    std::int64_t found = 0;
    for (int s = 0; s < size_; ++s) found += differs(to_.at(count() * static_cast<std::size_t>(s)), count(), seed(s, to));
    return found;
  }

  int rank_, size_;
  Kind kind_;
  int n_;  ///< numbers
  Numbers from_, to_;
};

void benchmark(const Job& job, const CollectiveOptions& o) {
  need_carrying();
  o.check_sizes();
  for (const std::string& c : o.calls) {
    if (std::ranges::find(kNames, c) == kNames.end())
      throw Error("--call " + c + ": take barrier, bcast, reduce, allreduce, allgather or alltoall");
  }
  Report report("collectives", job, o, 1);
  for (std::size_t k = 0; k < kNames.size(); ++k) {
    const std::string call = kNames[k];
    const auto kind = static_cast<Kind>(k);
    if (!o.calls.empty() && std::ranges::find(o.calls, call) == o.calls.end()) continue;
    for (const std::size_t bytes : kind == Kind::barrier ? std::vector<std::size_t>{8} : o.sizes) {
      Exchange exchange(job, kind, bytes);
      std::vector<Side> sides;
      if (o.wants("mpi")) sides.push_back(exchange.side<Native>("mpi"));
      if (o.wants("carried")) sides.push_back(exchange.side<Carried>("carried"));
      measure(sides, o.time, o.rounds);
      report.add(call, {{"bytes", bytes}}, sides);
    }
  }
  report.write();
}

}  // namespace
}  // namespace plait::bench

int main(int argc, char** argv) {
  plait::bench::CollectiveOptions o;
  o.time = 0.02;
  o.sizes = {8, 1024, 8192, 65536, 524288, 4194304};
  plait::bench::CommandLine line("Collective calls on MPI_COMM_WORLD: the MPI's own and those that plait carries", "bench-collectives");
  line.texts("--call", o.calls, "barrier, bcast, reduce, allreduce, allgather or alltoall; may be repeated (default: all)");
  o.describe_sizes(line, "Bytes that each process brings, multiples of 8");
  o.describe(line);
  return plait::bench::run(argc, argv, line, [&](const plait::bench::Job& job) { plait::bench::benchmark(job, o); },
                           {2, plait::bench::kAny});
}
