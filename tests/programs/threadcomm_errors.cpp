// threadcomm_errors: what a program may get wrong with a thread communicator gives MPI's error classes through its error
// handler, none of it hangs, and what follows is right. With a word, too few threads start first: the watchdog has to be on.
#include <mpi.h>
#include <plait/mpix.h>

#include <atomic>
#include <cstdio>
#include <thread>
#include <vector>

#include "check.h"

namespace {

constexpr int kThreads = 3;

void still_works(MPI_Comm comm) {
  int rank = -1;
  int size = 0;
  CHECK(MPI_Comm_rank(comm, &rank) == MPI_SUCCESS);
  MPI_Comm_size(comm, &size);
  int left = -1;
  CHECK(MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 3, &left, 1, MPI_INT, (rank + size - 1) % size, 3, comm, MPI_STATUS_IGNORE) ==
        MPI_SUCCESS);
  CHECK(left == (rank + size - 1) % size);
  int sum = 0;
  CHECK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm) == MPI_SUCCESS && sum == size * (size - 1) / 2);
}

/// By a thread that is no rank.
void outside(MPI_Comm comm) {
  int x = 0;
  MPI_Request r = MPI_REQUEST_NULL;
  GIVES(MPI_Comm_rank(comm, &x), MPI_ERR_COMM);
  GIVES(MPI_Comm_size(comm, &x), MPI_ERR_COMM);
  GIVES(MPI_Send(&x, 1, MPI_INT, 0, 0, comm), MPI_ERR_COMM);
  GIVES(MPI_Irecv(&x, 1, MPI_INT, 0, 0, comm, &r), MPI_ERR_COMM);
  GIVES(MPI_Barrier(comm), MPI_ERR_COMM);
  GIVES(MPI_Ibarrier(comm, &r), MPI_ERR_COMM);
  MPI_Comm made = MPI_COMM_NULL;
  GIVES(MPI_Comm_dup(comm, &made), MPI_ERR_COMM);
  GIVES(MPIX_Threadcomm_finish(comm), MPI_ERR_COMM);
}

/// Errors on a thread communicator are told to no other's handler.
thread_local bool not_self = false;
extern "C" void self_is_told(MPI_Comm*, int*, ...) { CHECK(!not_self); }
thread_local int told = 0;
extern "C" void communicator_is_told(MPI_Comm*, int*, ...) { ++told; }

/// All ranks learn it, although some of them combine nothing.
void misfits(MPI_Comm comm) {
  const double from[2] = {};
  double to[2] = {};
  MPI_Request r = MPI_REQUEST_NULL;
  MPI_Datatype two = MPI_DATATYPE_NULL;
  MPI_Type_contiguous(2, MPI_DOUBLE, &two);
  MPI_Type_commit(&two);
  not_self = true;
  GIVES(MPI_Allreduce(from, to, 1, MPI_DOUBLE, MPI_BAND, comm), MPI_ERR_OP);
  GIVES(MPI_Reduce(from, to, 1, two, MPI_SUM, 1, comm), MPI_ERR_OP);
  GIVES(MPI_Iallreduce(from, to, 1, MPI_DOUBLE, MPI_MAXLOC, comm, &r), MPI_ERR_OP);
  not_self = false;
  CHECK(r == MPI_REQUEST_NULL);
  MPI_Type_free(&two);
  const struct {
    double value;
    int at;
  } mine = {1, 2};
  auto most = mine;
  CHECK(MPI_Allreduce(&mine, &most, 1, MPI_DOUBLE_INT, MPI_MAXLOC, comm) == MPI_SUCCESS && most.value == 1 && most.at == 2);
  still_works(comm);
}

