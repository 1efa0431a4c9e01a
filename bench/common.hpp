// What the benchmarks share: the job and its start, figures taken in turn, and their report.
//
//   side     one of the things compared, like "mpi" or "raw-ring"
//   repeat   one unit of a side's work, like a window of messages or a ping-pong
//   round    one measurement of every side; the order rotates from round to round
//
// All functions are called by the main thread, and those that say collective by the main threads of all processes.
#pragma once

#include <fmt/core.h>
#include <mpi.h>
#include <sched.h>
#ifdef _OPENMP
#include <omp.h>
#endif

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

namespace plait::bench {

/// Why a benchmark cannot go on. Thrown by all processes alike; process 0 prints it in one line.
struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

inline double seconds() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// Median, least and most of a sample that is not empty.
struct Summary {
  double median, least, most;

  explicit Summary(std::vector<double> v) {
    std::sort(v.begin(), v.end());
    const std::size_t n = v.size();
    median = 0.5 * (v[(n - 1) / 2] + v[n / 2]);
    least = v.front();
    most = v.back();
  }
};

/// The least difference between two readings of the clock that is not 0.
inline double clock_resolution() {
  double least = 1;
  for (int i = 0; i < 1000; ++i) {
    const double begin = seconds();
    double end = begin;
    while (end == begin) end = seconds();
    least = std::min(least, end - begin);
  }
  return least;
}

/// The first line of that file in /proc which starts so, after its colon; the first line of all for an empty start.
inline std::string from_proc(const char* file, const std::string& start) {
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(start)) return start.empty() ? line : line.substr(std::min(line.find(": ") + 2, line.size()));
  }
  return {};
}

/// The processes that take part and the cores that they have.
struct Job {
  int rank = 0, processes = 1, level = MPI_THREAD_SINGLE;
  int nodes = 1;            ///< groups of processes that can share memory
  bool one_node = true;     ///< there is one such group
  bool one_machine = true;  ///< all processes share cores, also from several simulated nodes
  int cores = 1;            ///< that all processes on this machine may use together
  int cores_here = 1;       ///< that this process may use: a launcher may bind each to its own

  /// Collective.
  static Job find() {
    Job job;
    PMPI_Comm_rank(MPI_COMM_WORLD, &job.rank);
    PMPI_Comm_size(MPI_COMM_WORLD, &job.processes);
    PMPI_Query_thread(&job.level);
    MPI_Comm node = MPI_COMM_NULL;
    int rank_on_node = 0;
    PMPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    PMPI_Comm_rank(node, &rank_on_node);
    PMPI_Comm_free(&node);
    job.nodes = static_cast<int>(sum(rank_on_node == 0 ? 1 : 0));
    job.one_node = job.nodes == 1;
    std::array<char, 64> boot{}, first{};
    from_proc("/proc/sys/kernel/random/boot_id", "").copy(boot.data(), boot.size());
    first = boot;
    PMPI_Bcast(first.data(), static_cast<int>(first.size()), MPI_CHAR, 0, MPI_COMM_WORLD);
    job.one_machine = sum(first == boot ? 0 : 1) == 0;
    cpu_set_t mine = usable(), all{};
    PMPI_Allreduce(&mine, &all, static_cast<int>(sizeof all), MPI_BYTE, MPI_BOR, MPI_COMM_WORLD);
    job.cores_here = CPU_COUNT(&mine);
    job.cores = job.one_machine ? CPU_COUNT(&all) : job.cores_here;
    return job;
  }

  /// The processors that this process may use.
  [[nodiscard]] static cpu_set_t usable() {
    cpu_set_t mine{};
    sched_getaffinity(0, sizeof mine, &mine);
#ifdef _OPENMP
    // OpenMP may have bound this thread to one of its places already.
    for (int place = 0; place < omp_get_num_places(); ++place) {
      std::vector<int> ids(static_cast<std::size_t>(omp_get_place_num_procs(place)));
      omp_get_place_proc_ids(place, ids.data());
      for (const int id : ids) CPU_SET(id, &mine);
    }
#endif
    return mine;
  }

  /// Whether so many spinning threads in each process have a core each.
  [[nodiscard]] bool room_for(int threads) const { return threads <= cores_here && threads * (one_machine ? processes : 1) <= cores; }

