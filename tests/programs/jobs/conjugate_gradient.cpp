// Conjugate gradients for a tridiagonal system, the unknowns cut into pieces. Every digit depends on the order in which the
// dot products are summed.
#include <cmath>
#include <cstdio>
#include <vector>

#include "jobs.hpp"

namespace {

class System {
 public:
  System(MPI_Comm world, int unknowns)
      : world_(world), rank_(::rank_of(world)), size_(::size_of(world)), here_(static_cast<std::size_t>(unknowns / size_)) {}

  [[nodiscard]] std::size_t here() const { return here_; }
  [[nodiscard]] double dot(const std::vector<double>& a, const std::vector<double>& b) const {
    double sum = 0;
    for (std::size_t i = 1; i <= here_; ++i) sum += a[i] * b[i];
    double all = 0;
    MPI_Allreduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, world_);
    return all;
  }
  /// y = A x; x has a place for a neighbour's unknown on either side.
  void multiply(std::vector<double>& x, std::vector<double>& y) const {
    const int left = rank_ == 0 ? MPI_PROC_NULL : rank_ - 1;
    const int right = rank_ == size_ - 1 ? MPI_PROC_NULL : rank_ + 1;
    MPI_Sendrecv(&x[1], 1, MPI_DOUBLE, left, 0, &x[here_ + 1], 1, MPI_DOUBLE, right, 0, world_, MPI_STATUS_IGNORE);
    MPI_Sendrecv(&x[here_], 1, MPI_DOUBLE, right, 1, &x[0], 1, MPI_DOUBLE, left, 1, world_, MPI_STATUS_IGNORE);
    for (std::size_t i = 1; i <= here_; ++i) y[i] = 2.01 * x[i] - x[i - 1] - x[i + 1];
  }

 private:
  MPI_Comm world_;
  int rank_, size_;
  std::size_t here_;
};

}  // namespace

void jobs::conjugate_gradient(MPI_Comm world) {
  const System a(world, 12000);
  const std::size_t n = a.here() + 2;
  std::vector<double> x(n);
  std::vector<double> r(n);
  std::vector<double> q(n);
  for (std::size_t i = 1; i <= a.here(); ++i)
    r[i] = std::cos(0.01 * static_cast<double>(static_cast<std::size_t>(rank_of(world)) * a.here() + i));
  std::vector<double> p = r;
  double rho = a.dot(r, r);
  for (int step = 0; step < 150; ++step) {
    a.multiply(p, q);
    const double alpha = rho / a.dot(p, q);
    for (std::size_t i = 1; i <= a.here(); ++i) {
      x[i] += alpha * p[i];
      r[i] -= alpha * q[i];
    }
    const double next = a.dot(r, r);
    for (std::size_t i = 1; i <= a.here(); ++i) p[i] = r[i] + next / rho * p[i];
    rho = next;
    if (step % 50 == 49 && rank_of(world) == 0) std::printf("conjugate gradient, step %d: %.17g\n", step + 1, std::sqrt(rho));
  }
  const double length = a.dot(x, x);
  if (rank_of(world) == 0) std::printf("conjugate gradient: solution %.17g\n", length);
}
