#include "matrix.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "error.hpp"

namespace plait::spmv {
namespace {

Order order_on_all(const Rows& rows, StorageKind kind, MPI_Comm comm) {
  Order order;
  collectively(comm, [&] { order = order_rows(rows, kind); });
  return order;
}

double largest_row(const Rows& rows) {
  double most = 0;
  for (long r = 0; r < rows.count(); ++r) {
    double sum = 0;
    for (long k = rows.start[r]; k < rows.start[r + 1]; ++k) sum += std::abs(rows.value[k]);
    most = std::max(most, sum);
  }
  return most;
}

}  // namespace

Matrix::Matrix(Rows rows, StorageKind kind, int threads, MPI_Comm comm)
    : comm_(comm),
      kind_(kind),
      first_(rows.first),
      all_rows_(rows.all),
      order_(order_on_all(rows, kind, comm)),
      halo_(rows, order_, comm),
      column_sum_(std::move(rows.column_sum)),
      column_size_(std::move(rows.column_size)) {
  const long mine[2] = {static_cast<long>(rows.column.size()), static_cast<long>(sizeof(double)) * halo_.slots()};
  long all[2] = {};
  MPI_Allreduce(mine, all, 2, MPI_LONG, MPI_SUM, comm);
  nonzeros_ = all[0];
  halo_bytes_ = all[1];
  const double my_largest = largest_row(rows);
  double largest = 0;
  MPI_Allreduce(&my_largest, &largest, 1, MPI_DOUBLE, MPI_MAX, comm);
  collectively(comm, [&] {
    // So that no product of such a row with numbers of at most 1 leaves the range of a double, and neither does 1 over it.
    constexpr double kLeast = 1e-300, kMost = 1e300;
    if (largest == 0) throw Error("the matrix is all zeros: there is nothing to iterate");
    if (!(largest >= kLeast && largest <= kMost)) {
      throw Error(fmt::format("the largest sum of absolute values in a row is {:.3g}; it must be from {:g} to {:g}: scale the matrix",
                              largest, kLeast, kMost));
    }
    factor_ = 1 / largest;
    work_ = Work(starts_by_position(rows, order_));
    storage_ = store(rows, order_, halo_.places(rows, order_), work_, kind, threads);
  });
}

}  // namespace plait::spmv
