#include "base/crowd.hpp"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <thread>

namespace plait {
namespace {

// Hints throughout: relaxed.
constinit std::atomic<int> processes{1};
constinit std::atomic<int> threads{0};
constinit std::atomic<bool> crowd{false};
thread_local bool joined = false;

/// Processes may be bound to cores of their own, or share all.
int cores_for(int n) noexcept {
  cpu_set_t set;
  const int all = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  return sched_getaffinity(0, sizeof set, &set) == 0 ? std::min(all, n * CPU_COUNT(&set)) : all;
}

}  // namespace

void set_processes_here(int n) noexcept { processes.store(std::max(n, 1), std::memory_order_relaxed); }

void join_crowd() noexcept {
  if (joined) return;
  joined = true;
  // The other processes are taken to be like this one.
  const int n = processes.load(std::memory_order_relaxed);
  const int here = threads.fetch_add(1, std::memory_order_relaxed) + 1;
  crowd.store(n * here > cores_for(n), std::memory_order_relaxed);
}

bool is_crowd() noexcept { return crowd.load(std::memory_order_relaxed); }

}  // namespace plait
