// Lending, as this process does it: waits lend its CPUs, regions take them back and borrow those of others. Any thread, but for start().
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "lend/board.hpp"

namespace plait::lend {

// relaxed, all: set by MPI_Init, or a hint.
extern std::atomic<bool> polling;
extern std::atomic<bool> lending;
extern std::atomic<int> regions;

/// All processes of the job have PLAIT_LEND=1, and on some node cores can be lent: blocking calls of the MPI's are made of nonblocking ones
/// and a wait.
[[nodiscard]] inline bool polls() noexcept { return polling.load(std::memory_order_relaxed); }
/// This process lends and borrows now.
[[nodiscard]] inline bool is_on() noexcept { return lending.load(std::memory_order_relaxed); }
/// A wait may lend its cores: this process is in no region.
[[nodiscard]] inline bool may_lend() noexcept { return is_on() && regions.load(std::memory_order_relaxed) <= 0; }

/// In all processes of the job.
void poll() noexcept;
/// The board is there, and stays: `process` is this one's number on the node. Once.
void start(Words& words, int process, std::vector<int> own, std::vector<int> others);
/// Takes all back for good.
void stop() noexcept;
/// For a while. Nothing happens before start() or after stop().
void set_enabled(bool enabled) noexcept;

enum class Lent : std::uint8_t {
  no,      ///< it may not
  before,  ///< all of them
  now,     ///< some of them: who borrows one has not asked, so that a look is to follow
};
/// A thread that waits for other processes lends all CPUs of this process. At first and after each look in vain: it may have been asked.
/// `times_asked`: before that look.
[[nodiscard]] Lent lend(std::uint32_t times_asked) noexcept;
/// At the end of a wait that has lent.
void end_wait() noexcept;
[[nodiscard]] std::uint32_t times_asked() noexcept;
/// Between two looks, for so long at most, which is less than a second.
void sleep(std::uint32_t times_asked, std::chrono::nanoseconds longest) noexcept;

/// This process has started what others may wait for: they shall look before it borrows their CPUs. Does nothing where it has asked just
/// now: who lends looks now and then anyway.
void ask_others() noexcept;

/// This process begins a region: takes its CPUs back, and borrows as many as there are and as `cpus` has room for; how many.
[[nodiscard]] std::size_t begin_region(std::span<int> cpus) noexcept;
/// `borrowed`: others' numbers are left alone.
void end_region(std::span<const int> borrowed) noexcept;

/// Of this process; 0 before start().
[[nodiscard]] std::size_t own_cpus() noexcept;
/// Of others: that could be lent at all, and that are free to borrow now.
[[nodiscard]] std::size_t most_borrowed() noexcept;
[[nodiscard]] std::size_t free_to_borrow() noexcept;

/// CPUs, counted once for each region that has borrowed one.
struct Counts {
  std::uint64_t borrowed, lent;
};
[[nodiscard]] Counts counts() noexcept;

}  // namespace plait::lend
