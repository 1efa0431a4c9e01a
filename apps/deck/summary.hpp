// What a report says of many measurements.
#pragma once

#include <algorithm>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <vector>

namespace plait::deck {

/// Median, least and most of a sample that is not empty.
[[nodiscard]] inline nlohmann::json summary(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  const std::size_t n = v.size();
  return {{"median", 0.5 * (v[(n - 1) / 2] + v[n / 2])}, {"min", v.front()}, {"max", v.back()}};
}

}  // namespace plait::deck
