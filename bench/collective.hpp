// The collective benchmarks of the mixed-mode set: all threads of all processes take part, each with `bytes` of its own. What the
// threads of a process do around the MPI's call is in collective.cpp; the call itself, and which data goes where, is each benchmark's.
#pragma once

#include <cstring>
#include <memory>

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

/// An operation as the driver of the benchmark sees it.
struct Operation {
  bool has_data;  ///< else it has one size
  /// How many times `bytes` a process needs.
  std::size_t (*parts)(std::size_t threads, std::size_t ranks);
  std::unique_ptr<Collective> (*make)(const Team& team, Collective::Way way, std::size_t count);
};

/// The whole of such a benchmark. Gives what main returns.
int run_collective(int argc, char** argv, const char* name, const char* what, const Operation& operation);

/// The same of Op, a Collective made by Op(team, way, count), with Op::kHasData and Op::parts.
template <class Op>
int run_collective(int argc, char** argv, const char* name, const char* what) {
  const auto make = [](const Team& team, Collective::Way way, std::size_t count) -> std::unique_ptr<Collective> {
    return std::make_unique<Op>(team, way, count);
  };
  return run_collective(argc, argv, name, what, {Op::kHasData, Op::parts, make});
}

}  // namespace plait::bench