/// A communicator lives until its requests have ended: its handler is told.
void freed_before_the_end(MPI_Comm comm) {
  int rank = -1;
  int size = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  MPI_Comm dup = MPI_COMM_NULL;
  MPI_Comm_dup(comm, &dup);
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  MPI_Comm_create_errhandler(communicator_is_told, &handler);
  MPI_Comm_set_errhandler(dup, handler);
  MPI_Errhandler_free(&handler);
  MPI_Barrier(dup);
  const int two[2] = {1, 2};
  int one = 0;
  const std::vector<int> all(2 * static_cast<std::size_t>(size));
  int data[2] = {};
  MPI_Request r[2];
  MPI_Irecv(&one, 1, MPI_INT, (rank + size - 1) % size, 5, dup, &r[0]);
  MPI_Iscatter(all.data(), 2, MPI_INT, data, rank == 0 ? 2 : 1, MPI_INT, 0, dup, &r[1]);
  MPI_Send(two, 2, MPI_INT, (rank + 1) % size, 5, dup);
  MPI_Comm_free(&dup);
  told = 0;
  not_self = true;
  GIVES(MPI_Wait(&r[0], MPI_STATUS_IGNORE), MPI_ERR_TRUNCATE);
  CHECK(told == 1);
  GIVES(MPI_Wait(&r[1], MPI_STATUS_IGNORE), rank == 0 ? MPI_SUCCESS : MPI_ERR_TRUNCATE);
  CHECK(told == (rank == 0 ? 1 : 2));
  not_self = false;
  still_works(comm);
}

/// Ranks give no weights for edges that they do not have; and one for edges that it has, which count 1.
void chain(MPI_Comm comm, int rank, int size) {
  const int before = rank - 1;
  const int next = rank + 1;
  const int weight = 7;
  const bool none = rank == size - 1;
  MPI_Comm made = MPI_COMM_NULL;
  CHECK(MPI_Dist_graph_create_adjacent(comm, rank == 0 ? 0 : 1, &before, rank == 0 || none ? MPI_UNWEIGHTED : &weight, none ? 0 : 1, &next,
                                       none ? MPI_UNWEIGHTED : &weight, MPI_INFO_NULL, 1, &made) == MPI_SUCCESS);
  int in = 0;
  int out = 0;
  int weighted = 0;
  MPI_Dist_graph_neighbors_count(made, &in, &out, &weighted);
  MPI_Comm_rank(made, &rank);
  int source = -1;
  int in_weight = -1;
  int target = -1;
  int out_weight = -1;
  MPI_Dist_graph_neighbors(made, 1, &source, &in_weight, 1, &target, &out_weight);
  CHECK(weighted == 1 && in == (rank == 0 ? 0 : 1) && out == (rank == size - 1 ? 0 : 1));
  CHECK(in == 0 || (source == rank - 1 && in_weight == (rank == size - 1 ? 1 : weight)));
  CHECK(out == 0 || (target == rank + 1 && out_weight == weight));
  MPI_Comm_free(&made);
}

