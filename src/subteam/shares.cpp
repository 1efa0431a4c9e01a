#include "subteam/shares.hpp"

#include <algorithm>
#include <numeric>

namespace plait::subteam {

void level(std::span<const Pace> paces, double work, std::span<double> shares, std::span<int> order) noexcept {
  // Those that are done with other things first begin first. As long as the next one begins before the others have done all, it takes part.
  std::iota(order.begin(), order.end(), 0);
  const auto pace = [&](int t) -> const Pace& { return paces[static_cast<std::size_t>(t)]; };
  std::ranges::sort(order, [&](int a, int b) { return pace(a).beside < pace(b).beside; });
  double rate = 0, missed = 0;  // of those that take part: what all do in a second, and would have done before they began
  double end = 0;
  for (const int t : order) {
    if (rate > 0 && pace(t).beside >= end) break;
    rate += pace(t).rate;
    missed += pace(t).rate * pace(t).beside;
    end = (work + missed) / rate;
  }
  double sum = 0;
  for (std::size_t t = 0; t < paces.size(); ++t) {
    shares[t] = std::max(0.0, (end - paces[t].beside) * paces[t].rate / work);
    sum += shares[t];
  }
  if (!(sum > 0)) sum = 1, std::ranges::fill(shares, 1.0 / static_cast<double>(shares.size()));  // all of them too small for a number
  for (double& share : shares) share /= sum;
}

double time_of(std::span<const Pace> paces, double work, std::span<const double> shares) noexcept {
  double end = 0;
  for (std::size_t t = 0; t < paces.size(); ++t) end = std::max(end, paces[t].beside + shares[t] * work / paces[t].rate);
  return end;
}

double Median::value() const noexcept {
  std::array<double, kValues> sorted = values_;
  const std::size_t n = std::min(added_, kValues);
  std::sort(sorted.begin(), sorted.begin() + n);
  return (sorted[(n - 1) / 2] + sorted[n / 2]) / 2;
}

}  // namespace plait::subteam
