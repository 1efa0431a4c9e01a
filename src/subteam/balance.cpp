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
/// A thread that has done less than this part of an equal share has hardly shown how fast it works.
constexpr double kShown = 1.0 / 16;

double seconds_between(std::uint64_t from, std::uint64_t to) noexcept { return static_cast<double>(to - from) * 1e-9; }

}  // namespace

Balance::Balance(SubTeam& threads, std::uint64_t (*clock)() noexcept)
    : threads_(threads),
      clock_(clock),
      members_(static_cast<std::size_t>(threads.size())),
      bounds_(members_.size() + 1),
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
  threads_.come_to(me, {Construct::Kind::balanced, low, high, 0});
  m.stage = Member::Stage::loop;
  const Range range = range_of(me, low, high);
  m.low = low;
  m.high = high;
  m.done = range.end - range.begin;
  const std::uint64_t begin = clock_();
  m.beside = seconds_between(m.begin, begin);
  m.begin = begin;
  return {range.begin, range.end, this, low, high, 0, me, static_cast<int>(m.done > 0 ? State::balanced : State::balanced_done)};
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
    if (static_cast<double>(m.done) >= std::max(1.0, kShown * work / static_cast<double>(members_.size()))) {
      m.rates.add(static_cast<double>(m.done) / std::max(m.seconds, 1e-9));
    }
    if (m.rates.empty()) continue;
    rates += m.rates.value();
    ++known;
  }
  if (known == 0) return;
  for (std::size_t t = 0; t < members_.size(); ++t) {
    const Member& m = members_[t];
    paces_[t] = {m.besides.value(), m.rates.empty() ? rates / known : m.rates.value()};
    current_[t] = bounds_[t + 1] - bounds_[t];
  }
  level(paces_, work, shares_, order_);
  const double current = time_of(paces_, work, current_);
  if (current - time_of(paces_, work, shares_) > std::max(kWorthIt * current, kMeasurable)) set_bounds(shares_);
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
