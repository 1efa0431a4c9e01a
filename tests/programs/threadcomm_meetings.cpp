// threadcomm_meetings: blocking collective calls one after the other, with nothing in between but that some ranks are late now
// and then: what a call leaves in shared memory must stay as long as the slowest rank reads it, and no longer counts after that.
//
//   threadcomm_meetings [THREADS [CALLS]]
#include <mpi.h>
#include <plait/mpix.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include "check.h"

namespace {

/// Of a slot and less, of some chunks, in between.
constexpr int kDoubles[] = {1, 7, 1024, 1025, 3000, 8192, 40000};

double value(int call, int rank, int i) { return 1000.0 * call + 10.0 * rank + i % 10; }

class Player {
 public:
  explicit Player(MPI_Comm comm) : comm_(comm) {
    MPI_Comm_rank(comm, &rank_);
    MPI_Comm_size(comm, &size_);
    out_.resize(static_cast<std::size_t>(size_) * 40000);
    in_.resize(out_.size());
  }

  void play(int call) {
    const auto h = static_cast<std::uint32_t>(call) * 2654435761U;
    const int n = kDoubles[(h >> 8) % std::size(kDoubles)];
    const int root = static_cast<int>((h >> 16) % static_cast<std::uint32_t>(size_));
    const std::uint32_t mine = (h ^ static_cast<std::uint32_t>(rank_) * 40503U) >> 5;
    if (mine % 16 == 0) std::this_thread::sleep_for(std::chrono::microseconds(mine / 16 % 200));
    switch ((h >> 24) % 6) {
      case 0:
        // The root runs ahead as far as it may.
        for (int turn = 0; turn < (n > 1024 ? 1 : 12); ++turn) {
          for (int i = 0; i < n; ++i) in_[at(i)] = rank_ == root ? value(call, root, i) + turn : -1;
          CHECK(MPI_Bcast(in_.data(), n, MPI_DOUBLE, root, comm_) == MPI_SUCCESS);
          for (int i = 0; i < n; ++i) CHECK(in_[at(i)] == value(call, root, i) + turn);
        }
        break;
      case 1:
        fill(call, n);
        CHECK(MPI_Allreduce(out_.data(), in_.data(), n, MPI_DOUBLE, MPI_SUM, comm_) == MPI_SUCCESS);
        for (int i = 0; i < n; ++i) CHECK(in_[at(i)] == sum(call, i));
        break;
      case 2:
        for (int i = 0; i < n; ++i) in_[at(i)] = value(call, rank_, i);
        CHECK(MPI_Allreduce(MPI_IN_PLACE, in_.data(), n, MPI_DOUBLE, MPI_SUM, comm_) == MPI_SUCCESS);
        for (int i = 0; i < n; ++i) CHECK(in_[at(i)] == sum(call, i));
        break;
      case 3:
        fill(call, n);
        CHECK(MPI_Reduce(out_.data(), in_.data(), n, MPI_DOUBLE, MPI_SUM, root, comm_) == MPI_SUCCESS);
        for (int i = 0; rank_ == root && i < n; ++i) CHECK(in_[at(i)] == sum(call, i));
        break;
      case 4:
        for (int r = 0; r < size_; ++r) {
          for (int i = 0; i < n; ++i) out_[at(r * n + i)] = value(call, rank_, i) + 0.5 * r;
        }
        CHECK(MPI_Alltoall(out_.data(), n, MPI_DOUBLE, in_.data(), n, MPI_DOUBLE, comm_) == MPI_SUCCESS);
        for (int r = 0; r < size_; ++r) {
          for (int i = 0; i < n; ++i) CHECK(in_[at(r * n + i)] == value(call, r, i) + 0.5 * rank_);
        }
        break;
      default:
        fill(call, n);
        CHECK(MPI_Allgather(out_.data(), n, MPI_DOUBLE, in_.data(), n, MPI_DOUBLE, comm_) == MPI_SUCCESS);
        for (int r = 0; r < size_; ++r) {
          for (int i = 0; i < n; ++i) CHECK(in_[at(r * n + i)] == value(call, r, i));
        }
        break;
    }
  }

