// Jacobi's iteration on a square, cut into blocks: edges are exchanged with four neighbours, columns as a strided datatype.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

#include "jobs.hpp"

namespace {

constexpr int kCells = 120;  ///< along one side; divisible by what 1 to 6 ranks are cut into

struct Block {
  int rows, columns;
  std::vector<double> now, next;
  Block(int r, int c) : rows(r), columns(c), now(static_cast<std::size_t>((r + 2) * (c + 2))), next(now) {}
  [[nodiscard]] std::size_t at(int r, int c) const { return static_cast<std::size_t>(r * (columns + 2) + c); }
};

void exchange(Block& b, MPI_Comm cart, MPI_Datatype column) {
  int up = 0;
  int down = 0;
  int left = 0;
  int right = 0;
  MPI_Cart_shift(cart, 0, 1, &up, &down);
  MPI_Cart_shift(cart, 1, 1, &left, &right);
  MPI_Request r[8];
  double* const x = b.now.data();
  MPI_Irecv(x + b.at(0, 1), b.columns, MPI_DOUBLE, up, 0, cart, &r[0]);
  MPI_Irecv(x + b.at(b.rows + 1, 1), b.columns, MPI_DOUBLE, down, 1, cart, &r[1]);
  MPI_Irecv(x + b.at(1, 0), 1, column, left, 2, cart, &r[2]);
  MPI_Irecv(x + b.at(1, b.columns + 1), 1, column, right, 3, cart, &r[3]);
  MPI_Isend(x + b.at(b.rows, 1), b.columns, MPI_DOUBLE, down, 0, cart, &r[4]);
  MPI_Isend(x + b.at(1, 1), b.columns, MPI_DOUBLE, up, 1, cart, &r[5]);
  MPI_Isend(x + b.at(1, b.columns), 1, column, right, 2, cart, &r[6]);
  MPI_Isend(x + b.at(1, 1), 1, column, left, 3, cart, &r[7]);
  MPI_Waitall(8, r, MPI_STATUSES_IGNORE);
}

}  // namespace

void jobs::halo(MPI_Comm world) {
  const int size = size_of(world);
  int dims[2] = {0, 0};
  const int periods[2] = {0, 1};
  int coords[2];
  MPI_Dims_create(size, 2, dims);
  MPI_Comm cart = MPI_COMM_NULL;
  MPI_Cart_create(world, 2, dims, periods, 0, &cart);
  MPI_Cart_coords(cart, rank_of(cart), 2, coords);
  Block b(kCells / dims[0], kCells / dims[1]);
  for (int r = 1; r <= b.rows; ++r) {
    for (int c = 1; c <= b.columns; ++c) b.now[b.at(r, c)] = std::sin(0.1 * (coords[0] * b.rows + r) * (coords[1] * b.columns + c));
  }
  MPI_Datatype column = MPI_DATATYPE_NULL;
  MPI_Type_vector(b.rows, 1, b.columns + 2, MPI_DOUBLE, &column);
  MPI_Type_commit(&column);
  double change = 0;
  for (int step = 0; step < 60; ++step) {
    exchange(b, cart, column);
    double largest = 0;
    for (int r = 1; r <= b.rows; ++r) {
      for (int c = 1; c <= b.columns; ++c) {
        const double mean = 0.25 * (b.now[b.at(r - 1, c)] + b.now[b.at(r + 1, c)] + b.now[b.at(r, c - 1)] + b.now[b.at(r, c + 1)]);
        largest = std::max(largest, std::abs(mean - b.now[b.at(r, c)]));
        b.next[b.at(r, c)] = mean;
      }
    }
    b.now.swap(b.next);
    MPI_Allreduce(&largest, &change, 1, MPI_DOUBLE, MPI_MAX, cart);
  }
  double sum = 0;
  double all = 0;
  for (int r = 1; r <= b.rows; ++r) {
    for (int c = 1; c <= b.columns; ++c) sum += b.now[b.at(r, c)];
  }
  MPI_Reduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, 0, cart);
  if (rank_of(cart) == 0) std::printf("halo of %d x %d: change %.17g, sum %.17g\n", dims[0], dims[1], change, all);
  MPI_Type_free(&column);
  MPI_Comm_free(&cart);
}
