// Two plates of rows, the temperatures of this step and of the next; and what a run found.
#pragma once

#include <memory>
#include <vector>

#include "core.hpp"
#include "deck.hpp"
#include "deck/stopwatch.hpp"

namespace plait::heat {

/// Rows first to last - 1 of the plate, or as many of them as a process has, and neighbours'. Nothing is written before the threads do.
class Plate {
 public:
  Plate(long first, long last, long n)
      : first_(first), n_(n), values_(new double[static_cast<std::size_t>(last - first) * static_cast<std::size_t>(n)]) {}

  [[nodiscard]] double* row(long number) { return values_.get() + (number - first_) * n_; }
  [[nodiscard]] const double* row(long number) const { return values_.get() + (number - first_) * n_; }

 private:
  long first_, n_;
  std::unique_ptr<double[]> values_;
};

struct Outcome {
  std::vector<double> times;  ///< of each step in seconds
  double change = 0;          ///< the largest of a point in the last step
  double distance = 0;        ///< the largest from the steady state
  Digest digest;

  [[nodiscard]] long steps() const { return static_cast<long>(times.size()); }
};

using deck::Stopwatch;

/// Whether a step is followed by a look at the largest change: with a tolerance each, else the last.
[[nodiscard]] inline bool looks(const Deck& deck, long step) { return deck.tolerance > 0 || step == deck.steps; }
/// Whether it was the last.
[[nodiscard]] inline bool ends(const Deck& deck, long step, double change) {
  return step == deck.steps || (deck.stops && deck.tolerance > 0 && change <= deck.tolerance);
}

/// By the threads of this process; compiled by `plait cc --cluster`'s flags, by those of all.
[[nodiscard]] Outcome run_by_openmp(const Deck& deck);

}  // namespace plait::heat
