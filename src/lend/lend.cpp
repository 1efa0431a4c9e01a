#include "lend/lend.hpp"

#include <utility>

namespace plait::lend {

constinit std::atomic<bool> polling{false};
constinit std::atomic<bool> lending{false};

namespace {

struct Process {
  Board board;
  std::vector<int> own, others;
  std::atomic<int> regions{0};
  std::atomic<std::uint64_t> borrowed{0};
};

/// Never destroyed: threads may wait, and end regions, while the program ends.
constinit std::atomic<Process*> the_process{nullptr};
constinit std::atomic<bool> stopped{false};

/// acquire: what start() has made. Null before it.
Process* process() noexcept { return the_process.load(std::memory_order_acquire); }

}  // namespace

void poll() noexcept { polling.store(true, std::memory_order_relaxed); }

void start(Words& words, int number, std::vector<int> own, std::vector<int> others) {
  the_process.store(new Process{{words, number}, std::move(own), std::move(others)}, std::memory_order_release);
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

void begin_wait() noexcept {
  Process* const p = process();
  if (!p || !is_on()) return;
  // A region that begins meanwhile takes back what was lent here, or did so before, and then the board makes it seen below.
  if (p->regions.load(std::memory_order_relaxed) > 0) return;
  p->board.lend(p->own);
  if (p->regions.load(std::memory_order_relaxed) > 0) p->board.reclaim(p->own);
}

std::uint32_t times_asked() noexcept { return process() ? process()->board.times_asked() : 0; }

void wait_again(std::uint32_t asked) noexcept {
  // Asked again since the look: that is to be made anew.
  if (process() && process()->board.times_asked() == asked) begin_wait();
}

void sleep(std::uint32_t asked, std::chrono::nanoseconds longest) noexcept {
  if (process()) process()->board.sleep(asked, longest);
}

void ask_others() noexcept {
  Process* const p = process();
  if (p && is_on()) p->board.ask(p->others);
}

void end_wait() noexcept {
  if (Process* const p = process()) p->board.reclaim(p->own);
}

std::size_t begin_region(std::span<int> cpus) noexcept {
  Process* const p = process();
  if (!p) return 0;
  p->regions.fetch_add(1, std::memory_order_relaxed);
  p->board.reclaim(p->own);
  if (!is_on()) return 0;
  const std::size_t n = p->board.borrow(p->others, cpus);
  if (n > 0) p->borrowed.fetch_add(n, std::memory_order_relaxed);
  return n;
}

void end_region(std::span<const int> borrowed) noexcept {
  Process* const p = process();
  if (!p) return;
  p->board.give_back(borrowed);
  p->regions.fetch_sub(1, std::memory_order_relaxed);
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