void arguments(MPI_Comm comm) {
  int rank = -1;
  int size = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  int x = 0;
  std::vector<int> many(static_cast<std::size_t>(size));
  MPI_Request r = MPI_REQUEST_NULL;
  GIVES(MPI_Send(&x, 1, MPI_INT, size, 0, comm), MPI_ERR_RANK);
  GIVES(MPI_Recv(&x, 1, MPI_INT, -5, 0, comm, MPI_STATUS_IGNORE), MPI_ERR_RANK);
  GIVES(MPI_Send(&x, 1, MPI_INT, rank, -5, comm), MPI_ERR_TAG);
  GIVES(MPI_Bcast(&x, 1, MPI_INT, size, comm), MPI_ERR_ROOT);
  GIVES(MPI_Ireduce(&x, &x, 1, MPI_INT, MPI_SUM, -1, comm, &r), MPI_ERR_ROOT);
  GIVES(MPI_Bcast(&x, -1, MPI_INT, 0, comm), MPI_ERR_COUNT);
  GIVES(MPI_Allgather(&x, 1, MPI_DATATYPE_NULL, many.data(), 1, MPI_INT, comm), MPI_ERR_TYPE);
  GIVES(MPI_Allreduce(&x, &x, 1, MPI_INT, MPI_OP_NULL, comm), MPI_ERR_OP);
  int dims[1] = {size + 1};
  const int periods[1] = {0};
  MPI_Comm made = MPI_COMM_NULL;
  GIVES(MPI_Cart_create(comm, 1, dims, periods, 0, &made), MPI_ERR_ARG);
  // Where one rank alone is wrong, none waits for it.
  const int neighbour = rank == size - 1 ? size : 0;
  const int expected = rank == size - 1 ? MPI_ERR_ARG : MPI_ERR_TOPOLOGY;
  const int one = 1;
  const int minus = rank == size - 1 ? -1 : 1;
  GIVES(MPI_Dist_graph_create_adjacent(comm, 0, many.data(), MPI_UNWEIGHTED, 1, &neighbour, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &made),
        expected);
  GIVES(MPI_Dist_graph_create_adjacent(comm, 0, many.data(), &minus, 1, many.data(), &minus, MPI_INFO_NULL, 1, &made), expected);
  GIVES(MPI_Dist_graph_create(comm, 1, &rank, &minus, many.data(), MPI_UNWEIGHTED, MPI_INFO_NULL, 1, &made), expected);
  GIVES(MPI_Dist_graph_create_adjacent(comm, minus == -1 ? -1 : 0, many.data(), MPI_UNWEIGHTED, 0, many.data(), MPI_UNWEIGHTED,
                                       MPI_INFO_NULL, 0, &made),
        expected);
  GIVES(MPI_Dist_graph_create(comm, 1, minus == -1 ? nullptr : &rank, &one, many.data(), MPI_UNWEIGHTED, MPI_INFO_NULL, 1, &made),
        expected);
  GIVES(MPI_Dist_graph_create_adjacent(comm, 0, many.data(), MPI_UNWEIGHTED, 1, many.data(), MPI_WEIGHTS_EMPTY, MPI_INFO_NULL, 1, &made),
        MPI_ERR_ARG);
  chain(comm, rank, size);
  GIVES(MPI_Cartdim_get(comm, &x), MPI_ERR_TOPOLOGY);
  GIVES(MPI_Neighbor_allgather(&x, 1, MPI_INT, many.data(), 1, MPI_INT, comm), MPI_ERR_TOPOLOGY);
  CHECK(r == MPI_REQUEST_NULL && made == MPI_COMM_NULL);
  still_works(comm);
}

void unsupported(MPI_Comm comm) {
  int x = 0;
  MPI_Win w = MPI_WIN_NULL;
  MPI_File f = MPI_FILE_NULL;
  MPI_Comm made = MPI_COMM_NULL;
  MPI_Request r = MPI_REQUEST_NULL;
  GIVES(MPI_Win_create(&x, sizeof x, 1, MPI_INFO_NULL, comm, &w), MPI_ERR_UNSUPPORTED_OPERATION);
  GIVES(MPI_Win_create_dynamic(MPI_INFO_NULL, comm, &w), MPI_ERR_UNSUPPORTED_OPERATION);
  GIVES(MPI_File_open(comm, "none", MPI_MODE_RDONLY, MPI_INFO_NULL, &f), MPI_ERR_UNSUPPORTED_OPERATION);
  GIVES(MPI_Comm_spawn("none", MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, comm, &made, MPI_ERRCODES_IGNORE), MPI_ERR_UNSUPPORTED_OPERATION);
  GIVES(MPI_Comm_connect("none", MPI_INFO_NULL, 0, comm, &made), MPI_ERR_UNSUPPORTED_OPERATION);
  GIVES(MPI_Comm_idup(comm, &made, &r), MPI_ERR_UNSUPPORTED_OPERATION);
  GIVES(MPI_Intercomm_create(comm, 0, MPI_COMM_WORLD, 0, 0, &made), MPI_ERR_UNSUPPORTED_OPERATION);
#if MPI_VERSION >= 4
  GIVES(MPI_Barrier_init(comm, MPI_INFO_NULL, &r), MPI_ERR_UNSUPPORTED_OPERATION);
  GIVES(MPI_Psend_init(&x, 1, 1, MPI_INT, 0, 0, comm, MPI_INFO_NULL, &r), MPI_ERR_UNSUPPORTED_OPERATION);
#endif
  MPI_Comm nested = MPI_COMM_NULL;
  GIVES(MPIX_Threadcomm_init(comm, 2, &nested), MPI_ERR_COMM);
  still_works(comm);
}

