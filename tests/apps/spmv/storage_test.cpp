// Both storages against products of the whole matrix as it is written on paper. No process is
// launched: what others have of x is put behind it.
#include "storage.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "error.hpp"

namespace plait::spmv {
namespace {

struct Column {
  long number;
  double value;
};

Rows rows_of(long first, long all, const std::vector<std::vector<Column>>& wanted) {
  Rows rows;
  rows.first = first;
  rows.all = all;
  for (const auto& row : wanted) {
    for (const Column& c : row) {
      rows.column.push_back(c.number);
      rows.value.push_back(c.value);
    }
    rows.start.push_back(static_cast<long>(rows.column.size()));
  }
  return rows;
}

double x_at(long row) { return std::sin(static_cast<double>(row) + 1); }

std::vector<double> dense_product(const Rows& rows, double factor) {
  std::vector<double> y;
  for (long r = 0; r < rows.count(); ++r) {
    std::vector<double> row(static_cast<std::size_t>(rows.all));
    for (long k = rows.start[r]; k < rows.start[r + 1]; ++k) row[rows.column[k]] = rows.value[k];
    double sum = 0;
    for (long c = 0; c < rows.all; ++c) sum += row[c] * x_at(c);
    y.push_back(factor * sum);
  }
  return y;
}

/// A storage with its x, as Halo would arrange it.
struct Stored {
  Stored(const Rows& rows, StorageKind kind, int threads = 1) : order(order_rows(rows, kind)), work(starts_by_position(rows, order)) {
    std::vector<long> needed;
    for (const int row : order.row_at) x.push_back(x_at(rows.first + row));
    std::vector<int> places;
    for (const long c : rows.column) {
      if (c >= rows.first && c < rows.first + rows.count()) {
        places.push_back(order.position_of[c - rows.first]);
      } else {
        places.push_back(static_cast<int>(x.size()));
        x.push_back(x_at(c));
      }
    }
    storage = store(rows, order, places, work, kind, threads);
  }

  /// In ranges of so many positions, each alone.
  [[nodiscard]] std::vector<double> product(long range, double factor) const {
    const auto n = static_cast<long>(order.row_at.size());
    std::vector<double> y(order.row_at.size(), NAN), by_row(order.row_at.size());
    for (long at = 0; at < n; at += range) storage->multiply(at, std::min(n, at + range), x.data(), y.data(), factor);
    for (long p = 0; p < n; ++p) by_row[order.row_at[p]] = y[p];
    return by_row;
  }

  Order order;
  Work work;
  std::vector<double> x;
  std::unique_ptr<Storage> storage;
};

class StorageTest : public testing::TestWithParam<StorageKind> {};

TEST_P(StorageTest, EveryRangeIsTheProductToTheLastBit) {
  for (const int process : {0, 1, 2}) {
    const Rows rows = grid_rows({5, 4, 3}, process, 3);
    const auto expected = dense_product(rows, 0.3);
    for (const int threads : {1, 3}) {
      const Stored stored(rows, GetParam(), threads);
      for (const long range : {1L, 7L, 60L}) EXPECT_EQ(stored.product(range, 0.3), expected) << process << " " << range;
    }
  }
}

TEST_P(StorageTest, RowsLongerThanAStripOfOthersAreRight) {
  const Rows rows = grid_rows({20, 15, 2}, 0, 1);
  const Stored stored(rows, GetParam());
  EXPECT_EQ(stored.product(600, 1), dense_product(rows, 1));
  EXPECT_EQ(stored.product(131, 1), dense_product(rows, 1));
}

TEST_P(StorageTest, RowsMayBeEmptyOrFull) {
  const Rows rows = rows_of(1, 6, {{}, {{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 5}, {5, 6}}, {}, {{2, -1}, {3, 0.5}}});
  const Stored stored(rows, GetParam());
  EXPECT_EQ(stored.order.inner, 3);
  for (const long range : {1L, 2L, 4L}) EXPECT_EQ(stored.product(range, 1), dense_product(rows, 1));
  const Rows nothing = rows_of(0, 3, {{}, {}, {}});
  EXPECT_EQ(Stored(nothing, GetParam()).product(2, 1), (std::vector<double>{0, 0, 0}));
}

TEST_P(StorageTest, RowsThatNeedNothingOfOthersComeFirst) {
  const Rows rows = grid_rows({3, 2, 3}, 1, 3);
  const Order order = order_rows(rows, GetParam());
  EXPECT_EQ(order.inner, 6);
  for (int p = 0; p < order.inner; ++p) EXPECT_TRUE(order.row_at[p] >= 6 && order.row_at[p] < 12);
  for (int r = 0; r < 18; ++r) EXPECT_EQ(order.row_at[order.position_of[r]], r);
}

INSTANTIATE_TEST_SUITE_P(Both, StorageTest, testing::Values(StorageKind::crs, StorageKind::jds),
                         [](const auto& kind) { return std::string(name_of(kind.param)); });

TEST(Storage, JaggedRowsAreTheLongestFirst) {
  const Rows rows = rows_of(0, 4, {{{0, 1}}, {}, {{0, 1}, {1, 1}, {2, 1}}, {{3, 1}}});
  EXPECT_EQ(order_rows(rows, StorageKind::jds).row_at, (std::vector<int>{2, 0, 3, 1}));
  EXPECT_EQ(order_rows(rows, StorageKind::crs).row_at, (std::vector<int>{0, 1, 2, 3}));
}

TEST(Storage, UnknownOneIsRefused) { EXPECT_THROW((void)find_storage("csr"), Error); }

}  // namespace
}  // namespace plait::spmv
