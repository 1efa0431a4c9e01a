// The collective benchmarks of the mixed-mode set: all threads of all processes take part, each with `bytes` of its own. What the
// threads of a process do around the MPI's call is here; the call itself, and which data goes where, is each benchmark's.
#pragma once

#include "mixed.hpp"

namespace plait::bench {

/// One collective operation among all threads, for one measurement. The first process is the root.
///
/// Numbers are counted per thread: `count` of each. In Way::share thread t's data lies together, so that the threads need
/// not wait for each other; in the other ways process by process as the MPI wants it.
class Collective {
 public:
  enum class Way : std::uint8_t {
    whole,  ///< the first thread communicates for all
    share,  ///< each thread communicates for its share
    rank    ///< each thread is a rank
  };

  Collective(const Team& team, Way way, std::size_t count) : team_(team), way_(way), count_(count) {}
  Collective(const Collective&) = delete;
  Collective& operator=(const Collective&) = delete;
  virtual ~Collective() = default;

  /// Thread t writes its part of what its process gives; what it writes differs from repeat to repeat.
  virtual void write(int /*t*/, std::int64_t /*repeat*/) {}
  /// Thread t adds its share of what the threads of its process have written; reductions only.
  virtual void combine(int /*t*/) {}
  /// The MPI's call, for all threads, for thread t's share, or by thread t as a rank.
  virtual void call(int t, MPI_Comm comm) = 0;
  /// Thread t reads what it gets.
  virtual void read(int /*t*/) {}
  /// Whether thread t has read anything wrong, 1 or 0.
  [[nodiscard]] virtual std::int64_t wrong(int /*t*/, std::int64_t /*repeat*/) { return 0; }

  bool combines = false;  ///< combine does something
  bool reads = true;      ///< read does something
  bool mixes = false;     ///< in Way::share threads read what others received

 protected:
  [[nodiscard]] bool root() const { return team_.rank == 0; }
  [[nodiscard]] std::size_t threads() const { return static_cast<std::size_t>(team_.threads); }
  [[nodiscard]] std::size_t processes() const { return static_cast<std::size_t>(team_.processes); }
  [[nodiscard]] std::size_t ranks() const { return threads() * processes(); }
  /// Whether thread t does the root's work, alone or with the other threads of the root process.
  [[nodiscard]] bool at_root(int t) const { return root() && (way_ != Way::rank || t == 0); }
  /// Where the data of that thread of that process lies, in numbers.
  [[nodiscard]] std::size_t place(std::size_t process, std::size_t thread) const {
    return count_ * (way_ == Way::share ? thread * processes() + process : process * threads() + thread);
  }
  /// The first of `count` numbers that are thread t's when all threads of the process share them.
  [[nodiscard]] std::size_t share(int t) const { return count_ * static_cast<std::size_t>(t) / threads(); }
  [[nodiscard]] Number seed(std::size_t process, std::size_t thread, std::int64_t repeat) const {
    return repeat * 1'000'003 + static_cast<Number>(process * threads() + thread) * 101;
  }
  [[nodiscard]] Number my_seed(int t, std::int64_t repeat) const {
    return seed(static_cast<std::size_t>(team_.rank), static_cast<std::size_t>(t), repeat);
  }

  const Team& team_;
  Way way_;
  std::size_t count_;
};

/// Runs a collective operation in a mode; seconds for so many repeats. Collective.
inline double run_collective(const Team& team, Mode mode, Collective& op, std::int64_t repeats) {
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

inline std::string no_collective(Mode mode) {
  if (mode == Mode::streams) return "collective calls on a stream's communicator are the MPI's own, as in multiple";
  if (mode == Mode::partitioned) return "there are no partitioned collective calls";
  return {};
}

/// The whole of such a benchmark of an operation. Gives what main returns. Op(team, way, count) is a Collective and
/// Op::parts(threads, ranks) says how many times `bytes` a process needs.
template <class Op>
int run_collective(int argc, char** argv, const char* name, const char* what) {
  MixedOptions o;
  CLI::App app(what, std::string("bench-") + name);
  if (!Op::kHasData) o.sizes = {8};
  o.describe_mixed(app);
  return run(argc, argv, app,
             [&](const Job& job) {
               o.check();
               constexpr std::size_t kMost = std::size_t{1} << 30;
               const auto threads = static_cast<std::size_t>(o.threads), ranks = threads * static_cast<std::size_t>(job.processes);
               Report report(name, job, o, o.threads);
               if (!Op::kHasData) o.sizes = {8};
               std::erase_if(o.sizes, [&](std::size_t n) {
                 const bool much = n * Op::parts(threads, ranks) > kMost;
                 if (much) report.skip(fmt::format("{} B", n), "a process would need more than 1 GB");
                 return much;
               });
               const Team team(job, o.threads);
               const auto make = [&](const NamedMode& m, std::size_t bytes) {
                 return [&team, m, bytes](std::int64_t repeats) {
                   using Way = Collective::Way;
                   const Way way = m.mode == Mode::multiple ? Way::share : m.mode == Mode::threadcomm ? Way::rank : Way::whole;
                   Op op(team, way, bytes / sizeof(Number));
                   const double took = run_collective(team, m.mode, op, repeats);
                   std::int64_t wrong = 0;
                   for (int t = 0; t < team.threads; ++t) wrong += op.wrong(t, Team::last(repeats));
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
