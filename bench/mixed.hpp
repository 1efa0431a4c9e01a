// What the mixed-mode benchmarks share: the modes in which the threads of a process can communicate, the threads themselves and
// their clock. After the EPCC mixed-mode benchmarks: threads write what is sent and read what was received within the time, and
// contents are compared behind it.
//
//   masteronly   parallel regions write and read; between them, outside, the first thread communicates
//   funneled     one parallel region; in it the first thread communicates while the others wait at a barrier
//   multiple     each thread communicates for itself: messages on one communicator told apart by tags, collective calls on one each
//   streams      each thread on the communicator of a stream of its own
//   partitioned  each thread readies its partition of a partitioned message
//   threadcomm   each thread is a rank of a thread communicator
#pragma once

#include <mpi.h>
#include <omp.h>
#include <plait/mpix.h>
#include <plait/partitioned.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "common.hpp"
#include "traffic.hpp"

namespace plait::bench {

enum class Mode : std::uint8_t { masteronly, funneled, multiple, streams, partitioned, threadcomm };

struct NamedMode {
  Mode mode;
  const char* name;
};

constexpr NamedMode kModes[] = {{Mode::masteronly, "masteronly"}, {Mode::funneled, "funneled"},       {Mode::multiple, "multiple"},
                                {Mode::streams, "streams"},       {Mode::partitioned, "partitioned"}, {Mode::threadcomm, "threadcomm"}};

struct MixedOptions : Options {
  int threads = 2;

  MixedOptions() {
    time = 0.02;
    sizes = {8, 64, 512, 4096, 32768, 262144};
  }

  void describe_mixed(CommandLine& line) {
    line.number("-t,--threads", threads, "Threads in each process", 1, 1024);
    describe_sizes(line, "Bytes that each thread brings, multiples of 8");
    describe(line);
  }

  void check() const {
    check_sizes();
    if (std::none_of(std::begin(kModes), std::end(kModes), [&](const NamedMode& m) { return wants(m.name); })) {
      throw Error("--only: no side has such a name");
    }
  }
};

/// Why this mode cannot be measured here; empty where it can.
inline std::string why_not(Mode mode, const Job& job) {
  if (mode == Mode::multiple && job.level < MPI_THREAD_MULTIPLE) return "this MPI gives no MPI_THREAD_MULTIPLE";
  return {};
}

/// The threads of this process and the communicators of every mode.
class Team {
 public:
  /// Collective.
  Team(const Job& job, int count)
      : rank(job.rank),
        processes(job.processes),
        threads(count),
        duplicates_(Communicators::Kind::duplicate, count),
        streams_(Communicators::Kind::stream, count) {
    MPIX_Threadcomm_init(MPI_COMM_WORLD, count, &threadcomm_);
  }
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;
  ~Team() { MPIX_Threadcomm_free(&threadcomm_); }

  const int rank, processes, threads;

  /// For messages of all threads.
  [[nodiscard]] MPI_Comm whole() const { return duplicates_.comms[0]; }
  /// Thread t's own.
  [[nodiscard]] MPI_Comm duplicate(int t) const { return duplicates_.comms[static_cast<std::size_t>(t)]; }
  [[nodiscard]] MPI_Comm stream(int t) const { return streams_.comms[static_cast<std::size_t>(t)]; }
  [[nodiscard]] MPI_Comm threadcomm() const { return threadcomm_; }

  /// Seconds that so many calls of once(repeat) take, which may open parallel regions. Collective.
  template <class Once>
  double outside(std::int64_t repeats, Once once) const {
    for (std::int64_t i = 0; i < kWarmUp; ++i) once(i);
    MPI_Barrier(whole());
    const double begin = seconds();
    for (std::int64_t i = 0; i < repeats; ++i) once(i + kWarmUp);
    MPI_Barrier(whole());  // the last of all processes ends it
    return seconds() - begin;
  }

  /// The same of once(thread, repeat), called by all threads of one parallel region.
  template <class Once>
  double inside(Mode mode, std::int64_t repeats, Once once) const {
    double begin = 0, took = 0;
#pragma omp parallel num_threads(threads) default(shared)
    {
      const int t = omp_get_thread_num();
      if (mode == Mode::threadcomm) MPIX_Threadcomm_start(threadcomm_);
      for (std::int64_t i = 0; i < kWarmUp; ++i) once(t, i);
#pragma omp barrier
      if (t == 0) {
        MPI_Barrier(whole());
        begin = seconds();
      }
#pragma omp barrier
      for (std::int64_t i = 0; i < repeats; ++i) once(t, i + kWarmUp);
#pragma omp barrier
      if (t == 0) {
        MPI_Barrier(whole());  // the last of all processes ends it
        took = seconds() - begin;
      }
#pragma omp barrier
      if (mode == Mode::threadcomm) MPIX_Threadcomm_finish(threadcomm_);
    }
    return took;
  }

  static constexpr std::int64_t kWarmUp = 2;
  /// The number of the last repeat of so many.
  static std::int64_t last(std::int64_t repeats) { return kWarmUp + repeats - 1; }

 private:
  Communicators duplicates_, streams_;
  MPI_Comm threadcomm_ = MPI_COMM_NULL;
};

/// Measures all modes at all sizes. make(mode, bytes) gives the side's run; skip(mode) why a mode is left out. Collective.
template <class Make, class Skip>
void measure_modes(Report& report, const Job& job, const MixedOptions& o, const std::string& quantity, Make make, Skip skip) {
  std::vector<NamedMode> modes;
  for (const NamedMode& m : kModes) {
    if (!o.wants(m.name)) continue;
    std::string why = skip(m.mode);
    if (why.empty()) why = why_not(m.mode, job);
    if (why.empty()) {
      modes.push_back(m);
    } else {
      report.skip(m.name, why);
    }
  }
  for (const std::size_t n : o.sizes) {
    std::vector<Side> sides;
    sides.reserve(modes.size());
    for (const NamedMode& m : modes) sides.push_back({m.name, 1, make(m, n)});
    measure(sides, o.time, o.rounds);
    report.add(quantity, {{"bytes", n}}, sides);
  }
}

}  // namespace plait::bench
