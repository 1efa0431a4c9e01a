// The operator of a grid, and the parts into which rows are cut.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "error.hpp"
#include "rows.hpp"
#include "work.hpp"

namespace plait::spmv {
namespace {

TEST(Work, PartsHaveEachRowOnceAndAboutAsManyNonzeros) {
  const std::vector<long> start{0, 0, 3, 3, 4, 24, 25, 25, 30, 30};  // empty ones at both ends, and one with two thirds of all
  const Work work(start);
  EXPECT_EQ(work.rows(), 9);
  EXPECT_EQ(work.total(), 39);
  for (int parts = 1; parts <= 12; ++parts) {
    long next = 0;
    for (int p = 0; p < parts; ++p) {
      const auto [begin, end] = part_of(0, work.total(), p, parts);
      EXPECT_EQ(work.rows_before(begin), next);
      next = work.rows_before(end);
      // Each row but the last one is in it as a whole.
      if (const long first = work.rows_before(begin); next > first) {
        EXPECT_LE(work.before(next - 1) - work.before(first), end - begin);
      }
    }
    EXPECT_EQ(next, work.rows());
  }
}

TEST(Work, OfNoRowsIsNone) {
  const Work work(std::vector<long>{0});
  EXPECT_EQ(work.total(), 0);
  EXPECT_EQ(work.rows_before(0), 0);
}

TEST(Grid, HasTheSameRowsHoweverItIsCut) {
  const Rows whole = grid_rows({4, 3, 6}, 0, 1);
  EXPECT_EQ(whole.count(), 72);
  EXPECT_EQ(whole.column.size(), 7U * 72 - 2 * (12 + 18 + 24));
  for (const int processes : {2, 3}) {
    for (int p = 0; p < processes; ++p) {
      const Rows part = grid_rows({4, 3, 6 / processes}, p, processes);
      EXPECT_EQ(part.first, p * 72 / processes);
      EXPECT_EQ(part.all, 72);
      const long at = whole.start[part.first];
      EXPECT_TRUE(std::equal(part.column.begin(), part.column.end(), whole.column.begin() + at));
      EXPECT_TRUE(std::equal(part.value.begin(), part.value.end(), whole.value.begin() + at));
      EXPECT_TRUE(std::equal(part.column_sum.begin(), part.column_sum.end(), whole.column_sum.begin() + part.first));
    }
  }
}

TEST(Grid, ColumnSumsAreThoseOfItsRows) {
  const Rows rows = grid_rows({4, 3, 5}, 0, 1);
  std::vector<double> sum(60), size(60);
  for (std::size_t k = 0; k < rows.column.size(); ++k) {
    sum[rows.column[k]] += rows.value[k];
    size[rows.column[k]] += std::abs(rows.value[k]);
  }
  for (int c = 0; c < 60; ++c) {
    EXPECT_NEAR(rows.column_sum[c], sum[c], 1e-14);
    EXPECT_NEAR(rows.column_size[c], size[c], 1e-14);
  }
}

TEST(Grid, ThatDoesNotFitIsRefused) {
  EXPECT_NO_THROW(require_room({128, 128, 8}, 2, 1e9));
  EXPECT_THROW(require_room({128, 128, 8}, 2, 1e6), Error);
  EXPECT_THROW(require_room({1 << 20, 1 << 20, 8}, 2, 1e18), Error);
}

}  // namespace
}  // namespace plait::spmv
