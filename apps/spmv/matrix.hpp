// A matrix over all processes: this one's rows as they are stored, and its halo. It is built once, and multiplied by any model.
#pragma once

#include <mpi.h>

#include <memory>
#include <vector>

#include "halo.hpp"
#include "storage.hpp"

namespace plait::spmv {

class Matrix {
 public:
  /// `threads` fill the arrays. Collective over comm, which stays the caller's; reports.
  Matrix(Rows rows, StorageKind kind, int threads, MPI_Comm comm);

  [[nodiscard]] MPI_Comm comm() const { return comm_; }
  [[nodiscard]] StorageKind kind() const { return kind_; }
  [[nodiscard]] long all_rows() const { return all_rows_; }
  [[nodiscard]] long nonzeros() const { return nonzeros_; }
  /// Of all processes in an iteration.
  [[nodiscard]] long halo_bytes() const { return halo_bytes_; }

  /// Of this process. x has as many numbers, by their positions, and the halo's slots behind them.
  [[nodiscard]] long rows() const { return work_.rows(); }
  [[nodiscard]] long row_at(long position) const { return first_ + order_.row_at[position]; }
  [[nodiscard]] Halo& halo() { return halo_; }
  [[nodiscard]] const Work& work() const { return work_; }
  /// The positions, and the units of work, before this need nothing of other processes.
  [[nodiscard]] long inner_rows() const { return order_.inner; }
  [[nodiscard]] long inner_work() const { return work_.before(order_.inner); }

  /// What a product is multiplied by, so that x stays bounded: 1 over the largest sum of absolute values in a row.
  [[nodiscard]] double factor() const { return factor_; }
  /// y = factor * A x, in rows that begin at the units of work from `begin` to `end` - 1.
  void multiply(long begin, long end, const double* x, double* y) const {
    storage_->multiply(work_.rows_before(begin), work_.rows_before(end), x, y, factor_);
  }

  /// Of column row_at(position), of this factor's product.
  [[nodiscard]] double column_sum(long position) const { return factor_ * column_sum_[order_.row_at[position]]; }
  [[nodiscard]] double column_size(long position) const { return factor_ * column_size_[order_.row_at[position]]; }

 private:
  MPI_Comm comm_;
  StorageKind kind_;
  long first_, all_rows_, nonzeros_ = 0, halo_bytes_ = 0;
  Order order_;
  Halo halo_;
  Work work_;
  std::unique_ptr<Storage> storage_;
  double factor_ = 1;
  std::vector<double> column_sum_, column_size_;  // by local rows
};

}  // namespace plait::spmv
