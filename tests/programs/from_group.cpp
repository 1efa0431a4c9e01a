// from_group: communicators of groups alone, while another thread asks the MPI for messages, and by several threads at one time. Open
// MPI's own hang between nodes then.
#include <mpi.h>

#include <atomic>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "check.h"

namespace {

constexpr int kTimes = 12;
constexpr int kThreads = 3;

int rank, size;
MPI_Group world;

int sum_of(MPI_Comm comm, int number) {
  int sum = 0;
  CHECK(MPI_Allreduce(&number, &sum, 1, MPI_INT, MPI_SUM, comm) == MPI_SUCCESS);
  return sum;
}

/// Of all processes, last first, by this thread's name for it.
void make(int thread, int i) {
  int range[1][3]{{size - 1, 0, -1}};
  MPI_Group turned = MPI_GROUP_NULL;
  MPI_Comm made = MPI_COMM_NULL;
  CHECK(MPI_Group_range_incl(world, 1, range, &turned) == MPI_SUCCESS);
  const std::string name = "thread " + std::to_string(thread);
  CHECK(MPI_Comm_create_from_group(turned, name.c_str(), MPI_INFO_NULL, MPI_ERRORS_RETURN, &made) == MPI_SUCCESS);
  int mine = -1;
  MPI_Comm_rank(made, &mine);
  CHECK(mine == size - 1 - rank);
  CHECK(sum_of(made, thread * 100 + i) == size * (thread * 100 + i));
  MPI_Comm_free(&made);
  MPI_Group_free(&turned);
}

/// Its handler is the one that was given.
void handler_and_hints() {
  MPI_Info hints = MPI_INFO_NULL;
  MPI_Info_create(&hints);
  MPI_Info_set(hints, "mpi_assert_no_any_tag", "true");
  MPI_Comm made = MPI_COMM_NULL;
  CHECK(MPI_Comm_create_from_group(world, "hints", hints, MPI_ERRORS_RETURN, &made) == MPI_SUCCESS);
  MPI_Info_free(&hints);
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  CHECK(MPI_Comm_get_errhandler(made, &handler) == MPI_SUCCESS && handler == MPI_ERRORS_RETURN);
  int order = -1;
  CHECK(MPI_Comm_compare(made, MPI_COMM_WORLD, &order) == MPI_SUCCESS && order == MPI_CONGRUENT);
  CHECK(sum_of(made, rank) == size * (size - 1) / 2);
  GIVES(MPI_Send(&rank, 1, MPI_INT, size, 0, made), MPI_ERR_RANK);
  MPI_Comm_free(&made);
}

/// Some processes, which others do not wait for.
void of_some() {
  int range[1][3]{{0, size - 1, 2}};
  MPI_Group even = MPI_GROUP_NULL;
  MPI_Comm made = MPI_COMM_NULL;
  CHECK(MPI_Group_range_incl(world, 1, range, &even) == MPI_SUCCESS);
  if (rank % 2 == 0) {
    CHECK(MPI_Comm_create_from_group(even, "even", MPI_INFO_NULL, MPI_ERRORS_RETURN, &made) == MPI_SUCCESS);
    CHECK(sum_of(made, 1) == (size + 1) / 2);
    MPI_Comm_free(&made);
  }
  MPI_Group_free(&even);
}

/// The first process, and the others.
void of_two_groups() {
  const int first = 0;
  MPI_Group one = MPI_GROUP_NULL;
  MPI_Group others = MPI_GROUP_NULL;
  MPI_Comm made = MPI_COMM_NULL;
  MPI_Group_incl(world, 1, &first, &one);
  MPI_Group_excl(world, 1, &first, &others);
  const bool alone = rank == 0;
  CHECK(MPI_Intercomm_create_from_groups(alone ? one : others, 0, alone ? others : one, 0, "two", MPI_INFO_NULL, MPI_ERRORS_RETURN,
                                         &made) == MPI_SUCCESS);
  int there = 0;
  CHECK(MPI_Comm_remote_size(made, &there) == MPI_SUCCESS && there == (alone ? size - 1 : 1));
  CHECK(sum_of(made, 1) == there);
  MPI_Comm_free(&made);
  MPI_Group_free(&one);
  MPI_Group_free(&others);
}

}  // namespace

int main(int argc, char** argv) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Comm asked = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &asked);
  std::atomic<bool> over{false};
  std::thread asks([&] {
    for (int found = 0; !over.load() && provided == MPI_THREAD_MULTIPLE;) {
      MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, asked, &found, MPI_STATUS_IGNORE);
      CHECK(!found);
      std::this_thread::yield();
    }
  });
  for (int i = 0; i < kTimes; ++i) make(0, i);
  std::vector<std::thread> threads;
  for (int t = 1; t <= kThreads && provided == MPI_THREAD_MULTIPLE; ++t) {
    threads.emplace_back([t] {
      for (int i = 0; i < kTimes; ++i) make(t, i);
    });
  }
  for (std::thread& t : threads) t.join();
  handler_and_hints();
  of_some();
  of_two_groups();
  MPI_Comm none = MPI_COMM_WORLD;
  CHECK(MPI_Comm_create_from_group(MPI_GROUP_EMPTY, "none", MPI_INFO_NULL, MPI_ERRORS_RETURN, &none) == MPI_SUCCESS);
  CHECK(none == MPI_COMM_NULL);
  over.store(true);
  asks.join();
  MPI_Comm_free(&asked);
  MPI_Group_free(&world);
  MPI_Finalize();
  if (rank == 0) std::puts("communicators of groups: right");
  return 0;
}
