#include "base/backoff.hpp"

#include <sched.h>

#include <atomic>
#include <thread>

namespace plait {
namespace {

/// Rounds before the first yield. A round polls whatever is waited for, so this is some microseconds.
constexpr int kSpins = 64;

/// Threads of this process that are waiting. A hint that orders nothing: relaxed throughout.
constinit std::atomic<int> waiting{0};

int usable_cores() noexcept {
  static const int cores = [] {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
    return static_cast<int>(std::thread::hardware_concurrency());
  }();
  return cores;
}

}  // namespace

void Backoff::begin() noexcept {
  const int here = waiting.fetch_add(1, std::memory_order_relaxed) + 1;
  spins_left_ = here > usable_cores() ? 0 : kSpins;
}

Backoff::~Backoff() {
  if (spins_left_ >= 0) waiting.fetch_sub(1, std::memory_order_relaxed);
}

void Backoff::pause() noexcept {
  if (spins_left_ < 0) begin();
  if (spins_left_ > 0) {
    --spins_left_;
    relax();
  } else {
    sched_yield();
  }
}

}  // namespace plait
