// The iteration x <- A x / s, in which s is the largest sum of absolute values in a row: no number of x grows beyond 1. Every tenth
// iteration x is scaled by a power of two, so that its largest number is 1/2 at least.
#pragma once

#include <string_view>
#include <vector>

#include "deck/digest.hpp"
#include "model.hpp"

namespace plait::spmv {

constexpr long kScaling = 10;  ///< iterations from one scaling of x to the next

/// The sum of a product's numbers, and that of x's numbers times the sums of their columns, which is the same in exact arithmetic.
struct Check {
  double product = 0, columns = 0;
  double bound = 0;  ///< what rounding may make of their difference
  [[nodiscard]] double error() const;
  [[nodiscard]] bool passed() const { return error() <= bound; }
};

struct Outcome {
  std::vector<PartTimes> times;  ///< of each iteration in this process
  double seconds = 0;            ///< an iteration, by all of them together in the slowest process
  deck::Digest digest;           ///< of x at the end, over all processes: the same for every model and number of processes and threads
  Check check;
};

/// x begins anew for each model: one matrix can be taken for several in turn. `reserved` is reserved_threads'. Collective over the matrix's
/// communicator, by one thread of each process, the one that initialized the MPI; reports.
[[nodiscard]] Outcome iterate(Matrix& matrix, const ModelInfo& model, int threads, int reserved, long iterations);

}  // namespace plait::spmv
