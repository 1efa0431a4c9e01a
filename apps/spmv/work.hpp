// Rows weighed by their nonzeros: loops over rows are cut so that each part has about as many of these.
#pragma once

#include <omp.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace plait::spmv {

/// Units of work of rows that follow each other: one for each nonzero of a row, and one for the row itself, so that each row, empty ones as
/// well, begins at a unit of its own. Parts of units that follow each other are parts of rows that do: each row is in one.
class Work {
 public:
  Work() = default;
  /// `start`: of each row in the array of nonzeros, and the end.
  explicit Work(const std::vector<long>& start) : begin_(start) {
    for (std::size_t r = 0; r < begin_.size(); ++r) begin_[r] += static_cast<long>(r);
  }

  [[nodiscard]] long rows() const { return static_cast<long>(begin_.size()) - 1; }
  [[nodiscard]] long total() const { return begin_.back(); }
  [[nodiscard]] long before(long row) const { return begin_[row]; }
  /// How many rows begin before that unit.
  [[nodiscard]] long rows_before(long unit) const { return std::lower_bound(begin_.begin(), begin_.end() - 1, unit) - begin_.begin(); }

 private:
  std::vector<long> begin_{0};
};

/// Part `part` of `parts` equal ones of the numbers from `low` to `high` - 1, as [begin, end).
[[nodiscard]] inline std::pair<long, long> part_of(long low, long high, int part, int parts) {
  const long each = (high - low) / parts, more = (high - low) % parts;
  const auto at = [&](long p) { return low + each * p + std::min(p, more); };
  return {at(part), at(part + 1)};
}

/// touch(position), by the threads that multiply these rows where all have equal parts: so that their memory lies with them. The rows
/// before `inner` are cut apart from the rest.
template <class Touch>
void for_rows_of_threads(const Work& work, long inner, int threads, Touch&& touch) {
#pragma omp parallel num_threads(threads)
  {
    for (const auto& [low, high] : {std::pair{0L, inner}, std::pair{inner, work.rows()}}) {
      const auto [begin, end] = part_of(work.before(low), work.before(high), omp_get_thread_num(), omp_get_num_threads());
      for (long p = work.rows_before(begin); p < work.rows_before(end); ++p) touch(p);
    }
  }
}

}  // namespace plait::spmv
