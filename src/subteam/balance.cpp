#include "subteam/balance.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/fatal.hpp"
#include "subteam/loops.hpp"

namespace plait::subteam {
namespace {

/// New shares are taken where they save more than this part of a round, and so many seconds: each change moves work away from the caches
/// where its data lies, and what is shorter cannot be measured.
constexpr double kWorthIt = 0.02, kMeasurable = 1e-6;
/// A thread that has had nothing to be measured by for so many rounds is tried with more and more, up to what the others do: it may have
/// been slow for a while only.
constexpr int kUnmeasured = 8;
/// New shares are on trial for so many rounds: the median of what is measured is that of them by then.
constexpr int kTrial = 3;
/// They are taken back where rounds are longer by this part. The shares before are held then, until rounds take so much more or less time
/// than with them, or until so many are over: the machine may have been busy.
constexpr double kWorse = 0.05, kOther = 0.1;
constexpr int kHold = 64;

double seconds_between(std::uint64_t from, std::uint64_t to) noexcept { return static_cast<double>(to - from) * 1e-9; }

}  // namespace

Balance::Balance(SubTeam& threads, std::uint64_t (*clock)() noexcept)
    : threads_(threads),
      clock_(clock),
      members_(static_cast<std::size_t>(threads.size())),
      bounds_(members_.size() + 1),
      previous_(members_.size()),
      paces_(members_.size()),
      shares_(members_.size(), 1.0),
      current_(members_.size()),
      order_(members_.size()) {
  set_bounds(shares_);
}

Balance::Member& Balance::member(int me) noexcept {
  if (!threads_.has(me)) {
    fatal("thread %d comes to a balanced loop of threads %d to %d, and is none of them", me, threads_.first(), threads_.last());
  }
  return members_[static_cast<std::size_t>(me - threads_.first())];
}

void Balance::begin_round(int me) noexcept {
  Member& m = member(me);
  if (m.stage == Member::Stage::loop) {
    fatal("thread %d begins a round of a balanced loop of threads %d to %d within that loop", me, threads_.first(), threads_.last());
  }
  m.stage = Member::Stage::beside;
  m.begin = clock_();
}

plait_loop Balance::begin_loop(int me, long low, long high) noexcept {
  Member& m = member(me);
  if (m.stage != Member::Stage::beside) {
    fatal("thread %d comes to a balanced loop of threads %d to %d %s: each begins with plait_balance_begin, and a round has one loop", me,
          threads_.first(), threads_.last(), m.stage == Member::Stage::loop ? "within that loop" : "twice in a round, or before any");
  }
  threads_.come_to(me, {Construct::Kind::balanced, low, high, 0, this});
  m.stage = Member::Stage::loop;
  const Range range = range_of(me, low, high);
  m.low = low;
  m.high = high;
  m.done = range.end - range.begin;
  const std::uint64_t begin = clock_();
  m.beside = seconds_between(m.begin, begin);
  m.begin = begin;
  return {range.begin, range.end, this, low, high, 0, me, static_cast<int>(m.done > 0 ? State::balanced : State::balanced_done), 0};
}

void Balance::end_round(int me) noexcept {
  Member& m = member(me);
  m.seconds = seconds_between(m.begin, clock_());
  m.stage = Member::Stage::idle;
  threads_.meet(me, [&] { learn(); });
}

Range Balance::range_of(int me, long low, long high) const noexcept {
  if (high <= low) return {low, low};
  const auto n = static_cast<unsigned long>(high) - static_cast<unsigned long>(low);
  const auto at = [&](int part) {
    const double bound = bounds_[static_cast<std::size_t>(part)];
    const auto iterations = bound >= 1 ? n : std::min(n, static_cast<unsigned long>(std::floor(bound * static_cast<double>(n) + 0.5)));
    return static_cast<long>(static_cast<unsigned long>(low) + iterations);
  };
  return {at(me - threads_.first()), at(me - threads_.first() + 1)};
}

/// By the last thread at a round's end.
void Balance::learn() noexcept {
  if (fixed_ || members_.size() == 1) return;
  const Member& any = members_.front();
  if (any.high <= any.low) return;
  const double work = static_cast<double>(static_cast<unsigned long>(any.high) - static_cast<unsigned long>(any.low));
  double rates = 0;
  int known = 0;
  for (Member& m : members_) {
    m.besides.add(m.beside);
    if (m.done > 0 && m.seconds >= kMeasurable) {
      m.rates.add(static_cast<double>(m.done) / m.seconds);
      m.unmeasured = 0;
    } else {
      ++m.unmeasured;
    }
    if (m.rates.empty()) continue;
    rates += m.rates.value();
    ++known;
  }
  if (known == 0) return;
  const double mean = rates / known;
  for (std::size_t t = 0; t < members_.size(); ++t) {
    const Member& m = members_[t];
    double rate = m.rates.empty() ? mean : m.rates.value();
    if (rate < mean && m.unmeasured > kUnmeasured) rate = std::min(mean, std::ldexp(rate, std::min(m.unmeasured - kUnmeasured, 64)));
    paces_[t] = {m.besides.value(), rate};
    current_[t] = bounds_[t + 1] - bounds_[t];
  }
  level(paces_, work, shares_, order_);
  const double current = time_of(paces_, work, current_);
  if (!is_settled()) return;
  if (current - time_of(paces_, work, shares_) > std::max(kWorthIt * current, kMeasurable)) move_to(shares_, true);
}

/// Whether shares may change now. Takes back those that have made rounds longer: where iterations cost differently a thread's rate changes
/// with its range, and what should have been better was not.
bool Balance::is_settled() noexcept {
  double end = 0;
  for (const Member& m : members_) end = std::max(end, m.beside + m.seconds);
  ends_.add(end);
  rounds_ = std::min(rounds_ + 1, kHold);
  if (rounds_ < kTrial) return stage_ == Stage::free;
  const double now = ends_.value();
  switch (stage_) {
    case Stage::trial:
      if (now <= (1 + kWorse) * before_) break;
      move_to(previous_, false);
      return false;
    case Stage::held:
      if (std::abs(now - before_) <= kOther * before_ && rounds_ < kHold) return false;
      break;
    case Stage::free:
      break;
  }
  stage_ = Stage::free;
  return true;
}

void Balance::move_to(std::span<const double> shares, bool on_trial) noexcept {
  if (on_trial) {
    std::ranges::copy(current_, previous_.begin());
    before_ = ends_.value();
  }
  stage_ = on_trial ? Stage::trial : Stage::held;
  rounds_ = 0;
  ends_ = {};
  set_bounds(shares);
}

void Balance::set_bounds(std::span<const double> shares) noexcept {
  const double all = std::accumulate(shares.begin(), shares.end(), 0.0);
  double sum = 0;
  for (std::size_t t = 0; t < shares.size(); ++t) {
    sum += shares[t];
    bounds_[t + 1] = sum / all;
  }
  // Those after the last share that is not 0, too: rounding may not give them anything, nor leave anything undone.
  for (std::size_t t = shares.size(); t > 0; --t) {
    bounds_[t] = 1;
    if (shares[t - 1] > 0) break;
  }
}

void Balance::fix(const double* shares) noexcept {
  fixed_ = shares != nullptr;
  stage_ = Stage::free;
  rounds_ = 0;
  ends_ = {};
  if (!fixed_) return;
  const std::span<const double> given(shares, members_.size());
  double all = 0;
  for (std::size_t t = 0; t < given.size(); ++t) {
    if (!(given[t] >= 0) || !std::isfinite(given[t])) {
      fatal("plait_balance_fix: the share of thread %d is %g: a number of at least 0 is wanted", threads_.first() + static_cast<int>(t),
            given[t]);
    }
    all += given[t];
  }
  if (!(all > 0) || !std::isfinite(all)) fatal("plait_balance_fix: the shares' sum is %g: some of them must be above 0", all);
  set_bounds(given);
}

double Balance::share(int thread) const noexcept {
  if (!threads_.has(thread)) {
    fatal("plait_balance_share of thread %d: the balance is of threads %d to %d", thread, threads_.first(), threads_.last());
  }
  const auto t = static_cast<std::size_t>(thread - threads_.first());
  return bounds_[t + 1] - bounds_[t];
}

}  // namespace plait::subteam
