// The board: in memory that the processes of a node share, a word for each CPU of the node.
//
//     word    how often it was borrowed (32 bits) | borrower | lent
//
// The owner sets and clears `lent`; others put themselves in as the borrower where it is set and there is none, and take themselves out
// when they have done with it. An owner that wants its CPU back clears `lent` and goes on at once: a borrower that still has it keeps it to
// the end of its region, and nobody else gets it. So a CPU has one borrower at most; and whatever becomes of a borrower, its owner has it.
//
// What has ended a wait is known to the one that has ended it before the one that waits has woken. So a process that calls the MPI asks
// those that lend: it clears their `lent` for them, and wakes them. Who still waits after a look sets it again.
//
// Each process has a Board of its own on the words. Any thread.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>

namespace plait::lend {

inline constexpr std::size_t kMostCpus = 1024;

/// Zeroed memory is a board on which nothing is lent.
struct Words {
  std::array<std::atomic<std::uint64_t>, kMostCpus> cpu;
  std::atomic<std::uint32_t> some;   ///< not 0: some may be lent, of whom nobody has asked since
  std::atomic<std::uint32_t> asked;  ///< how often some were; on it those that lend sleep
};

class Board {
 public:
  /// `process`: this process's number on the node, below kMostCpus.
  Board(Words& words, int process) noexcept : words_(words), borrower_((static_cast<std::uint64_t>(process) + 1) << 1) {}

  /// By the owner; each may be said again. `lend`: whether some were not lent until now.
  bool lend(std::span<const int> own) noexcept;
  void reclaim(std::span<const int> own) noexcept;

  /// By any other: asks those that lend some of `cpus` whether they still wait.
  void ask(std::span<const int> cpus) noexcept;
  /// Whether there may be some to ask. The answer may be old.
  [[nodiscard]] bool any_to_ask() const noexcept { return words_.some.load(std::memory_order_relaxed) != 0; }
  /// How often that was done. Before a look, whose answer is older than the next one.
  [[nodiscard]] std::uint32_t times_asked() const noexcept;
  /// By a thread that lends: sleeps until it is asked again, or for so long.
  void sleep(std::uint32_t times_asked, std::chrono::nanoseconds longest) const noexcept;

  /// Takes as many of `cpus` as are lent and free, and as there is room for in `taken`; how many.
  [[nodiscard]] std::size_t borrow(std::span<const int> cpus, std::span<int> taken) noexcept;
  /// Leaves alone what is no CPU, or is not borrowed by this process.
  void give_back(std::span<const int> taken) noexcept;

  /// How many of these are lent and free. The answer may be old.
  [[nodiscard]] std::size_t count_free(std::span<const int> cpus) const noexcept;
  /// How often these were borrowed, since the board is there.
  [[nodiscard]] std::uint64_t times_borrowed(std::span<const int> cpus) const noexcept;

 private:
  static constexpr std::uint64_t kLent = 1;
  static constexpr std::uint64_t kBorrower = (std::uint64_t{1} << 32) - 2;
  static constexpr std::uint64_t kOnce = std::uint64_t{1} << 32;

  [[nodiscard]] static bool is_free(std::uint64_t word) noexcept { return (word & (kLent | kBorrower)) == kLent; }
  [[nodiscard]] std::atomic<std::uint64_t>& at(int cpu) const noexcept { return words_.cpu[static_cast<std::size_t>(cpu)]; }

  Words& words_;
  std::uint64_t borrower_;
};

}  // namespace plait::lend
