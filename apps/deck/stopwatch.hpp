// How long the parts of a step take.
#pragma once

#include <chrono>
#include <utility>

namespace plait::deck {

/// Tells the time since it was last asked, in seconds.
class Stopwatch {
 public:
  double lap() {
    const auto now = std::chrono::steady_clock::now();
    return std::chrono::duration<double>(now - std::exchange(last_, now)).count();
  }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

}  // namespace plait::deck
