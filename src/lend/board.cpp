#include "lend/board.hpp"

namespace plait::lend {

// acq_rel: who gets a CPU sees what was done before by those who had it, and lend.cpp relies on it that of two threads of the owner, one
// that lends and one that takes back, the later sees what the other did before. The program's data needs none of it.

void Board::lend(std::span<const int> own) noexcept {
  for (const int cpu : own) at(cpu).fetch_or(kLent, std::memory_order_acq_rel);
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
  for (const int cpu : taken) at(cpu).fetch_and(~kBorrower, std::memory_order_acq_rel);
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
