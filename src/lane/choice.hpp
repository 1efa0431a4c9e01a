// Which of two ways is the faster one, by what each has taken of late. It depends on where the two processes run, which may change.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace plait::lane {

/// Used by one thread at a time.
class Choice {
 public:
  /// The way to go now: 0 or 1. Each is tried, then the faster one is taken, and now and then the other.
  [[nodiscard]] std::size_t next() noexcept {
    if (++turns_ % kTryEvery == 0) return 1 - faster();
    for (std::size_t way = 0; way < 2; ++way) {
      if (tried_[way] < kTries) return way;
    }
    return faster();
  }
  [[nodiscard]] std::size_t faster() const noexcept { return per_byte_[1] < per_byte_[0] ? 1 : 0; }
  /// So many bytes took so long.
  void took(std::size_t way, std::uint64_t bytes, std::uint64_t nanoseconds) noexcept {
    const double one = static_cast<double>(nanoseconds) / static_cast<double>(bytes);
    double& known = per_byte_[way];
    // A slow one may have been held up: it counts less than a fast one.
    if (tried_[way] == kTries) {
      known += one < known ? (one - known) / 2 : (std::min(one, 4 * known) - known) / 4;
    } else {
      known = ++tried_[way] == 1 ? one : std::min(known, one);
    }
  }

 private:
  static constexpr std::uint32_t kTryEvery = 64;
  static constexpr std::uint32_t kTries = 3;

  std::array<double, 2> per_byte_{};
  std::array<std::uint32_t, 2> tried_{};
  std::uint32_t turns_ = 0;
};

}  // namespace plait::lane
