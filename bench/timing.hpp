// The clock of the benchmarks, and what samples of it come to.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <vector>

namespace plait::bench {

inline double seconds() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// Keeps a core busy with so many thousands of steps, out of memory's and everybody's way.
inline void compute(std::int64_t thousands) {
  volatile double x = 1;
  for (std::int64_t i = 0; i < 1000 * thousands; ++i) x = x * 1.0000001 + 1e-9;
}

/// Median, least and most of a sample that is not empty.
struct Summary {
  double median, least, most;

  explicit Summary(std::vector<double> v) {
    std::sort(v.begin(), v.end());
    const std::size_t n = v.size();
    median = 0.5 * (v[(n - 1) / 2] + v[n / 2]);
    least = v.front();
    most = v.back();
  }
};

/// The least difference between two readings of the clock that is not 0.
inline double clock_resolution() {
  double least = 1;
  for (int i = 0; i < 1000; ++i) {
    const double begin = seconds();
    double end = begin;
    while (end == begin) end = seconds();
    least = std::min(least, end - begin);
  }
  return least;
}

}  // namespace plait::bench
