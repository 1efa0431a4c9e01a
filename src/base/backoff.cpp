#include "base/backoff.hpp"

#include <sched.h>

#include <thread>

namespace plait {
namespace {

/// Rounds before the first yield. A round polls whatever is waited for, so this is some microseconds.
constexpr int kSpins = 64;

// Both are hints about how busy the machine is and order nothing: relaxed throughout.
constinit std::atomic<int> waiting{0};    ///< threads of this process that are waiting
constinit std::atomic<int> processes{1};  ///< processes on the same cores

int usable_cores() noexcept {
  static const int cores = [] {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
    return static_cast<int>(std::thread::hardware_concurrency());
  }();
  return cores;
}

void relax() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace

void Backoff::set_processes(int count) noexcept { processes.store(count > 0 ? count : 1, std::memory_order_relaxed); }

void Backoff::begin() noexcept {
  const int here = waiting.fetch_add(1, std::memory_order_relaxed) + 1;
  spins_left_ = here * processes.load(std::memory_order_relaxed) > usable_cores() ? 0 : kSpins;
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