  /// Rank 0 has done with a communicator that it shares with rank 1, and makes the next one with rank 2, while rank 1 may still
  /// be on its way out of the last call.
  static void pass_on(MPI_Comm comm, int rank, int times) {
    MPI_Comm pairs[2];
    MPI_Comm_split(comm, rank < 2 ? 0 : MPI_UNDEFINED, rank, &pairs[0]);
    MPI_Comm_split(comm, rank == 0 || rank == 2 ? 0 : MPI_UNDEFINED, rank, &pairs[1]);
    for (int i = 0; i < times; ++i) {
      for (MPI_Comm pair : pairs) {
        if (pair == MPI_COMM_NULL) continue;
        MPI_Comm made = MPI_COMM_NULL;
        MPI_Comm_dup(pair, &made);
        MPI_Barrier(made);
        MPI_Comm_free(&made);
      }
    }
    for (MPI_Comm& pair : pairs) {
      if (pair != MPI_COMM_NULL) MPI_Comm_free(&pair);
    }
  }

  /// Different amounts on the ranks are a mistake of the program's; all hear of it, and what follows is right.
  void mismatch(int doubles) {
    int n = rank_ == 0 ? doubles + 1 : doubles;
    int error = MPI_Allreduce(out_.data(), in_.data(), n, MPI_DOUBLE, MPI_SUM, comm_);
    CHECK(error != MPI_SUCCESS && (MPI_Error_class(error, &error), error) == MPI_ERR_TRUNCATE);
    error = MPI_Bcast(in_.data(), n, MPI_DOUBLE, 0, comm_);
    if (rank_ != 0) CHECK(error != MPI_SUCCESS && (MPI_Error_class(error, &error), error) == MPI_ERR_TRUNCATE);
  }

 private:
  static std::size_t at(int i) { return static_cast<std::size_t>(i); }
  void fill(int call, int n) {
    for (int i = 0; i < n; ++i) out_[at(i)] = value(call, rank_, i);
  }
  [[nodiscard]] double sum(int call, int i) const {
    double s = 0;  // exact
    for (int r = 0; r < size_; ++r) s += value(call, r, i);
    return s;
  }

  MPI_Comm comm_;
  int rank_ = 0, size_ = 1;
  std::vector<double> out_, in_;
};

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int threads = argc > 1 ? std::atoi(argv[1]) : 2;
  const int calls = argc > 2 ? std::atoi(argv[2]) : 2000;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm comm = MPI_COMM_NULL;
  MPIX_Threadcomm_init(MPI_COMM_WORLD, threads, &comm);
  std::vector<std::thread> team;
  for (int t = 0; t < threads; ++t) {
    team.emplace_back([&] {
      MPIX_Threadcomm_start(comm);
      int rank = 0;
      int size = 0;
      MPI_Comm_rank(comm, &rank);
      MPI_Comm_size(comm, &size);
      Player player(comm);
      for (int i = 0; i < calls; ++i) player.play(i);
      for (const int doubles : {3, 1024, 5000, 60000 / size}) player.mismatch(doubles);
      for (int i = 0; i < 20; ++i) player.play(calls + i);
      // Made and freed while some are still on their way out of the last call.
      for (int i = 0; i < 50; ++i) {
        MPI_Comm some = MPI_COMM_NULL;
        MPI_Comm_split(comm, (rank >> i % 3) % 2, rank, &some);
        Player(some).play(i);
        MPI_Comm_free(&some);
      }
      if (size > 2) Player::pass_on(comm, rank, 300);
      if (rank == 0) std::printf("%d calls by %d ranks: right\n", calls, size);
      MPIX_Threadcomm_finish(comm);
    });
  }
  for (std::thread& t : team) t.join();
  MPIX_Threadcomm_free(&comm);
  MPI_Finalize();
  return 0;
}