/// A receive that is open when its rank wants to finish.
void unfinished(MPI_Comm comm) {
  int x = 0;
  MPI_Request r = MPI_REQUEST_NULL;
  MPI_Irecv(&x, 1, MPI_INT, 0, 77, comm, &r);
  GIVES(MPIX_Threadcomm_finish(comm), MPI_ERR_PENDING);
  MPI_Cancel(&r);
  MPI_Wait(&r, MPI_STATUS_IGNORE);
  still_works(comm);
}

/// With PLAIT_WATCHDOG: those that have come get an error.
void too_few(MPI_Comm comm) {
  std::vector<std::thread> team;
  for (int t = 1; t < kThreads; ++t) {
    team.emplace_back([&] { GIVES(MPIX_Threadcomm_start(comm), MPI_ERR_OTHER); });
  }
  for (std::thread& t : team) t.join();
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  MPI_Comm_create_errhandler(self_is_told, &handler);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, handler);
  MPI_Errhandler_free(&handler);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm comm = MPI_COMM_NULL;
  GIVES(MPIX_Threadcomm_init(MPI_COMM_WORLD, 0, &comm), MPI_ERR_ARG);
  CHECK(comm == MPI_COMM_NULL);
  GIVES(MPIX_Threadcomm_start(MPI_COMM_WORLD), MPI_ERR_COMM);
  MPI_Comm world = MPI_COMM_WORLD;
  GIVES(MPIX_Threadcomm_free(&world), MPI_ERR_COMM);
  CHECK(MPIX_Threadcomm_init(MPI_COMM_WORLD, kThreads, &comm) == MPI_SUCCESS);
  outside(comm);
  if (argc > 1) too_few(comm);

  std::atomic<int> started{0};
  std::atomic<int> checked{0};
  std::vector<std::thread> team;
  for (int t = 0; t < kThreads; ++t) {
    team.emplace_back([&, t] {
      CHECK(MPIX_Threadcomm_start(comm) == MPI_SUCCESS);
      ++started;
      GIVES(MPIX_Threadcomm_start(comm), MPI_ERR_OTHER);  // twice
      arguments(comm);
      misfits(comm);
      freed_before_the_end(comm);
      unsupported(comm);
      unfinished(comm);
      MPI_Comm same = comm;
      if (t == 0) GIVES(MPIX_Threadcomm_free(&same), MPI_ERR_ARG);  // while started
      MPI_Comm base = comm;
      GIVES(MPI_Comm_free(&base), MPI_ERR_COMM);
      while (checked == 0) std::this_thread::yield();
      CHECK(MPIX_Threadcomm_finish(comm) == MPI_SUCCESS);
    });
  }
  while (started < kThreads) std::this_thread::yield();
  GIVES(MPIX_Threadcomm_start(comm), MPI_ERR_ARG);  // one too many
  outside(comm);
  checked = 1;
  for (std::thread& t : team) t.join();
  team.clear();

  // And again, by other threads.
  for (int t = 0; t < kThreads; ++t) {
    team.emplace_back([&] {
      CHECK(MPIX_Threadcomm_start(comm) == MPI_SUCCESS);
      still_works(comm);
      CHECK(MPIX_Threadcomm_finish(comm) == MPI_SUCCESS);
    });
  }
  for (std::thread& t : team) t.join();
  CHECK(MPIX_Threadcomm_free(&comm) == MPI_SUCCESS && comm == MPI_COMM_NULL);
  if (rank == 0) std::printf("every mistake with threads has its error class\n");
  MPI_Finalize();
  return 0;
}
