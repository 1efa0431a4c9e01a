// bench-orthogonal: what a node sends to the next one, by one process with threads (masteronly) or by a process per core (pure MPI).
// After Rabenseifner's experiment: orthogonal parallel communication.
//
// The processes are split into nodes evenly, in order of rank. Sizes are those of a message of pure MPI; a node sends as many
// messages' worth as it has threads in all its processes, so that both sides send as much:
//
//   vertical     each process exchanges with its counterparts on the next and the previous node, as many bytes as its threads have
//   horizontal   pure MPI only: each also exchanges as much with both neighbours in its node, where threads share memory
//   exchange     both
//
// The threads write what is sent and read what was received within the time; only the first communicates.
#include <fmt/core.h>

#include "mixed.hpp"

namespace plait::bench {
namespace {

struct OrthogonalOptions : MixedOptions {
  int nodes = 2;
};

/// Where a process stands among the nodes.
struct Place {
  int up, down;     ///< counterparts on the next and the previous node
  int left, right;  ///< neighbours in the same node; itself where it is alone
  bool alone;

  Place(const Job& job, int nodes) {
    const int each = job.processes / nodes, node = job.rank / each, seat = job.rank % each;
    up = (node + 1) % nodes * each + seat;
    down = (node + nodes - 1) % nodes * each + seat;
    right = node * each + (seat + 1) % each;
    left = node * each + (seat + each - 1) % each;
    alone = each == 1;
  }
};

class Exchanger {
 public:
  Exchanger(const Team& team, const Place& place, std::size_t bytes)
      : team_(team), place_(place), count_(bytes / sizeof(Number)), out_(4 * whole()), in_(4 * whole()), read_(4 * whole()) {}

  double run(bool vertical, bool horizontal, std::int64_t repeats) {
    vertical_ = vertical;
    horizontal_ = horizontal && !place_.alone;
    return team_.outside(repeats, [&](std::int64_t r) {
#pragma omp parallel num_threads(team_.threads) default(shared)
      for_each([&](int side, std::size_t at) { fill(out_.at(at), count_, seed(team_.rank, side, omp_get_thread_num(), r)); });
      transfer();
#pragma omp parallel num_threads(team_.threads) default(shared)
      for_each([&](int, std::size_t at) { std::memcpy(read_.at(at), in_.at(at), count_ * sizeof(Number)); });
    });
  }

  [[nodiscard]] std::int64_t wrong(std::int64_t repeats) {
    std::int64_t found = 0;
    for (int t = 0; t < team_.threads; ++t) {
      for (int side = 0; side < 4; ++side) {
        if (!(side < 2 ? vertical_ : horizontal_)) continue;
        const int from[] = {place_.down, place_.up, place_.left, place_.right};
        found += differs(read_.at(spot(side, t)), count_, seed(from[side], side, t, Team::last(repeats)));
      }
    }
    return found;
  }

 private:
  [[nodiscard]] std::size_t whole() const { return count_ * static_cast<std::size_t>(team_.threads); }
  [[nodiscard]] std::size_t spot(int side, int t) const {
    return static_cast<std::size_t>(side) * whole() + static_cast<std::size_t>(t) * count_;
  }
  static Number seed(int rank, int side, int t, std::int64_t repeat) { return repeat * 1'000'003 + rank * 10'007 + t * 101 + side; }

  /// Calls visit(side, place) for what this thread has of every message in use.
  template <class Visit>
  void for_each(Visit visit) const {
    for (int side = 0; side < 4; ++side) {
      if (side < 2 ? vertical_ : horizontal_) visit(side, spot(side, omp_get_thread_num()));
    }
  }

  void transfer() {
    if (vertical_) both(0, place_.up, place_.down);
    if (horizontal_) both(2, place_.right, place_.left);
  }

  /// Message `side` goes to one and comes from the other, and the next one the other way.
  void both(int side, int next, int previous) {
    const int n = static_cast<int>(whole());
    MPI_Sendrecv(out_.at(spot(side, 0)), n, MPI_INT64_T, next, side, in_.at(spot(side, 0)), n, MPI_INT64_T, previous, side, team_.whole(),
                 MPI_STATUS_IGNORE);
    MPI_Sendrecv(out_.at(spot(side + 1, 0)), n, MPI_INT64_T, previous, side + 1, in_.at(spot(side + 1, 0)), n, MPI_INT64_T, next, side + 1,
                 team_.whole(), MPI_STATUS_IGNORE);
  }

  const Team& team_;
  const Place& place_;
  std::size_t count_;
  Numbers out_, in_, read_;
  bool vertical_ = false, horizontal_ = false;
};

void benchmark(const Job& job, const OrthogonalOptions& o) {
  if (job.processes % o.nodes != 0) throw Error(fmt::format("{} processes cannot be split evenly into {} nodes", job.processes, o.nodes));
  const std::string name = o.threads > 1 ? "masteronly" : "pure-mpi";
  o.check_sizes();
  Report report("orthogonal", job, o, o.threads);
  const Team team(job, o.threads);
  const Place place(job, o.nodes);
  for (const std::size_t n : o.sizes) {
    const auto side = [&](const char* what, bool vertical, bool horizontal) {
      std::vector<Side> one;
      one.push_back({name, 1, [&, n, vertical, horizontal](std::int64_t repeats) {
                       Exchanger exchanger(team, place, n);
                       const double took = exchanger.run(vertical, horizontal, repeats);
                       insist(exchanger.wrong(repeats), name);
                       return took;
                     }});
      measure(one, o.time, o.rounds);
      report.add(what, {{"bytes", n}}, one);
    };
    side("exchange", true, true);
    if (place.alone) continue;
    side("vertical", true, false);
    side("horizontal", false, true);
  }
  report.write();
}

}  // namespace
}  // namespace plait::bench

int main(int argc, char** argv) {
  plait::bench::OrthogonalOptions o;
  o.threads = 1;
  plait::bench::CommandLine line("Masteronly against pure MPI: orthogonal parallel communication", "bench-orthogonal");
  line.number("--nodes", o.nodes, "Nodes that the processes are split into", 2, 1 << 20);
  o.describe_mixed(line);
  return plait::bench::run(argc, argv, line, [&](const plait::bench::Job& job) { plait::bench::benchmark(job, o); },
                           {2, plait::bench::kAny});
}
