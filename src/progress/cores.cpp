#include "progress/cores.hpp"

#include <sched.h>

#include <algorithm>
#include <thread>

namespace plait::progress {

constinit std::atomic<bool> more_threads_than_cores{false};

namespace {

constinit std::atomic<int> processes{1};
constinit std::atomic<int> threads{0};
constinit std::atomic<bool> by_threads{false};
constinit std::atomic<bool> by_endpoints{false};

int all_cores() noexcept { return std::max(1, static_cast<int>(std::thread::hardware_concurrency())); }

/// Processes may be bound to cores of their own, or share all.
int cores_of(int n) noexcept { return std::min(all_cores(), n * cores()); }

void decide() noexcept {
  const bool more = by_threads.load(std::memory_order_relaxed) || by_endpoints.load(std::memory_order_relaxed);
  more_threads_than_cores.store(more, std::memory_order_relaxed);
}

}  // namespace

int cores() noexcept {
  cpu_set_t mine;
  return sched_getaffinity(0, sizeof mine, &mine) == 0 ? CPU_COUNT(&mine) : all_cores();
}

void set_processes_here(int n) noexcept { processes.store(std::max(n, 1), std::memory_order_relaxed); }

void count_thread() noexcept {
  thread_local bool counted = false;
  if (counted) [[likely]]
    return;
  counted = true;
  const int n = processes.load(std::memory_order_relaxed);
  const int here = threads.fetch_add(1, std::memory_order_relaxed) + 1;
  by_threads.store(n * here > cores_of(n), std::memory_order_relaxed);
  decide();
}

void set_endpoints_here(int endpoints, int cores) noexcept {
  by_endpoints.store(endpoints > cores, std::memory_order_relaxed);
  decide();
}

}  // namespace plait::progress
