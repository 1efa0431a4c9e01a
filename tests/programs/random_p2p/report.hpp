// Where a thread is in the program, how a mismatch or an MPI error is told, and a watchdog for hangs.
#pragma once

#include <mpi.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace random_p2p {

/// What one thread is doing, for itself to report and for the watchdog to read.
struct Where {
  std::string replay;  ///< the command line that repeats this run
  int process = 0;
  int endpoint = 0;   ///< the first one that the thread drives
  int endpoints = 1;  ///< and how many
  std::atomic<std::uint32_t> round{0};
  std::atomic<const char*> call{"start"};
  std::atomic<std::size_t> pending{0};
  std::atomic<std::uint64_t> steps{0};  ///< grows while there is progress

  [[nodiscard]] std::string text() const {
    std::string s = "process " + std::to_string(process) + " endpoint " + std::to_string(endpoint);
    if (endpoints > 1) s += ".." + std::to_string(endpoint + endpoints - 1);
    return s + " round " + std::to_string(round.load());
  }
};

[[noreturn]] __attribute__((format(printf, 2, 3))) inline void fail(const Where& where, const char* format, ...) {
  char what[4000];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(what, sizeof what, format, arguments);
  va_end(arguments);
  std::fprintf(stderr, "random_p2p: WRONG: %s, in or after %s: %s\nrandom_p2p: again with: %s\n", where.text().c_str(), where.call.load(),
               what, where.replay.c_str());
  std::fflush(stderr);
  MPI_Abort(MPI_COMM_WORLD, 1);
  std::abort();
}

inline void check(Where& where, int error) {
  if (error == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(error, text, &length);
  fail(where, "error %d: %.*s", error, length, text);
}

/// An MPI call that must succeed.
#define RANDOM_P2P_TRY(where, call_name, ...)                  \
  do {                                                         \
    (where).call.store(#call_name, std::memory_order_relaxed); \
    ::random_p2p::check(where, call_name(__VA_ARGS__));        \
  } while (false)

/// Ends the job with a word about every thread of this process when one makes no step for so long.
class Watchdog {
 public:
  Watchdog(std::vector<Where>& threads, int patience) : thread_([this, &threads, patience] { watch(threads, patience); }) {}
  ~Watchdog() {
    {
      const std::lock_guard lock(mutex_);
      over_ = true;
    }
    wake_.notify_all();
    thread_.join();
  }
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

 private:
  void watch(std::vector<Where>& threads, int patience) {
    std::vector<std::uint64_t> steps(threads.size());
    std::vector<int> idle(threads.size());
    std::unique_lock lock(mutex_);
    while (!wake_.wait_for(lock, std::chrono::seconds(1), [this] { return over_; })) {
      bool stuck = false;
      for (std::size_t i = 0; i < threads.size(); ++i) {
        const std::uint64_t now = threads[i].steps.load(std::memory_order_relaxed);
        idle[i] = now == steps[i] ? idle[i] + 1 : 0;
        steps[i] = now;
        stuck = stuck || idle[i] >= patience;
      }
      if (!stuck) continue;
      for (const Where& w : threads) {
        std::fprintf(stderr, "random_p2p: STUCK: %s, in or after %s, %zu requests pending\n", w.text().c_str(), w.call.load(),
                     w.pending.load());
      }
      std::fprintf(stderr, "random_p2p: again with: %s\n", threads.front().replay.c_str());
      std::fflush(stderr);
      // The other processes are most likely stuck too: time for them to say where.
      wake_.wait_for(lock, std::chrono::seconds(3), [this] { return over_; });
      MPI_Abort(MPI_COMM_WORLD, 1);
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  bool over_ = false;
  std::thread thread_;
};

}  // namespace random_p2p
