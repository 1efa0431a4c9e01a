// Are the cores oversubscribed: are there more threads that wait for each other than cores for them? Then a thread that polls keeps
// the threads that it waits for from running. These are hints and order nothing. Any thread.
#pragma once

#include <atomic>

namespace plait::progress {

/// That this thread may use.
[[nodiscard]] int cores() noexcept;

/// How many processes of the job run on this node, as far as is known: 1 if it is not.
void set_processes_here(int processes) noexcept;
/// This thread takes part in what its process does with others; said as often as it likes. The other processes are taken to be
/// like this one.
void count_thread() noexcept;
/// How many endpoints there are on this node, and how many cores they have together, as their processes have told each other:
/// they may be bound to cores of their own.
void set_endpoints_here(int endpoints, int cores) noexcept;

extern std::atomic<bool> more_threads_than_cores;
[[nodiscard]] inline bool oversubscribed() noexcept { return more_threads_than_cores.load(std::memory_order_relaxed); }

}  // namespace plait::progress