  /// As process 0 has it. Collective.
  [[nodiscard]] static double agreed(double value) {
    PMPI_Bcast(&value, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    return value;
  }

  /// The sum over all processes. Collective.
  [[nodiscard]] static std::int64_t sum(std::int64_t value) {
    std::int64_t all = 0;
    PMPI_Allreduce(&value, &all, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    return all;
  }
};

/// One of the things compared.
struct Side {
  std::string name;
  int units = 1;  ///< messages, trips or copies in a repeat
  /// Makes so many repeats and gives the seconds they took, of which process 0's count. Collective.
  std::function<double(std::int64_t repeats)> run;
  std::int64_t repeats = 1;
  std::vector<double> samples{};  // NOLINT(readability-redundant-member-init): gcc misses it; seconds a unit, one a round
};

/// Measures every side once a round, after finding for each how many repeats take `time` seconds, which also warms it up. No
/// measurement is so short that the clock's resolution would show. Collective.
inline void measure(std::vector<Side>& sides, double time, int rounds) {
  time = Job::agreed(std::max(time, 1000 * clock_resolution()));
  for (Side& side : sides) {
    double took = 0;
    std::int64_t n = 1;
    for (;; n *= 4) {
      PMPI_Barrier(MPI_COMM_WORLD);
      took = side.run(n);
      took = Job::agreed(std::min(took, side.run(n)));  // one may have met something else
      if (took > time / 4) break;
    }
    side.repeats = std::max<std::int64_t>(1, static_cast<std::int64_t>(static_cast<double>(n) * time / took));
  }
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t k = 0; k < sides.size(); ++k) {
      Side& side = sides[(k + static_cast<std::size_t>(round)) % sides.size()];
      PMPI_Barrier(MPI_COMM_WORLD);
      side.samples.push_back(side.run(side.repeats) / static_cast<double>(side.repeats) / side.units);
    }
  }
}

/// All processes learn whether a message had wrong contents. Collective.
inline void insist(std::int64_t wrong, const std::string& side) {
  if (const auto all = Job::sum(wrong); all != 0) throw Error(fmt::format("{}: {} messages with wrong contents", side, all));
}

/// What every benchmark takes from its command line.
struct Options {
  std::string out;
  int rounds = 7;
  double time = 0;  ///< seconds each measurement of a side takes
  std::vector<std::string> only;
  std::vector<std::size_t> sizes;

  void describe_sizes(CLI::App& app, const std::string& what) {
    app.add_option("--sizes", sizes, what)->delimiter(',')->check(CLI::Range(std::size_t{0}, std::size_t{1} << 30))->capture_default_str();
  }

  /// Of messages that consist of numbers.
  void check_sizes() const {
    for (const std::size_t n : sizes) {
      if (n == 0 || n % 8 != 0) throw Error(fmt::format("--sizes: {} is no multiple of 8", n));
    }
  }

  void describe(CLI::App& app) {
    app.add_option("-o,--out", out, "Write the figures there as JSON");
    app.add_option("--rounds", rounds, "Measure every side so many times, in turn")->check(CLI::Range(1, 100000))->capture_default_str();
    app.add_option("--time", time, "Seconds that one measurement takes")->check(CLI::Range(1e-6, 60.0))->capture_default_str();
    app.add_option("--only", only, "Measure only sides whose names contain this; may be repeated")->allow_extra_args(false);
  }

  [[nodiscard]] bool wants(const std::string& side) const {
    return only.empty() || std::any_of(only.begin(), only.end(), [&](const auto& o) { return side.find(o) != std::string::npos; });
  }
};

/// What was measured on what, and where it will stand: docs/benchmarks.md has the format. Process 0 prints and writes, the others
/// do nothing.
class Report {
 public:
  static constexpr int kSchema = 1;

