// How long a call may take: GASPI's timeouts in milliseconds.
#pragma once

#include <chrono>
#include <cstdint>

#include "base/clock.hpp"
#include "plait/GASPI.h"
#include "progress/wait.hpp"

namespace plait::gaspi {

class Deadline {
 public:
  explicit Deadline(gaspi_timeout_t ms) noexcept : ms_(ms) {
    if (ms != GASPI_TEST && ms != GASPI_BLOCK) end_ = now() + (ms < kLongest ? ms : kLongest) * 1'000'000;
  }
  /// The call must not wait at all.
  [[nodiscard]] bool is_test() const noexcept { return ms_ == GASPI_TEST; }
  [[nodiscard]] bool is_over() const noexcept { return ms_ != GASPI_BLOCK && (ms_ == GASPI_TEST || now() >= end_); }
  [[nodiscard]] std::chrono::nanoseconds left(std::chrono::nanoseconds most) const noexcept {
    if (ms_ == GASPI_BLOCK) return most;
    const std::uint64_t t = now();
    if (ms_ == GASPI_TEST || t >= end_) return std::chrono::nanoseconds(1);
    return std::min<std::chrono::nanoseconds>(most, std::chrono::nanoseconds(end_ - t));
  }

 private:
  static constexpr gaspi_timeout_t kLongest = 1'000'000'000'000;  ///< 30 years
  gaspi_timeout_t ms_;
  std::uint64_t end_ = 0;
};

/// A call that waits, on an event count in shared memory or not.
class Waiting final : public progress::Waiter {
 public:
  Waiting(EventCount* event, const Deadline& deadline) noexcept : event_(event), deadline_(deadline) {}
  [[nodiscard]] EventCount* event() noexcept override { return event_; }
  [[nodiscard]] std::chrono::nanoseconds longest() const noexcept override { return deadline_.left(std::chrono::milliseconds(10)); }

 private:
  EventCount* event_;
  const Deadline& deadline_;
};

}  // namespace plait::gaspi
