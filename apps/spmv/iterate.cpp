#include "iterate.hpp"

#include <omp.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "error.hpp"

namespace plait::spmv {
namespace {

/// From 1/2 to 1.
double first_value(long row) { return 0.5 + 0.5 * (static_cast<double>(deck::mix(static_cast<std::uint64_t>(row) + 1) >> 11) * 0x1p-53); }

class Iteration {
 public:
  Iteration(Matrix& matrix, const ModelInfo& info, const Team& team, int reserved)
      : matrix_(matrix), team_(team), largest_(static_cast<std::size_t>(team.size())) {
    collectively(matrix.comm(), [&] {
      deck::require_threads(team.size());
      const auto size = static_cast<std::size_t>(matrix.rows() + matrix.halo().slots());
      x_ = Untouched<double>(size);
      y_ = Untouched<double>(size);
    });
    for_rows_of_threads(matrix.work(), matrix.inner_rows(), team.size(), [&](long p) {
      x_[p] = first_value(matrix.row_at(p));
      y_[p] = 0;
    });
    model_ = info.make(World{matrix, team, reserved});
  }

  void run(std::vector<PartTimes>& times) {
    const auto iterations = static_cast<long>(times.size());
#pragma omp parallel num_threads(team_.size())
    {
      const int thread = omp_get_thread_num();
      double *x = x_.data(), *y = y_.data();
      PartTimes others;
      Stopwatch watch;
      for (long k = 0; k < iterations; ++k) {
        PartTimes& of = thread == 0 ? times[k] : others;
        model_->step(x, y, thread, of);
        std::swap(x, y);
        if ((k + 1) % kScaling == 0) scale(x, thread);
        of.total = watch.lap();
      }
    }
    if (iterations % 2) std::swap(x_, y_);
  }

  [[nodiscard]] deck::Digest digest() const {
    deck::Digest mine;
    for (long p = 0; p < matrix_.rows(); ++p) mine.add(static_cast<std::uint64_t>(matrix_.row_at(p)), x_[p]);
    const std::uint64_t halves[2] = {mine.low, mine.high};
    std::uint64_t all[2] = {};
    MPI_Allreduce(halves, all, 2, MPI_UINT64_T, MPI_SUM, matrix_.comm());
    return {all[0], all[1]};
  }

  /// By one more product, of which x remains as it is.
  [[nodiscard]] Check check() {
#pragma omp parallel num_threads(team_.size())
    {
      PartTimes times;
      model_->step(x_.data(), y_.data(), omp_get_thread_num(), times);
    }
    double mine[3] = {}, all[3] = {};
    for (long p = 0; p < matrix_.rows(); ++p) {
      mine[0] += y_[p];
      mine[1] += matrix_.column_sum(p) * x_[p];
      mine[2] += matrix_.column_size(p) * std::abs(x_[p]);
    }
    MPI_Allreduce(mine, all, 3, MPI_DOUBLE, MPI_SUM, matrix_.comm());
    // On each side a number goes through at most n additions in a row or column, n of these sums, and two multiplications: each rounds by
    // half an epsilon at most (Higham, Accuracy and stability of numerical algorithms, 2002, section 3.1).
    const double n = static_cast<double>(matrix_.all_rows());
    return {all[0], all[1], 2 * (n + 2) * std::numeric_limits<double>::epsilon() * all[2]};
  }

 private:
  /// By the power of two that is found; the same for all processes, and exact.
  void scale(double* x, int thread) {
    const int last = team_.size() - 1;
    double mine = 0;
    team_.loop(thread, 0, last, 0, matrix_.rows(), [&](long begin, long end) {
      for (long p = begin; p < end; ++p) mine = std::max(mine, std::abs(x[p]));
      largest_[thread].value = mine;
    });
    if (thread == 0) {
      for (const auto& of : largest_) mine = std::max(mine, of.value);
      double all = 0;
      MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_MAX, matrix_.comm());
      int exponent = 0;
      std::frexp(all, &exponent);
      scale_ = std::ldexp(1.0, std::clamp(-exponent, -1000, 1000));  // what is smaller takes two scalings
    }
    team_.barrier(thread);
    team_.loop(thread, 0, last, 0, matrix_.rows(), [&](long begin, long end) {
      for (long p = begin; p < end; ++p) x[p] *= scale_;
    });
  }

  struct alignas(64) Largest {
    double value = 0;
  };

  Matrix& matrix_;
  const Team& team_;
  std::vector<Largest> largest_;  // of each thread's numbers
  double scale_ = 1;
  Untouched<double> x_, y_;
  std::unique_ptr<Model> model_;
};

}  // namespace

double Check::error() const { return std::abs(product - columns); }

Outcome iterate(Matrix& matrix, const ModelInfo& model, int threads, int reserved, long iterations) {
  const Team team(threads);
  Iteration iteration(matrix, model, team, reserved);
  Outcome outcome;
  collectively(matrix.comm(), [&] { outcome.times.resize(static_cast<std::size_t>(iterations)); });
  MPI_Barrier(matrix.comm());
  Stopwatch watch;
  iteration.run(outcome.times);
  const double mine = watch.lap() / static_cast<double>(iterations);
  MPI_Allreduce(&mine, &outcome.seconds, 1, MPI_DOUBLE, MPI_MAX, matrix.comm());
  outcome.digest = iteration.digest();
  outcome.check = iteration.check();
  return outcome;
}

}  // namespace plait::spmv
