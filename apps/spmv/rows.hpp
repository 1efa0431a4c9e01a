// The rows of a process, as a source gives them: a grid's operator or a file. docs/spmv.md describes both.
#pragma once

#include <mpi.h>

#include <string>
#include <vector>

namespace plait::spmv {

/// Rows that lie together, each in the order of its columns; and what is known of the columns of the same numbers.
struct Rows {
  long first = 0, all = 0;          ///< this process's first row, and how many rows all processes have
  std::vector<long> start{0};       ///< of each row in the arrays below, and the end
  std::vector<long> column;         ///< from 0 to all - 1
  std::vector<double> value;        ///
  std::vector<double> column_sum;   ///< of all values in column first + i, whichever process has them
  std::vector<double> column_size;  ///< the same of absolute values

  [[nodiscard]] long count() const { return static_cast<long>(start.size()) - 1; }
};

/// The 7-point operator of a grid of nx x ny x (nk x processes) points, of which each process has nk planes.
struct Grid {
  int nx = 128, ny = 128, nk = 8;
  [[nodiscard]] double rows_of_process() const { return 1.0 * nx * ny * nk; }
};
/// Throws Error where a process's rows are too many for `memory` bytes or for the numbers of a process's rows.
void require_room(const Grid& grid, int processes, double memory);
[[nodiscard]] Rows grid_rows(const Grid& grid, int process, int processes);

/// A matrix as a file has it: complete, in process 0.
struct Market {
  long rows = 0;
  std::vector<long> start;
  std::vector<long> column;
  std::vector<double> value;
  std::vector<double> column_sum, column_size;
};
/// Reads a Matrix Market file. Throws Error, which names the file and the line.
[[nodiscard]] Market read_market(const std::string& path);
/// Where to cut rows, so that processes have about as many nonzeros each, and a row at least: the first row of each process, and the end.
/// Throws Error for more processes than rows.
[[nodiscard]] std::vector<long> cut_rows(const std::vector<long>& start, int processes);
/// Process 0 reads the file and hands each its rows. Collective over comm; reports.
[[nodiscard]] Rows market_rows(const std::string& path, MPI_Comm comm);

}  // namespace plait::spmv
