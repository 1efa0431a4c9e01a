#include "mpi.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace plait::heat {
namespace {

class Part {
 public:
  Part(const Deck& deck, bool threads, MPI_Comm comm) : n_(deck.size), threads_(threads), comm_(comm) {
    int rank = 0, size = 1;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    const long inner = n_ - 2;
    first_ = 1 + inner * rank / size;
    end_ = 1 + inner * (rank + 1) / size;
    above_ = rank > 0 ? rank - 1 : MPI_PROC_NULL;
    below_ = rank + 1 < size ? rank + 1 : MPI_PROC_NULL;
    now_ = std::make_unique<Plate>(first_ - 1, end_ + 1, n_);
    next_ = std::make_unique<Plate>(first_ - 1, end_ + 1, n_);
    rows(first_, end_, [&](long i) { fill(i); });
    fill(first_ - 1);
    fill(end_);
  }

  /// Returns the largest change of a point of this process's.
  double step() {
    std::array<MPI_Request, 4> requests{};
    const auto length = static_cast<int>(n_);
    MPI_Irecv(now_->row(first_ - 1), length, MPI_DOUBLE, above_, 0, comm_, &requests[0]);
    MPI_Irecv(now_->row(end_), length, MPI_DOUBLE, below_, 0, comm_, &requests[1]);
    MPI_Isend(now_->row(first_), length, MPI_DOUBLE, above_, 0, comm_, &requests[2]);
    MPI_Isend(now_->row(end_ - 1), length, MPI_DOUBLE, below_, 0, comm_, &requests[3]);
    // Meanwhile those rows that need no neighbour's.
    double change = update(first_ + 1, end_ - 1);
    MPI_Waitall(4, requests.data(), MPI_STATUSES_IGNORE);
    change = std::max(change, update_one(first_));
    if (end_ - 1 > first_) change = std::max(change, update_one(end_ - 1));
    std::swap(now_, next_);
    return change;
  }

  /// Of the rows of this process.
  void look(double& distance, Digest& digest) const {
    double most = 0;
    std::uint64_t low = 0, high = 0;
    const auto add = [&](long i) {
      most = std::max(most, distance_of_row(now_->row(i), i, n_));
      const Digest of_row = digest_of_row(now_->row(i), i, n_);
      low += of_row.low;
      high += of_row.high;
    };
    for (long i = first_; i < end_; ++i) add(i);
    // What all keep belongs to those beside it.
    if (above_ == MPI_PROC_NULL) add(0);
    if (below_ == MPI_PROC_NULL) add(n_ - 1);
    distance = most;
    digest = {low, high};
  }

 private:
  void fill(long i) {
    fill_row(now_->row(i), i, n_);
    fill_row(next_->row(i), i, n_);
  }

  double update_one(long i) { return update_row(now_->row(i - 1), now_->row(i), now_->row(i + 1), next_->row(i), n_); }

  double update(long first, long end) {
    double change = 0;
    if (threads_) {
#pragma omp parallel for schedule(runtime) reduction(max : change)
      for (long i = first; i < end; ++i) change = std::max(change, update_one(i));
    } else {
      for (long i = first; i < end; ++i) change = std::max(change, update_one(i));
    }
    return change;
  }

  template <class Work>
  void rows(long first, long end, Work&& work) {
    if (threads_) {
#pragma omp parallel for schedule(runtime)
      for (long i = first; i < end; ++i) work(i);
    } else {
      for (long i = first; i < end; ++i) work(i);
    }
  }

  long n_, first_ = 0, end_ = 0;
  bool threads_;
  MPI_Comm comm_;
  int above_ = MPI_PROC_NULL, below_ = MPI_PROC_NULL;
  std::unique_ptr<Plate> now_, next_;
};

}  // namespace

Outcome run_by_mpi(const Deck& deck, bool threads, MPI_Comm comm) {
  if (threads) omp_set_schedule(deck.schedule.kind, deck.schedule.chunk);
  Part part(deck, threads, comm);
  Outcome outcome;
  MPI_Barrier(comm);
  Stopwatch watch;
  bool last = false;
  while (!last) {
    const long step = outcome.steps() + 1;
    const double mine = part.step();
    if (looks(deck, step)) MPI_Allreduce(&mine, &outcome.change, 1, MPI_DOUBLE, MPI_MAX, comm);
    outcome.times.push_back(watch.lap());
    last = ends(deck, step, outcome.change);
  }
  double distance = 0;
  Digest digest;
  part.look(distance, digest);
  const std::array mine{digest.low, digest.high};
  std::array<std::uint64_t, 2> all{};
  MPI_Reduce(&distance, &outcome.distance, 1, MPI_DOUBLE, MPI_MAX, 0, comm);
  MPI_Reduce(mine.data(), all.data(), 2, MPI_UINT64_T, MPI_SUM, 0, comm);
  outcome.digest = {all[0], all[1]};
  return outcome;
}

}  // namespace plait::heat
