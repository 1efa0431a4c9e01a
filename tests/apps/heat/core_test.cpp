#include "core.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace plait::heat {
namespace {

std::vector<double> rows(long first, long end, long n) {
  std::vector<double> values(static_cast<std::size_t>((end - first) * n));
  for (long i = first; i < end; ++i) fill_row(values.data() + (i - first) * n, i, n);
  return values;
}

Digest digest(const std::vector<double>& plate, const std::vector<long>& order, long n) {
  Digest sum;
  for (const long i : order) {
    const Digest row = digest_of_row(plate.data() + i * n, i, n);
    sum.low += row.low;
    sum.high += row.high;
  }
  return sum;
}

TEST(Core, EdgesRiseFromZeroToOne) {
  const auto plate = rows(0, 5, 5);
  for (std::size_t k = 0; k < 5; ++k) {
    EXPECT_EQ(plate[k], 0.0);
    EXPECT_EQ(plate[20 + k], 1.0);
  }
  for (std::size_t i = 1; i < 4; ++i) {
    EXPECT_EQ(plate[5 * i], 0.25 * static_cast<double>(i));
    EXPECT_EQ(plate[5 * i + 4], 0.25 * static_cast<double>(i));
    for (std::size_t k = 1; k < 4; ++k) EXPECT_EQ(plate[5 * i + k], 0.5);
  }
}

TEST(Core, ARowIsTheMeanOfItsNeighboursAndTellsItsLargestChange) {
  const double above[] = {9, 1, 2, 9}, row[] = {3, 4, 5, 6}, below[] = {9, 8, 0, 9};
  double next[] = {-1, -1, -1, -1};
  EXPECT_EQ(update_row(above, row, below, next, 4), 2.0);
  EXPECT_EQ(next[0], -1.0);
  EXPECT_EQ(next[1], 0.25 * (1 + 8 + 3 + 5));
  EXPECT_EQ(next[2], 0.25 * (2 + 0 + 4 + 6));
  EXPECT_EQ(next[3], -1.0);
}

TEST(Core, TheSteadyStateStaysAndIsNotFarFromItself) {
  const long n = 9;  // eighths are exact
  std::vector<double> plate(n * n), next(n);
  for (long i = 0; i < n; ++i) {
    for (long k = 0; k < n; ++k) plate[static_cast<std::size_t>(i * n + k)] = static_cast<double>(i) / 8;
    EXPECT_EQ(distance_of_row(plate.data() + i * n, i, n), 0.0);
  }
  for (long i = 1; i < n - 1; ++i) {
    const double* row = plate.data() + i * n;
    EXPECT_EQ(update_row(row - n, row, row + n, next.data(), n), 0.0);
  }
  EXPECT_EQ(distance_of_row(plate.data() + n, 3, n), 0.25);
}

TEST(Core, TheDigestDependsOnEachBitAndPlaceAndNotOnTheOrderOfRows) {
  const long n = 6;
  auto plate = rows(0, n, n);
  plate[8] = 0.75;
  const Digest usual = digest(plate, {0, 1, 2, 3, 4, 5}, n), other = digest(plate, {5, 2, 3, 0, 1, 4}, n);
  EXPECT_EQ(usual.text(), other.text());
  EXPECT_EQ(usual.text().size(), 32U);
  std::swap(plate[8], plate[9]);
  EXPECT_NE(digest(plate, {0, 1, 2, 3, 4, 5}, n).text(), usual.text());
  std::swap(plate[8], plate[9]);
  plate[0] = -0.0;
  EXPECT_NE(digest(plate, {0, 1, 2, 3, 4, 5}, n).text(), usual.text());
}

}  // namespace
}  // namespace plait::heat
