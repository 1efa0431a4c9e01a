// Thread communicators in one process, linked to libplait as a user's program is. 1 x 1 to 6.
#include <gtest/gtest.h>
#include <mpi.h>
#include <omp.h>
#include <plait/mpix.h>

#include <numeric>
#include <thread>
#include <vector>

namespace {

int rank_in(MPI_Comm c) {
  int rank = -1;
  MPI_Comm_rank(c, &rank);
  return rank;
}

template <class Body>
void by_threads(MPI_Comm comm, int threads, Body body) {
  std::vector<std::thread> team;
  team.reserve(static_cast<std::size_t>(threads));
  for (int t = 0; t < threads; ++t) {
    team.emplace_back([&] {
      ASSERT_EQ(MPIX_Threadcomm_start(comm), MPI_SUCCESS);
      body();
      ASSERT_EQ(MPIX_Threadcomm_finish(comm), MPI_SUCCESS);
    });
  }
  for (std::thread& t : team) t.join();
}

TEST(Threadcomm, StartedAndFinishedManyTimes) {
  MPI_Comm comm = MPI_COMM_NULL;
  MPIX_Threadcomm_init(MPI_COMM_WORLD, 4, &comm);
  for (int i = 0; i < 50; ++i) {
    by_threads(comm, 4, [&] {
      int sum = rank_in(comm);
      MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, comm);
      EXPECT_EQ(sum, 6);
    });
  }
  // And by the same threads again and again.
  std::vector<std::thread> team;
  team.reserve(4);
  for (int t = 0; t < 4; ++t) {
    team.emplace_back([&] {
      int before = -1;
      for (int i = 0; i < 200; ++i) {
        MPIX_Threadcomm_start(comm);
        if (i > 0) {
          EXPECT_EQ(rank_in(comm), before);
        }
        before = rank_in(comm);
        MPIX_Threadcomm_finish(comm);
      }
    });
  }
  for (std::thread& t : team) t.join();
  MPIX_Threadcomm_free(&comm);
}

TEST(Threadcomm, ManyOneAfterTheOther) {
  for (int i = 0; i < 60; ++i) {
    MPI_Comm comm = MPI_COMM_NULL;
    ASSERT_EQ(MPIX_Threadcomm_init(MPI_COMM_WORLD, 1 + i % 4, &comm), MPI_SUCCESS);
    by_threads(comm, 1 + i % 4, [&] { MPI_Barrier(comm); });
    ASSERT_EQ(MPIX_Threadcomm_free(&comm), MPI_SUCCESS);
  }
}

TEST(Threadcomm, SeveralAtOnceKeepApart) {
  MPI_Comm one = MPI_COMM_NULL;
  MPI_Comm other = MPI_COMM_NULL;
  MPIX_Threadcomm_init(MPI_COMM_WORLD, 3, &one);
  MPIX_Threadcomm_init(MPI_COMM_WORLD, 3, &other);
  by_threads(one, 3, [&] {
    MPIX_Threadcomm_start(other);
    const int rank = rank_in(one);
    MPI_Request requests[4];
    int got[2] = {-1, -1};
    MPI_Irecv(&got[0], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, one, &requests[0]);
    MPI_Irecv(&got[1], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, other, &requests[1]);
    const int second = 10 * rank_in(other);
    MPI_Isend(&second, 1, MPI_INT, (rank_in(other) + 1) % 3, 0, other, &requests[2]);
    MPI_Isend(&rank, 1, MPI_INT, (rank + 1) % 3, 0, one, &requests[3]);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
    EXPECT_EQ(got[0], (rank + 2) % 3);
    EXPECT_EQ(got[1], 10 * ((rank_in(other) + 2) % 3));
    MPIX_Threadcomm_finish(other);
  });
  MPIX_Threadcomm_free(&one);
  MPIX_Threadcomm_free(&other);
}

TEST(Threadcomm, RanksFollowOpenMPsThreadNumbers) {
  MPI_Comm comm = MPI_COMM_NULL;
  MPIX_Threadcomm_init(MPI_COMM_WORLD, 4, &comm);
  for (int i = 0; i < 20; ++i) {
#pragma omp parallel num_threads(4)
    {
      MPIX_Threadcomm_start(comm);
      EXPECT_EQ(rank_in(comm), omp_get_thread_num());
      MPIX_Threadcomm_finish(comm);
    }
  }
  MPIX_Threadcomm_free(&comm);
}

