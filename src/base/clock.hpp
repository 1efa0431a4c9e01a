// The time, for measuring how long something takes.
#pragma once

#include <chrono>
#include <cstdint>

namespace plait {

/// Nanoseconds since some moment; never goes back.
inline std::uint64_t now() noexcept {
  return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1));
}

}  // namespace plait
