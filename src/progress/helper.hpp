// The helper: a thread of plait's that drives the sources while the program's own threads are elsewhere, blocked in the MPI or
// computing. There is at most one; it sleeps while nobody has engaged it. Any thread.
#pragma once

#include "base/mpi_lock.hpp"
#include "progress/source.hpp"

namespace plait::progress {

/// Has all that is pending moved on until released. False where no thread can be had.
bool engage_helper() noexcept;
void release_helper() noexcept;

/// MPIX_Start_progress_thread and its end: `round` is made again and again with `key`, whatever is pending. False where no thread
/// can be had.
bool start_thread(int key, bool (*round)(int key)) noexcept;
/// False where it was not started. No round with `key` is made after this.
bool stop_thread(int key) noexcept;

/// Several threads of the program may start something of plait's at any time, also while one of them is blocked in the MPI, and be it
/// the first thing of plait's that there is.
void expect_threads() noexcept;
/// A source has been made, while threads may be blocked already.
void help_those_blocked() noexcept;

/// Before the MPI is finalized.
void stop_helper() noexcept;

/// Around a call of the MPI's that may block. MPI wants all that was started to move on while any call blocks: if there is
/// something of plait's, the helper moves it meanwhile. Takes the lock around the MPI.
class Blocking {
 public:
  Blocking() noexcept {
    // relaxed: whoever is to be found by help_those_blocked() has seen it since MPI_Init.
    if (concerns.load(std::memory_order_relaxed)) [[unlikely]]
      begin();
  }
  ~Blocking() {
    if (helped_) [[unlikely]]
      release_helper();
  }
  Blocking(const Blocking&) = delete;
  Blocking& operator=(const Blocking&) = delete;

 private:
  friend void expect_threads() noexcept;
  friend void help_those_blocked() noexcept;
  [[gnu::noinline]] void begin() noexcept;
  static std::atomic<bool> concerns;  ///< there are sources, or threads are expected

  bool helped_ = false;
  MpiLock lock_;
};

}  // namespace plait::progress
