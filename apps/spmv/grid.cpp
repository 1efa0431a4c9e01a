// The operator of a grid: 6 and more on the diagonal, about -1 for each neighbour, all of them different.
#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <limits>

#include "deck/files.hpp"
#include "error.hpp"
#include "rows.hpp"

namespace plait::spmv {
namespace {

/// The seven columns of a row, in their order; the middle one is the diagonal.
constexpr int kColumns = 7, kDiagonal = 3;

/// From 0 to 1, by the place in the matrix.
double unit(std::uint64_t row, int side) {
  return static_cast<double>(deck::mix(row * kColumns + static_cast<std::uint64_t>(side) + 1) >> 11) * 0x1p-53;
}

/// What row `row` has for its neighbour at that side.
double value(long row, int side) {
  const double by = unit(static_cast<std::uint64_t>(row), side);
  return side == kDiagonal ? 6 + by : -(0.5 + by);
}

}  // namespace

void require_room(const Grid& grid, int processes, double memory) {
  const double rows = grid.rows_of_process(), halo = 2.0 * grid.nx * grid.ny;
  // As the source gives a row, and as it is stored; the latter is there while the former still is.
  const double bytes =
      rows * (kColumns * (sizeof(long) + 2 * sizeof(double) + sizeof(int)) + 10 * sizeof(double)) + 2 * sizeof(double) * halo;
  if (rows + halo > std::numeric_limits<int>::max()) {
    throw Error(fmt::format("--grid {}x{} --nk {}: {:.0f} rows a process are too many: take more processes or a smaller grid", grid.nx,
                            grid.ny, grid.nk, rows));
  }
  if (bytes > memory) {
    throw Error(fmt::format("--grid {}x{} --nk {} takes {:.1f} GB in each of {} processes, which have {:.1f} GB each: take a smaller grid",
                            grid.nx, grid.ny, grid.nk, bytes / 1e9, processes, memory / 1e9));
  }
}

Rows grid_rows(const Grid& grid, int process, int processes) {
  const long nx = grid.nx, plane = nx * grid.ny, nz = 1L * grid.nk * processes;
  const long steps[kColumns] = {-plane, -nx, -1, 0, 1, nx, plane};
  Rows rows;
  rows.first = plane * grid.nk * process;
  rows.all = plane * nz;
  const auto count = static_cast<std::size_t>(plane) * static_cast<std::size_t>(grid.nk);
  rows.start.reserve(count + 1);
  rows.column.reserve(count * kColumns);
  rows.value.reserve(count * kColumns);
  rows.column_sum.reserve(count);
  rows.column_size.reserve(count);
  for (long row = rows.first; row < rows.first + static_cast<long>(count); ++row) {
    const long x = row % nx, y = row / nx % grid.ny, z = row / plane;
    const bool there[kColumns] = {z > 0, y > 0, x > 0, true, x < nx - 1, y < grid.ny - 1, z < nz - 1};
    double sum = 0, size = 0;
    for (int side = 0; side < kColumns; ++side) {
      if (!there[side]) continue;
      rows.column.push_back(row + steps[side]);
      rows.value.push_back(value(row, side));
      // The neighbour at that side has this point at its opposite one.
      const double other = value(row + steps[side], kColumns - 1 - side);
      sum += other;
      size += std::abs(other);
    }
    rows.start.push_back(static_cast<long>(rows.column.size()));
    rows.column_sum.push_back(sum);
    rows.column_size.push_back(size);
  }
  return rows;
}

}  // namespace plait::spmv
