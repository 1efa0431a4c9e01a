#include "lend/board.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <ctime>

namespace plait::lend {

// acq_rel: who gets a CPU sees what was done before by those who had it, and lend.cpp relies on it that of two threads of the owner, one
// that lends and one that takes back, the later sees what the other did before. The program's data needs none of it.

bool Board::lend(std::span<const int> own) noexcept {
  bool any = false;
  for (const int cpu : own) {
    // relaxed: one that was taken back right now is lent at the next look.
    if ((at(cpu).load(std::memory_order_relaxed) & kLent) != 0) continue;
    at(cpu).fetch_or(kLent, std::memory_order_acq_rel);
    any = true;
  }
  // release: who asks finds what is lent.
  if (any) words_.some.store(1, std::memory_order_release);
  return any;
}

void Board::ask(std::span<const int> cpus) noexcept {
  if (words_.some.exchange(0, std::memory_order_acquire) == 0) return;
  bool any = false;
  for (const int cpu : cpus) {
    // relaxed: who begins to lend right now looks once more.
    if ((at(cpu).load(std::memory_order_relaxed) & kLent) == 0) continue;
    at(cpu).fetch_and(~kLent, std::memory_order_acq_rel);
    any = true;
  }
  if (!any) return;
  words_.asked.fetch_add(1, std::memory_order_release);
  syscall(SYS_futex, &words_.asked, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

std::uint32_t Board::times_asked() const noexcept { return words_.asked.load(std::memory_order_acquire); }

void Board::sleep(std::uint32_t times_asked, std::chrono::nanoseconds longest) const noexcept {
  const timespec limit{0, static_cast<long>(longest.count())};
  syscall(SYS_futex, &words_.asked, FUTEX_WAIT, times_asked, &limit, nullptr, 0);
}

void Board::reclaim(std::span<const int> own) noexcept {
  for (const int cpu : own) at(cpu).fetch_and(~kLent, std::memory_order_acq_rel);
}

std::size_t Board::borrow(std::span<const int> cpus, std::span<int> taken) noexcept {
  std::size_t n = 0;
  for (const int cpu : cpus) {
    if (n == taken.size()) break;
    std::uint64_t word = at(cpu).load(std::memory_order_relaxed);
    while (is_free(word)) {
      if (at(cpu).compare_exchange_weak(word, (word | borrower_) + kOnce, std::memory_order_acq_rel, std::memory_order_relaxed)) {
        taken[n++] = cpu;
        break;
      }
    }
  }
  return n;
}

void Board::give_back(std::span<const int> taken) noexcept {
  for (const int cpu : taken) {
    if (cpu < 0 || static_cast<std::size_t>(cpu) >= kMostCpus) continue;
    // relaxed: while this process is the borrower nobody else writes that.
    if ((at(cpu).load(std::memory_order_relaxed) & kBorrower) != borrower_) continue;
    at(cpu).fetch_and(~kBorrower, std::memory_order_acq_rel);
  }
}

std::size_t Board::count_free(std::span<const int> cpus) const noexcept {
  std::size_t n = 0;
  for (const int cpu : cpus) n += is_free(at(cpu).load(std::memory_order_relaxed)) ? 1 : 0;
  return n;
}

std::uint64_t Board::times_borrowed(std::span<const int> cpus) const noexcept {
  std::uint64_t n = 0;
  for (const int cpu : cpus) n += at(cpu).load(std::memory_order_relaxed) / kOnce;
  return n;
}

}  // namespace plait::lend
