#include "core.hpp"

#include <cmath>

namespace plait::heat {
namespace {

double steady(long number, long n) { return static_cast<double>(number) / static_cast<double>(n - 1); }

}  // namespace

void fill_row(double* row, long number, long n) {
  const bool edge = number == 0 || number == n - 1;
  for (long k = 0; k < n; ++k) row[k] = edge || k == 0 || k == n - 1 ? steady(number, n) : 0.5;
}

double update_row(const double* above, const double* row, const double* below, double* next, long n) {
  double change = 0;
#pragma omp simd reduction(max : change)
  for (long k = 1; k < n - 1; ++k) {
    next[k] = 0.25 * ((above[k] + below[k]) + (row[k - 1] + row[k + 1]));
    const double by = std::abs(next[k] - row[k]);
    change = by > change ? by : change;
  }
  return change;
}

double distance_of_row(const double* row, long number, long n) {
  double most = 0;
  for (long k = 0; k < n; ++k) {
    const double distance = std::abs(row[k] - steady(number, n));
    if (!(distance <= most)) most = distance;
  }
  return most;
}

Digest digest_of_row(const double* row, long number, long n) {
  Digest sum;
  for (long k = 0; k < n; ++k) sum.add(static_cast<std::uint64_t>(number * n + k), row[k]);
  return sum;
}

}  // namespace plait::heat
