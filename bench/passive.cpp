// bench-passive: how long a process waits for what it gets from the memory of another that computes and calls no MPI.
//
// Process 0 locks, gets 64 numbers one by one and unlocks, while process 1 computes for so many microseconds:
//
//   alone             with the MPI alone at the target
//   progress-thread   MPIX_Start_progress_thread(MPIX_STREAM_NULL) runs at the target, on a core of its own if there is one
//
// The time is that from the lock to the unlock.
#include <plait/mpix.h>

#include "common.hpp"

namespace plait::bench {
namespace {

constexpr int kCount = 64;

/// The window that process 0 gets from.
class Target {
 public:
  explicit Target(const Job& job) : job_(job), exposed_(kCount) {
    MPI_Win_create(exposed_.data(), static_cast<MPI_Aint>(kCount * sizeof(int)), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &window_);
  }
  Target(const Target&) = delete;
  Target& operator=(const Target&) = delete;
  ~Target() { MPI_Win_free(&window_); }

  /// Seconds that so many epochs took, each against a computation of its own.
  double run(double computes, bool helped, std::int64_t times, const std::string& side) {
    double took = 0;
    std::int64_t wrong = 0;
    if (helped && job_.rank == 1) MPIX_Start_progress_thread(MPIX_STREAM_NULL);
    for (std::int64_t i = 0; i < times; ++i) {
      const int first = static_cast<int>(i);
      if (job_.rank == 1) expose(first);
      MPI_Barrier(MPI_COMM_WORLD);
      if (job_.rank == 0) {
        took += get();
        for (int k = 0; k < kCount; ++k) wrong += got_[k] == first + 3 * k ? 0 : 1;
      } else {
        for (const double until = seconds() + computes; seconds() < until;) compute(1);
      }
      MPI_Barrier(MPI_COMM_WORLD);
    }
    if (helped && job_.rank == 1) MPIX_Stop_progress_thread(MPIX_STREAM_NULL);
    insist(wrong, side);
    return took;
  }

 private:
  void expose(int first) {
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, window_);
    for (int k = 0; k < kCount; ++k) exposed_[static_cast<std::size_t>(k)] = first + 3 * k;
    MPI_Win_unlock(1, window_);
  }

  double get() {
    const double begin = seconds();
    MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, window_);
    for (int k = 0; k < kCount; ++k) MPI_Get(&got_[k], 1, MPI_INT, 1, k, 1, MPI_INT, window_);
    MPI_Win_unlock(1, window_);
    return seconds() - begin;
  }

  const Job& job_;
  std::vector<int> exposed_;
  int got_[kCount]{};
  MPI_Win window_ = MPI_WIN_NULL;
};

void benchmark(const Job& job, const Options& o) {
  if (job.level < MPI_THREAD_MULTIPLE) throw Error("this MPI gives no MPI_THREAD_MULTIPLE, which a progress thread needs");
  Report report("passive", job, o, 2);
  Target target(job);
  int measured = 0;
  for (const std::size_t computes : o.sizes) {
    std::vector<Side> sides;
    for (const bool helped : {false, true}) {
      const std::string name = helped ? "progress-thread" : "alone";
      if (!o.wants(name)) continue;
      sides.push_back({name, 1, [&target, computes, helped, name](std::int64_t times) {
                         return target.run(1e-6 * static_cast<double>(computes), helped, times, name);
                       }});
    }
    measured += static_cast<int>(sides.size());
    measure(sides, o.time, o.rounds);
    report.add("get", {{"microseconds", computes}}, sides);
  }
  if (measured == 0) throw Error("--only: no side has such a name");
  report.write();
}

}  // namespace
}  // namespace plait::bench

int main(int argc, char** argv) {
  plait::bench::Options o;
  o.time = 0.02;
  o.sizes = {100, 1000, 10000, 100000};
  plait::bench::CommandLine line("Passive-target progress: gets from a process that computes", "bench-passive");
  o.describe_sizes(line, "Microseconds that the target computes");
  o.describe(line);
  return plait::bench::run(argc, argv, line, [&](const plait::bench::Job& job) { plait::bench::benchmark(job, o); });
}
