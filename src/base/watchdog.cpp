#include "base/watchdog.hpp"

#include <atomic>

#include "base/settings.hpp"

namespace plait {

std::optional<Watchdog::Seconds> Watchdog::limit() noexcept {
  static const std::optional<Seconds> limit = []() -> std::optional<Seconds> {
    const double seconds = settings::seconds(settings::Id::watchdog).value_or(0);
    return seconds > 0 ? std::optional(Seconds(seconds)) : std::nullopt;
  }();
  return limit;
}

bool Watchdog::overdue() noexcept {
  static constinit std::atomic<bool> said{false};
  // relaxed: only who speaks is decided here, nothing is handed over.
  return Clock::now() - since_ > *limit_ && !said.exchange(true, std::memory_order_relaxed);
}

}  // namespace plait
