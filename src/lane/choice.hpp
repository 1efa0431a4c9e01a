// Which of several ways is the fastest, by what each has taken of late. It depends on where the two processes run, which may change.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace plait::lane {

/// Used by one thread at a time.
template <std::size_t Ways>
class Choice {
 public:
  /// The way to go now. Each is tried, then the fastest one is taken, and now and then another.
  [[nodiscard]] std::size_t next() noexcept {
    if (++turns_ % kTryEvery == 0) return at(1 + turns_ / kTryEvery % (Ways - 1));
    for (std::size_t way = 0; way < Ways; ++way) {
      if (tried_[way] < kTries) return way;
    }
    return at(0);
  }
  /// The way in that place, from the fastest on. Of those that took as long, the lower one comes first.
  [[nodiscard]] std::size_t at(std::size_t place) const noexcept {
    for (std::size_t way = 0; way < Ways; ++way) {
      std::size_t faster = 0;
      for (std::size_t i = 0; i < Ways; ++i) faster += per_byte_[i] < per_byte_[way] || (i < way && per_byte_[i] == per_byte_[way]) ? 1 : 0;
      if (faster == place) return way;
    }
    return 0;
  }
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

  std::array<double, Ways> per_byte_{};
  std::array<std::uint32_t, Ways> tried_{};
  std::uint32_t turns_ = 0;
};

}  // namespace plait::lane
