#include "storage.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "error.hpp"

namespace plait::spmv {
namespace {

long length(const Rows& rows, int row) { return rows.start[row + 1] - rows.start[row]; }

/// Compressed rows: one behind the other.
class Crs final : public Storage {
 public:
  Crs(const Rows& rows, const Order& order, const std::vector<int>& place, const Work& work, int threads)
      : start_(starts_by_position(rows, order)), column_(place.size()), value_(place.size()) {
    for_rows_of_threads(work, order.inner, threads, [&](long p) {
      auto k = static_cast<std::size_t>(rows.start[order.row_at[p]]);
      for (auto to = static_cast<std::size_t>(start_[p]); to < static_cast<std::size_t>(start_[p + 1]); ++to, ++k) {
        column_[to] = place[k];
        value_[to] = rows.value[k];
      }
    });
  }

  void multiply(long begin, long end, const double* x, double* y, double factor) const override {
    const long* start = start_.data();
    const int* column = column_.data();
    const double* value = value_.data();
    for (long p = begin; p < end; ++p) {
      double sum = 0;
      for (long k = start[p]; k < start[p + 1]; ++k) sum += value[k] * x[column[k]];
      y[p] = factor * sum;
    }
  }

 private:
  std::vector<long> start_;
  Untouched<int> column_;
  Untouched<double> value_;
};

/// Jagged diagonals of rows that have fewer and fewer nonzeros: diagonal d has nonzero d of each row that has so many.
class Diagonals {
 public:
  /// The rows at positions `first` to `end` - 1, whose nonzeros are behind `at` others.
  Diagonals(const Rows& rows, const Order& order, long first, long end, long at) : first_(first) {
    const long most = first < end ? length(rows, order.row_at[first]) : 0;
    long high = end - first;
    for (long d = 0; d < most; ++d) {
      while (length(rows, order.row_at[first + high - 1]) <= d) --high;
      high_.push_back(high);
      start_.push_back(at);
      at += high;
    }
  }

  /// Where nonzero d of the row at position p lies.
  [[nodiscard]] long place(long p, long d) const { return start_[d] + p - first_; }

  void multiply(long begin, long end, const int* column, const double* value, const double* x, double* y, double factor) const {
    // The sums of so many rows stay in the cache nearest to the core, or in registers, while their diagonals pass.
    constexpr long kStrip = 128;
    const auto diagonals = static_cast<long>(start_.size());
    for (long low = begin - first_; low < end - first_; low += kStrip) {
      const long strip = std::min(kStrip, end - first_ - low);
      double sum[kStrip] = {};
      for (long d = 0; d < diagonals && high_[d] > low; ++d) {
        const long n = std::min(strip, high_[d] - low), at = start_[d] + low;
        for (long r = 0; r < n; ++r) sum[r] += value[at + r] * x[column[at + r]];
      }
      double* to = y + first_ + low;
      for (long r = 0; r < strip; ++r) to[r] = factor * sum[r];
    }
  }

 private:
  long first_;
  std::vector<long> start_, high_;  // of each diagonal: where it lies, and of how many rows it is
};

class Jds final : public Storage {
 public:
  Jds(const Rows& rows, const Order& order, const std::vector<int>& place, const Work& work, int threads)
      : inner_end_(order.inner),
        inner_(rows, order, 0, order.inner, 0),
        outer_(rows, order, order.inner, work.rows(), work.before(order.inner) - order.inner),
        column_(place.size()),
        value_(place.size()) {
    for_rows_of_threads(work, order.inner, threads, [&](long p) {
      const Diagonals& of = p < inner_end_ ? inner_ : outer_;
      const int row = order.row_at[p];
      auto k = static_cast<std::size_t>(rows.start[row]);
      for (long d = 0; d < length(rows, row); ++d, ++k) {
        const auto to = static_cast<std::size_t>(of.place(p, d));
        column_[to] = place[k];
        value_[to] = rows.value[k];
      }
    });
  }

  void multiply(long begin, long end, const double* x, double* y, double factor) const override {
    inner_.multiply(begin, std::min(end, inner_end_), column_.data(), value_.data(), x, y, factor);
    outer_.multiply(std::max(begin, inner_end_), end, column_.data(), value_.data(), x, y, factor);
  }

 private:
  long inner_end_;
  Diagonals inner_, outer_;
  Untouched<int> column_;
  Untouched<double> value_;
};

}  // namespace

StorageKind find_storage(std::string_view name) {
  for (const StorageKind kind : {StorageKind::crs, StorageKind::jds}) {
    if (name == name_of(kind)) return kind;
  }
  throw Error(fmt::format("--storage {}: unknown; there are crs, jds", name));
}

std::string_view name_of(StorageKind kind) { return kind == StorageKind::crs ? "crs" : "jds"; }

Order order_rows(const Rows& rows, StorageKind kind) {
  const auto n = static_cast<std::size_t>(rows.count());
  Order order;
  order.row_at.resize(n);
  order.position_of.resize(n);
  std::iota(order.row_at.begin(), order.row_at.end(), 0);
  const auto needs_nothing = [&](int row) {
    const auto own = [&](long column) { return column >= rows.first && column < rows.first + rows.count(); };
    return std::all_of(rows.column.begin() + rows.start[row], rows.column.begin() + rows.start[row + 1], own);
  };
  const auto middle = std::stable_partition(order.row_at.begin(), order.row_at.end(), needs_nothing);
  order.inner = static_cast<int>(middle - order.row_at.begin());
  if (kind == StorageKind::jds) {
    const auto longer = [&](int a, int b) { return length(rows, a) > length(rows, b); };
    std::stable_sort(order.row_at.begin(), middle, longer);
    std::stable_sort(middle, order.row_at.end(), longer);
  }
  for (std::size_t p = 0; p < n; ++p) order.position_of[order.row_at[p]] = static_cast<int>(p);
  return order;
}

std::vector<long> starts_by_position(const Rows& rows, const Order& order) {
  std::vector<long> start{0};
  start.reserve(order.row_at.size() + 1);
  for (const int row : order.row_at) start.push_back(start.back() + length(rows, row));
  return start;
}

std::unique_ptr<Storage> store(const Rows& rows, const Order& order, const std::vector<int>& place, const Work& work, StorageKind kind,
                               int threads) {
  if (kind == StorageKind::crs) return std::make_unique<Crs>(rows, order, place, work, threads);
  return std::make_unique<Jds>(rows, order, place, work, threads);
}

}  // namespace plait::spmv
