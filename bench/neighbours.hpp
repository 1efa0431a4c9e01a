// An exchange of a message with each of the six neighbours in a periodic grid of three dimensions. Contents are compared.
#pragma once

#include <mpi.h>

#include <array>
#include <cstdint>
#include <string>

#include "common.hpp"
#include "traffic.hpp"

namespace plait::bench {

class Neighbours {
 public:
  static constexpr int kDimensions = 3, kNeighbours = 2 * kDimensions;

  /// Collective. `reorder`: as MPI_Cart_create has it.
  Neighbours(MPI_Comm comm, bool reorder) {
    int processes = 1;
    MPI_Comm_size(comm, &processes);
    std::array<int, kDimensions> counts{};
    constexpr std::array<int, kDimensions> kPeriodic{1, 1, 1};
    MPI_Dims_create(processes, kDimensions, counts.data());
    MPI_Cart_create(comm, kDimensions, counts.data(), kPeriodic.data(), reorder ? 1 : 0, &grid_);
    MPI_Comm_rank(grid_, &rank_);
    for (int d = 0; d < kDimensions; ++d) MPI_Cart_shift(grid_, d, 1, &at(2 * d), &at(2 * d + 1));
  }
  Neighbours(const Neighbours&) = delete;
  Neighbours& operator=(const Neighbours&) = delete;
  ~Neighbours() { MPI_Comm_free(&grid_); }

  [[nodiscard]] MPI_Comm grid() const { return grid_; }
  [[nodiscard]] const std::array<int, kNeighbours>& ranks() const { return ranks_; }

  Side side(const std::string& name, std::size_t bytes) {
    return {name, 1, [this, name, count = bytes / sizeof(Number)](std::int64_t times) {
              Numbers from(kNeighbours * count, Buffer::From::heap), to(kNeighbours * count, Buffer::From::heap);
              std::int64_t wrong = 0;
              const double begin = seconds();
              for (std::int64_t i = 0; i < times; ++i) wrong += exchange(from, to, count, i);
              const double took = seconds() - begin;
              insist(wrong, name);
              return took;
            }};
  }

 private:
  int& at(int direction) { return ranks_[static_cast<std::size_t>(direction)]; }

  /// The direction is the message's tag: two neighbours may be the same process. Counts the wrong messages.
  std::int64_t exchange(const Numbers& from, const Numbers& to, std::size_t count, Number number) {
    std::array<MPI_Request, 2 * kNeighbours> requests{};
    const auto part = [count](int direction) { return count * static_cast<std::size_t>(direction); };
    const auto seed = [number](int rank, int direction) { return number + 1000 * direction + 10000 * static_cast<Number>(rank); };
    const int n = static_cast<int>(count);
    for (int d = 0; d < kNeighbours; ++d) {
      MPI_Irecv(to.at(part(d)), n, MPI_INT64_T, at(d), d ^ 1, grid_, &requests[static_cast<std::size_t>(d)]);
    }
    for (int d = 0; d < kNeighbours; ++d) {
      fill(from.at(part(d)), count, seed(rank_, d));
      MPI_Isend(from.at(part(d)), n, MPI_INT64_T, at(d), d, grid_, &requests[kNeighbours + static_cast<std::size_t>(d)]);
    }
    MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
    std::int64_t wrong = 0;
    for (int d = 0; d < kNeighbours; ++d) wrong += differs(to.at(part(d)), count, seed(at(d), d ^ 1));
    return wrong;
  }

  MPI_Comm grid_ = MPI_COMM_NULL;
  int rank_ = 0;
  std::array<int, kNeighbours> ranks_{};
};

}  // namespace plait::bench