TEST(Threadcomm, CollectiveCallsMoveOnInOtherCalls) {
  MPI_Comm comm = MPI_COMM_NULL;
  MPIX_Threadcomm_init(MPI_COMM_WORLD, 3, &comm);
  by_threads(comm, 3, [&] {
    const int rank = rank_in(comm);
    // Rank 1 gets the broadcast data only if rank 0 moves on while it waits for a message; and that is sent when it has.
    std::vector<int> data(50000, rank == 0 ? 7 : 0);
    MPI_Request broadcast = MPI_REQUEST_NULL;
    MPI_Ibcast(data.data(), static_cast<int>(data.size()), MPI_INT, 0, comm, &broadcast);
    int word = 0;
    if (rank == 0) {
      MPI_Recv(&word, 1, MPI_INT, 1, 0, comm, MPI_STATUS_IGNORE);
      MPI_Wait(&broadcast, MPI_STATUS_IGNORE);
    } else {
      MPI_Wait(&broadcast, MPI_STATUS_IGNORE);
      if (rank == 1) MPI_Send(&word, 1, MPI_INT, 0, 0, comm);
    }
    EXPECT_EQ(std::accumulate(data.begin(), data.end(), 0L), 350000L);
    // Those that a barrier waits for do not hold up what is pending.
    MPI_Request all[3];
    int sums[3] = {rank, 2 * rank, 3 * rank};
    for (int i = 0; i < 3; ++i) MPI_Iallreduce(MPI_IN_PLACE, &sums[i], 1, MPI_INT, MPI_SUM, comm, &all[i]);
    MPI_Barrier(comm);
    for (int left = 3; left > 0; --left) {
      int which = MPI_UNDEFINED;
      MPI_Waitany(3, all, &which, MPI_STATUS_IGNORE);
      EXPECT_EQ(sums[which], 3 * (which + 1));
    }
  });
  MPIX_Threadcomm_free(&comm);
}

TEST(Threadcomm, CommunicatorFreedWithACallPending) {
  MPI_Comm comm = MPI_COMM_NULL;
  MPIX_Threadcomm_init(MPI_COMM_WORLD, 2, &comm);
  by_threads(comm, 2, [&] {
    MPI_Comm dup = MPI_COMM_NULL;
    MPI_Comm_dup(comm, &dup);
    int sum = 1;
    MPI_Request r = MPI_REQUEST_NULL;
    MPI_Iallreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, dup, &r);
    MPI_Comm_free(&dup);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    EXPECT_EQ(sum, 2);
  });
  MPIX_Threadcomm_free(&comm);
}

/// The same bits whoever comes first.
TEST(Threadcomm, SumsDoNotDependOnTiming) {
  MPI_Comm comm = MPI_COMM_NULL;
  MPIX_Threadcomm_init(MPI_COMM_WORLD, 6, &comm);
  std::vector<double> sums(6);
  for (int round = 0; round < 30; ++round) {
    double first = 0;
    by_threads(comm, 6, [&] {
      for (int i = 0; i < (rank_in(comm) * 7 + round) % 5; ++i) std::this_thread::yield();
      const double mine = 1.0 / (3 + rank_in(comm));
      double small = 0;
      MPI_Allreduce(&mine, &small, 1, MPI_DOUBLE, MPI_SUM, comm);
      const std::vector<double> many(20000, mine);
      std::vector<double> large(many.size());
      MPI_Allreduce(many.data(), large.data(), 20000, MPI_DOUBLE, MPI_SUM, comm);
      MPI_Request r = MPI_REQUEST_NULL;
      double later = 0;
      MPI_Ireduce(&mine, &later, 1, MPI_DOUBLE, MPI_SUM, 2, comm, &r);
      MPI_Wait(&r, MPI_STATUS_IGNORE);
      EXPECT_EQ(large[0], small);
      EXPECT_EQ(large.back(), small);
      if (rank_in(comm) == 2) {
        EXPECT_EQ(later, small);
      }
      if (rank_in(comm) == 0) first = small;
    });
    if (round == 0) sums[0] = first;
    EXPECT_EQ(first, sums[0]);
  }
  MPIX_Threadcomm_free(&comm);
}

}  // namespace
