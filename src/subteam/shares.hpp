// How much of some work each of several threads gets, so that all end together. Pure arithmetic.
#pragma once

#include <array>
#include <span>

namespace plait::subteam {

/// What is known of a thread: seconds that it spends beside the work, and work that it does in a second.
struct Pace {
  double beside = 0;
  double rate = 0;
};

/// Fills `shares`, of which the sum is 1: thread t gets shares[t] of `work`, which ends as early as it can then. Rates are above 0, as is
/// `work`. `order` is room for as many numbers.
void level(std::span<const Pace> paces, double work, std::span<double> shares, std::span<int> order) noexcept;

/// When the last thread is done, if thread t does shares[t] of `work`.
[[nodiscard]] double time_of(std::span<const Pace> paces, double work, std::span<const double> shares) noexcept;

/// The median of the last five values: follows a change in three, and no single one that is out of the way.
class Median {
 public:
  void add(double value) noexcept { values_[added_++ % kValues] = value; }
  [[nodiscard]] bool empty() const noexcept { return added_ == 0; }
  [[nodiscard]] double value() const noexcept;

 private:
  static constexpr std::size_t kValues = 5;
  std::array<double, kValues> values_{};
  std::size_t added_ = 0;
};

}  // namespace plait::subteam
