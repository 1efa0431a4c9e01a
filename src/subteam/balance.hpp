// A loop balanced against what its threads do beside it: measured in each round, shared out anew by the last thread at its end.
#pragma once

#include <plait/subteam.h>

#include <span>
#include <vector>

#include "base/clock.hpp"
#include "subteam/shares.hpp"
#include "subteam/subteam.hpp"

namespace plait::subteam {

class Balance {
 public:
  /// Throws std::bad_alloc.
  explicit Balance(SubTeam& threads, std::uint64_t (*clock)() noexcept = now);
  Balance(const Balance&) = delete;
  Balance& operator=(const Balance&) = delete;
  ~Balance() = default;

  void begin_round(int me) noexcept;
  [[nodiscard]] plait_loop begin_loop(int me, long low, long high) noexcept;
  /// When the thread has done its range.
  void end_round(int me) noexcept;

  /// Fixed shares, one for each thread, or none: what is learnt. Fatal where they are none.
  void fix(const double* shares) noexcept;
  [[nodiscard]] double share(int thread) const noexcept;

 private:
  /// Written by its thread, read by the last one at a round's end.
  struct alignas(64) Member {
    enum class Stage : std::uint8_t { idle, beside, loop } stage = Stage::idle;
    std::uint64_t begin = 0;  ///< of the round, and then of its range
    double beside = 0;        ///< seconds, in this round
    double seconds = 0;       ///< for its range
    long low = 0, high = 0;   ///< of the loop
    long done = 0;            ///< iterations
    Median besides, rates;
    int unmeasured = 0;  ///< rounds in which it had no work that takes long enough
  };

  [[nodiscard]] Member& member(int me) noexcept;
  [[nodiscard]] Range range_of(int me, long low, long high) const noexcept;
  void learn() noexcept;
  [[nodiscard]] bool is_settled() noexcept;
  void move_to(std::span<const double> shares, bool on_trial) noexcept;
  void set_bounds(std::span<const double> shares) noexcept;

  SubTeam& threads_;
  std::uint64_t (*clock_)() noexcept;
  std::vector<Member> members_;
  /// The threads' parts: thread t has from bounds_[t] to bounds_[t + 1] of the whole, which is 0 to 1. They change while all threads are at
  /// the end of a round, or none is in one.
  std::vector<double> bounds_;
  bool fixed_ = false;
  enum class Stage : std::uint8_t { free, trial, held } stage_ = Stage::free;
  int rounds_ = 0;     ///< with these shares, as far as that matters
  Median ends_;        ///< seconds from a round's begin to the last thread's end, with these shares
  double before_ = 0;  ///< the same with the shares before, or, where those were taken again, with these
  std::vector<double> previous_;
  // Room for learn().
  std::vector<Pace> paces_;
  std::vector<double> shares_, current_;
  std::vector<int> order_;
};

}  // namespace plait::subteam
