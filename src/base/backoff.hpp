// Waiting for what can only be polled: spin a little, then yield the core at each round. Where those that wait outnumber
// the cores that the process may use, spinning is skipped. One object per wait, used by one thread.
#pragma once

namespace plait {

/// Tells the processor that this thread polls.
inline void relax() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

class Backoff {
 public:
  Backoff() = default;
  Backoff(const Backoff&) = delete;
  Backoff& operator=(const Backoff&) = delete;
  ~Backoff();

  /// One round without success.
  void pause() noexcept;

 private:
  void begin() noexcept;

  int spins_left_ = -1;  ///< -1: not waiting yet
};

}  // namespace plait
