// PLAIT_WATCHDOG: what a call at an endpoint waits for, and which unexpected messages are queued, told once when it takes too long.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/watchdog.hpp"
#include "lane/match_context.hpp"
#include "lane/operation.hpp"
#include "p2p/envelope.hpp"

namespace plait::p2p {

/// "communicator halo", or its number where it has no name.
[[nodiscard]] std::string name_of(std::uint64_t communicator);
[[nodiscard]] inline std::string name_of(const lane::MatchContext& context) { return name_of(context.freed ? 0 : context.handle); }

/// "a receive from rank 3 with tag 7 on communicator MPI_COMM_WORLD".
void describe(const lane::Operation& operation, std::string& text);

/// Says on stderr that a call takes long, on so many requests (0: it is not one on requests), and what it waits for.
void tell_hang(Call call, int requests, double seconds, const std::function<std::string()>& waits_for) noexcept;

class Hang {
 public:
  explicit Hang(const lane::Operation& operation) noexcept : operation_(&operation), context_(operation.context) {}
  /// A probe.
  Hang(const lane::MatchContext& context, const Envelope& envelope) noexcept : context_(&context), envelope_(&envelope) {}

  /// Anything else, which can say what it is.
  explicit Hang(const std::function<std::string()>& text) noexcept : text_(&text) {}

  /// Now and then while waiting.
  void check(Call call) noexcept {
    if (!watchdog_) watchdog_.emplace();
    if (watchdog_->barks()) bark(call);
  }

 private:
  void bark(Call call) const noexcept;

  const lane::Operation* operation_ = nullptr;
  const lane::MatchContext* context_ = nullptr;
  const Envelope* envelope_ = nullptr;
  const std::function<std::string()>* text_ = nullptr;
  std::optional<Watchdog> watchdog_;
};

}  // namespace plait::p2p
