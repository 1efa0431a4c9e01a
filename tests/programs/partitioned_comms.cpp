// partitioned_comms: partitioned messages with one envelope on communicators of all makes at once reach each the right one.
#include <mpi.h>
#include <plait/mpix.h>
#include <plait/partitioned.h>

#include <cstdio>
#include <vector>

#include "check.h"

namespace {

struct Made {
  MPI_Comm comm;
  int to, from;  // ranks in it
};

/// A ring in the communicator, or this process and one of the other group.
Made made(MPI_Comm comm) {
  int inter = 0;
  int rank = 0;
  int size = 0;
  MPI_Comm_test_inter(comm, &inter);
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  return inter ? Made{comm, rank, rank} : Made{comm, (rank + 1) % size, (rank + size - 1) % size};
}

std::vector<Made> make_all() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  std::vector<Made> all{made(MPI_COMM_WORLD), made(MPI_COMM_SELF)};
  const auto add = [&](MPI_Comm c) {
    if (c != MPI_COMM_NULL) all.push_back(made(c));
    return c;
  };
  MPI_Comm c = MPI_COMM_NULL;
  MPI_Comm first = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &first);
  add(first);
  MPI_Comm_dup(first, &c);
  add(c);
  MPI_Comm_dup_with_info(first, MPI_INFO_NULL, &c);
  add(c);
  MPI_Request made_later[2];
  MPI_Comm later[2];
  for (int i = 0; i < 2; ++i) MPI_Comm_idup(first, &later[i], &made_later[i]);
  MPI_Waitall(2, made_later, MPI_STATUSES_IGNORE);
  for (const MPI_Comm l : later) add(l);
  MPI_Comm half = MPI_COMM_NULL;
  MPI_Comm_split(first, rank % 2, -rank, &half);
  add(half);
  MPI_Comm_split(first, rank == 0 ? MPI_UNDEFINED : 0, rank, &c);
  add(c);
  MPI_Comm_split_type(first, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &c);
  add(c);
  MPI_Group group = MPI_GROUP_NULL;
  MPI_Group some = MPI_GROUP_NULL;
  MPI_Comm_group(first, &group);
  const int ranks[2] = {2, 1};
  MPI_Group_incl(group, 2, ranks, &some);
  MPI_Comm_create(first, some, &c);
  add(c);
  if (rank == 1 || rank == 2) {
    for (int tag = 5; tag < 8; ++tag) {
      MPI_Comm_create_group(first, some, tag / 2, &c);
      add(c);
    }
  }
  MPI_Group_free(&group);
  MPI_Group_free(&some);
  const int dims[2] = {2, 2};
  const int periods[2] = {1, 1};
  const int remain[2] = {0, 1};
  MPI_Cart_create(first, 2, dims, periods, 0, &c);
  add(c);
  MPI_Cart_sub(c, remain, &c);
  add(c);
  const int neighbour = rank ^ 1;
  MPI_Dist_graph_create_adjacent(first, 1, &neighbour, MPI_UNWEIGHTED, 1, &neighbour, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &c);
  add(c);
  MPI_Comm inter = MPI_COMM_NULL;
  for (int i = 0; i < 2; ++i) {
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, rank % 2 ? 2 : 3, 9, &inter);
    add(inter);
  }
  MPI_Intercomm_merge(inter, rank % 2, &c);
  add(c);
  MPIX_Stream stream = MPIX_STREAM_NULL;
  MPIX_Stream_create(MPI_INFO_NULL, &stream);
  MPIX_Stream_comm_create(first, stream, &c);
  add(c);
  return all;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const std::vector<Made> all = make_all();
  const std::size_t n = all.size();
  // What is sent: which communicator, and from whom in it.
  std::vector<int> from(2 * n);
  std::vector<int> to(2 * n, -1);
  std::vector<MPI_Request> requests(2 * n);
  const auto receive = [&](std::size_t i) {
    MPI_Precv_init(&to[2 * i], 1, 2, MPI_INT, all[i].from, 3, all[i].comm, MPI_INFO_NULL, &requests[i]);
  };
  // Backwards, and on half of the processes before the sends.
  for (std::size_t i = n; i-- > 0 && rank % 2;) receive(i);
  for (std::size_t i = 0; i < n; ++i) {
    int own = 0;
    MPI_Comm_rank(all[i].comm, &own);
    from[2 * i] = static_cast<int>(i);
    from[2 * i + 1] = own;
    MPI_Psend_init(&from[2 * i], 2, 1, MPI_INT, all[i].to, 3, all[i].comm, MPI_INFO_NULL, &requests[n + i]);
  }
  for (std::size_t i = n; i-- > 0 && rank % 2 == 0;) receive(i);
  MPI_Startall(static_cast<int>(requests.size()), requests.data());
  for (std::size_t i = 0; i < n; ++i) MPI_Pready_range(0, 1, requests[n + i]);
  MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
  for (std::size_t i = 0; i < n; ++i) {
    CHECK(to[2 * i + 1] == all[i].from);
    // Processes are not in all of them, and count those that they are in.
    int inter = 0;
    MPI_Comm_test_inter(all[i].comm, &inter);
    int theirs = static_cast<int>(i);
    MPI_Sendrecv(&from[2 * i], 1, MPI_INT, all[i].to, 4, &theirs, 1, MPI_INT, all[i].from, 4, all[i].comm, MPI_STATUS_IGNORE);
    CHECK(to[2 * i] == theirs);
  }
  for (MPI_Request& r : requests) MPI_Request_free(&r);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) std::printf("messages on communicators of all makes: right\n");
  MPI_Finalize();
  return 0;
}
