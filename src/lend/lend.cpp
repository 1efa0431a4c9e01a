#include "lend/lend.hpp"

#include <pthread.h>

#include <chrono>
#include <utility>

namespace plait::lend {

constinit std::atomic<bool> polling{false};
constinit std::atomic<bool> lending{false};
/// Counted from the start: one may begin before MPI_Init and end after it.
constinit std::atomic<int> regions{0};

namespace {

using Clock = std::chrono::steady_clock;

/// Each asking wakes all that lend; who lends looks after 50 us in any case.
constexpr auto kBetweenAskings = std::chrono::microseconds(20);

struct Process {
  Board board;
  std::vector<int> own, others, all;
  std::atomic<std::uint64_t> borrowed{0};
  std::atomic<Clock::time_point> asked{Clock::time_point{}};  ///< others, by any thread; relaxed: a hint
};

/// Never destroyed: threads may wait, and end regions, while the program ends.
constinit std::atomic<Process*> the_process{nullptr};
constinit std::atomic<bool> stopped{false};

/// acquire: what start() has made. Null before it.
Process* process() noexcept { return the_process.load(std::memory_order_acquire); }

}  // namespace

void poll() noexcept { polling.store(true, std::memory_order_relaxed); }

void start(Words& words, int number, std::vector<int> own, std::vector<int> others) {
  std::vector<int> all = own;
  all.insert(all.end(), others.begin(), others.end());
  the_process.store(new Process{{words, number}, std::move(own), std::move(others), std::move(all)}, std::memory_order_release);
  // A child of fork() would lend and borrow in its parent's name.
  pthread_atfork(nullptr, nullptr, [] {
    lending.store(false, std::memory_order_relaxed);
    the_process.store(nullptr, std::memory_order_relaxed);
  });
  lending.store(true, std::memory_order_relaxed);
}

void stop() noexcept {
  stopped.store(true, std::memory_order_relaxed);
  set_enabled(false);
}

void set_enabled(bool enabled) noexcept {
  Process* const p = process();
  if (!p) return;
  lending.store(enabled && !stopped.load(std::memory_order_relaxed), std::memory_order_relaxed);
  if (!enabled) p->board.reclaim(p->own);
}

Lent lend(std::uint32_t asked) noexcept {
  Process* const p = process();
  if (!p || !may_lend()) return Lent::no;
  // Asked again since the look: that is to be made anew.
  if (p->board.times_asked() != asked) return Lent::before;
  if (!p->board.lend(p->own)) return Lent::before;
  // A region that begins meanwhile, or who ends lending, takes back what was lent here, or did so before, and then the board makes it
  // seen here.
  if (may_lend()) return Lent::now;
  p->board.reclaim(p->own);
  return Lent::no;
}

std::uint32_t times_asked() noexcept { return process() ? process()->board.times_asked() : 0; }

void sleep(std::uint32_t asked, std::chrono::nanoseconds longest) noexcept {
  if (process()) process()->board.sleep(asked, longest);
}

void ask_others() noexcept {
  Process* const p = process();
  if (!p || !is_on() || !p->board.any_to_ask()) return;
  const Clock::time_point now = Clock::now();
  if (now - p->asked.load(std::memory_order_relaxed) < kBetweenAskings) return;
  p->asked.store(now, std::memory_order_relaxed);
  // This process's too, where a thread of it waits: else nobody would ask for them any more.
  p->board.ask(p->all);
}

void end_wait() noexcept {
  if (Process* const p = process()) p->board.reclaim(p->own);
}

std::size_t begin_region(std::span<int> cpus) noexcept {
  regions.fetch_add(1, std::memory_order_relaxed);
  Process* const p = process();
  if (!p) return 0;
  p->board.reclaim(p->own);
  if (!is_on()) return 0;
  const std::size_t n = p->board.borrow(p->others, cpus);
  if (n > 0) p->borrowed.fetch_add(n, std::memory_order_relaxed);
  return n;
}

void end_region(std::span<const int> borrowed) noexcept {
  if (Process* const p = process()) p->board.give_back(borrowed);
  regions.fetch_sub(1, std::memory_order_relaxed);
}

std::size_t own_cpus() noexcept { return process() ? process()->own.size() : 0; }
std::size_t most_borrowed() noexcept { return process() ? process()->others.size() : 0; }
std::size_t free_to_borrow() noexcept { return process() && is_on() ? process()->board.count_free(process()->others) : 0; }

Counts counts() noexcept {
  Process* const p = process();
  if (!p) return {0, 0};
  return {p->borrowed.load(std::memory_order_relaxed), p->board.times_borrowed(p->own)};
}

}  // namespace plait::lend
