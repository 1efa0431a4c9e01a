// Waiting for what can only be polled: spin a little, then yield the core at each round. Where those that wait outnumber
// the cores that the process may use, spinning is skipped. One object per wait, used by one thread.
#pragma once

#include <atomic>

namespace plait {

class Backoff {
 public:
  Backoff() = default;
  Backoff(const Backoff&) = delete;
  Backoff& operator=(const Backoff&) = delete;
  ~Backoff();

  /// One round without success.
  void pause() noexcept;

  /// How many processes share this one's cores (1 until told otherwise). Any thread.
  static void set_processes(int count) noexcept;

 private:
  void begin() noexcept;

  int spins_left_ = -1;  ///< -1: not waiting yet
};

}  // namespace plait
