// A lock for a few instructions' work between threads that rarely meet. Never held over a call that is not ours.
#pragma once

#include <atomic>

#include "base/backoff.hpp"

namespace plait {

class Spinlock {
 public:
  void lock() noexcept {
    // acquire: what the last holder wrote is seen. An uncontended lock is this one exchange.
    if (!held_.exchange(true, std::memory_order_acquire)) [[likely]]
      return;
    contended();
  }
  // release: what was written under the lock comes before it.
  void unlock() noexcept { held_.store(false, std::memory_order_release); }

 private:
  [[gnu::noinline]] void contended() noexcept {
    Backoff backoff;  // the holder may have lost its core: yield to it
    do {
      // relaxed: only a hint when to try again; the exchange orders.
      while (held_.load(std::memory_order_relaxed)) backoff.pause();
    } while (held_.exchange(true, std::memory_order_acquire));
  }

  std::atomic<bool> held_{false};
};

}  // namespace plait
