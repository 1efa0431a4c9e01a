// PLAIT_WATCHDOG=seconds: a process that waits longer says once what it waits for, and goes on waiting.
#pragma once

#include <chrono>
#include <optional>

namespace plait {

/// One per wait, used by the thread that waits.
class Watchdog {
 public:
  Watchdog() noexcept : limit_(limit()) {
    if (limit_) since_ = Clock::now();
  }

  /// True for one wait of the process, once it has taken longer than the limit.
  [[nodiscard]] bool barks() noexcept { return limit_ && overdue(); }
  /// True once it has taken longer than the limit, of every wait.
  [[nodiscard]] bool expired() const noexcept { return limit_ && Clock::now() - since_ > *limit_; }
  /// The limit in seconds; only where there is one.
  [[nodiscard]] double seconds() const noexcept { return limit_->count(); }

 private:
  using Clock = std::chrono::steady_clock;
  using Seconds = std::chrono::duration<double>;
  static std::optional<Seconds> limit() noexcept;
  [[nodiscard]] bool overdue() noexcept;

  std::optional<Seconds> limit_;
  Clock::time_point since_;
};

}  // namespace plait
