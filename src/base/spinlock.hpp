// A lock for a few instructions' work between threads that rarely meet. Never held over a call that is not ours.
#pragma once

#include <sched.h>

#include <atomic>

#include "base/relax.hpp"

namespace plait {

class Spinlock {
 public:
  void lock() noexcept {
    // acquire: what the last holder wrote is seen. An uncontended lock is this one exchange.
    if (!held_.exchange(true, std::memory_order_acquire)) [[likely]]
      return;
    contended();
  }
  [[nodiscard]] bool try_lock() noexcept { return !held_.exchange(true, std::memory_order_acquire); }
  // release: what was written under the lock comes before it.
  void unlock() noexcept { held_.store(false, std::memory_order_release); }

 private:
  [[gnu::noinline]] void contended() noexcept {
    do {
      // relaxed: only a hint when to try again; the exchange orders.
      for (int i = 0; held_.load(std::memory_order_relaxed); ++i) {
        if (i < kSpins) {
          relax();
        } else {
          sched_yield();  // the holder may have lost its core
        }
      }
    } while (held_.exchange(true, std::memory_order_acquire));
  }

  static constexpr int kSpins = 64;
  std::atomic<bool> held_{false};
};

}  // namespace plait