  /// Opens the file before anything is measured. Collective.
  Report(const char* benchmark, const Job& job, const Options& o, int threads) : prints_(job.rank == 0) {
    if (prints_ && !o.out.empty()) file_.open(o.out);
    if (Job::sum(file_ ? 0 : 1) != 0) throw Error(fmt::format("{} cannot be written", o.out));
    char version[MPI_MAX_LIBRARY_VERSION_STRING]{};
    int length = 0;
    PMPI_Get_library_version(version, &length);
    const std::string mpi(version);
    json = {{"schema", kSchema},
            {"benchmark", benchmark},
            {"mpi", mpi.substr(0, mpi.find('\n'))},
            {"machine", {{"cpu", from_proc("/proc/cpuinfo", "model name")}, {"cores", job.cores}, {"load", load()}}},
            {"clock_resolution", clock_resolution()},
            {"processes", job.processes},
            {"threads", threads},
            {"nodes", job.nodes},
            {"oversubscribed", !job.room_for(threads)},
            {"rounds", o.rounds},
            {"seconds_a_measurement", o.time},
            {"skipped", nlohmann::json::object()},
            {"points", nlohmann::json::array()}};
    if (!prints_) return;
    fmt::print("{}\n{} process{}{} x {} thread{}, {} core{}{}, load average {:.2f}, {} round{}\n", json["mpi"].get<std::string>(),
               job.processes, job.processes == 1 ? "" : "es", job.one_node ? "" : fmt::format(" on {} nodes", job.nodes), threads,
               threads == 1 ? "" : "s", job.cores, job.cores == 1 ? "" : "s",
               job.room_for(threads) ? "" : " (oversubscribed: threads share cores)", load(), o.rounds, o.rounds == 1 ? "" : "s");
  }

  /// That this side has no figures, and why.
  void skip(const std::string& side, const std::string& why) {
    json["skipped"][side] = why;
    if (prints_) fmt::print("{}: skipped, {}\n", side, why);
  }

  /// A side's samples: of which quantity, in which unit, and where, like {"bytes": 8}.
  void add(const std::string& quantity, const std::string& unit, const nlohmann::json& at, const Side& side,
           const std::vector<double>& samples) {
    json["points"].push_back(
        {{"quantity", quantity}, {"unit", unit}, {"side", side.name}, {"at", at}, {"repeats", side.repeats}, {"samples", samples}});
  }

  /// All sides' seconds a unit; also printed, in microseconds.
  void add(const std::string& quantity, const nlohmann::json& at, const std::vector<Side>& sides) {
    std::string where;
    for (const auto& [key, value] : at.items()) where += fmt::format("{} {} ", value.dump(), key);
    for (const Side& side : sides) {
      add(quantity, "s", at, side, side.samples);
      if (!prints_) continue;
      const Summary s(side.samples);
      fmt::print("{:<16} {:>18} {:<16} {:>10.4g} us [{:.4g} {:.4g}]\n", quantity, where, side.name, 1e6 * s.median, 1e6 * s.least,
                 1e6 * s.most);
    }
    std::fflush(stdout);
  }

  [[nodiscard]] bool prints() const { return prints_; }

  void write() {
    if (file_.is_open()) file_ << json.dump(1) << '\n' << std::flush;
    if (Job::sum(file_ ? 0 : 1) != 0) throw Error("the JSON could not be written");
  }

  nlohmann::json json;

 private:
  static double load() {
    double minute = 0;
    return getloadavg(&minute, 1) == 1 ? minute : 0;
  }

  bool prints_;
  std::ofstream file_;
};

/// How many processes a benchmark takes.
struct Needs {
  int least = 2, most = 2;
  bool even = false;

  void check(int processes) const {
    if (least == most && processes != least) throw Error(fmt::format("needs {0} processes, has {1}: plait run -n {0}", least, processes));
    if (processes < least || processes > most) throw Error(fmt::format("needs {} processes or more, has {}", least, processes));
    if (even && processes % 2 != 0) throw Error(fmt::format("needs an even number of processes, has {}", processes));
  }
};

constexpr int kAny = 1 << 30;

/// Starts MPI, reads the command line and runs the benchmark; the status that main returns.
inline int run(int argc, char** argv, CLI::App& app, const std::function<void(const Job&)>& benchmark, Needs needs = {}) {
  int level = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  const Job job = Job::find();
  int status = 0;
  const auto fail = [&](int code, const char* why) {
    status = code;
    if (job.rank == 0) fmt::print(stderr, "{}: {}\n", app.get_name(), why);
  };
  try {
    app.parse(argc, argv);
    needs.check(job.processes);
    benchmark(job);
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() != 0) {
      fail(2, e.what());
    } else if (job.rank == 0) {
      app.exit(e);  // --help
    }
  } catch (const std::exception& e) {
    fail(1, e.what());
  }
  MPI_Finalize();
  return status;
}

}  // namespace plait::bench
