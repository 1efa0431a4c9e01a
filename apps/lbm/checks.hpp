// Comparison of a finished flow with published physics.
#pragma once

#include <optional>
#include <string>

#include "simulation.hpp"

namespace plait::lbm {

struct CheckResult {
  std::string against;     // the source
  std::string quantity;    // what the error is of
  double found, expected;  // where it is one number; else both 0
  double error;            // relative
  double tolerance;
  [[nodiscard]] bool passed() const { return error <= tolerance; }
};

/// Throws Error if the deck's [check] will not apply to the flow after step `last`.
void require_checkable(const Deck& deck, long last);

/// The deck's [check], or nothing. Collective; settles.
[[nodiscard]] std::optional<CheckResult> check(Simulation& simulation);

}  // namespace plait::lbm
