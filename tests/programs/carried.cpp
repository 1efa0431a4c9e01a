// carried all|streams: ordinary communicators of all makes. With PLAIT_COMMUNICATORS=all plait carries their messages, and the MPI sees
// none; else the MPI does. Then several threads use one communicator, and one whose message waits while it is freed. 2 processes and more.
#include <mpi.h>

#include <array>
#include <cstdio>
#include <cstring>
#include <functional>
#include <thread>
#include <vector>

#include "check.h"

namespace {

int rank_of(MPI_Comm comm) {
  int rank = -1;
  MPI_Comm_rank(comm, &rank);
  return rank;
}
int size_of(MPI_Comm comm) {
  int size = 0;
  MPI_Comm_size(comm, &size);
  return size;
}

/// A message from each rank to the next; where it lies before it is received tells who carries it.
void exchange(MPI_Comm comm, const char* make, bool carried) {
  if (comm == MPI_COMM_NULL) return;
  const int rank = rank_of(comm);
  const int size = size_of(comm);
  const int from = (rank + size - 1) % size;
  std::array<int, 2> mine{rank, 42};
  MPI_Request request = MPI_REQUEST_NULL;
  CHECK(MPI_Isend(mine.data(), 2, MPI_INT, (rank + 1) % size, 7, comm, &request) == MPI_SUCCESS);
  MPI_Status status;
  CHECK(MPI_Probe(from, MPI_ANY_TAG, comm, &status) == MPI_SUCCESS);
  int known_to_mpi = 0;
  PMPI_Iprobe(from, 7, comm, &known_to_mpi, MPI_STATUS_IGNORE);
  if ((known_to_mpi == 0) != carried) {
    std::fprintf(stderr, "%s: carried by %s\n", make, known_to_mpi ? "the MPI" : "plait");
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  int count = 0;
  MPI_Get_count(&status, MPI_INT, &count);
  CHECK(status.MPI_SOURCE == from && status.MPI_TAG == 7 && count == 2);
  std::array<int, 2> theirs{-1, -1};
  CHECK(MPI_Recv(theirs.data(), 2, MPI_INT, MPI_ANY_SOURCE, 7, comm, &status) == MPI_SUCCESS);
  CHECK(theirs[0] == from && theirs[1] == 42 && status.MPI_SOURCE == from);
  CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
  int sum = 0;
  CHECK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm) == MPI_SUCCESS && sum == size * (size - 1) / 2);
}

using Make = std::function<MPI_Comm()>;
struct Named {
  const char* name;
  Make make;
};

template <class Call>
MPI_Comm made(Call call) {
  MPI_Comm comm = MPI_COMM_NULL;
  CHECK(call(&comm) == MPI_SUCCESS);
  return comm;
}

MPI_Comm merged() {
  const int rank = rank_of(MPI_COMM_WORLD);
  MPI_Comm half = made([&](MPI_Comm* c) { return MPI_Comm_split(MPI_COMM_WORLD, rank == 0, 0, c); });
  MPI_Comm both = made([&](MPI_Comm* c) { return MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, rank == 0 ? 1 : 0, 5, c); });
  // Intercommunicators are the MPI's.
  int number = rank;
  int other = -1;
  if (rank < 2) {
    MPI_Sendrecv(&number, 1, MPI_INT, 0, 1, &other, 1, MPI_INT, 0, 1, both, MPI_STATUS_IGNORE);
    CHECK(other == 1 - rank);
  }
  MPI_Comm merged = made([&](MPI_Comm* c) { return MPI_Intercomm_merge(both, rank == 0, c); });
  MPI_Comm_free(&both);
  MPI_Comm_free(&half);
  return merged;
}

std::vector<Named> makes() {
  static const int size = size_of(MPI_COMM_WORLD);
  static MPI_Group world, most;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  const int zero = 0;
  MPI_Group_excl(world, size > 2 ? 1 : 0, &zero, &most);
  const bool member = size == 2 || rank_of(MPI_COMM_WORLD) > 0;
  return {
      {"MPI_Comm_dup", [] { return made([](MPI_Comm* c) { return MPI_Comm_dup(MPI_COMM_WORLD, c); }); }},
      {"MPI_Comm_dup_with_info", [] { return made([](MPI_Comm* c) { return MPI_Comm_dup_with_info(MPI_COMM_WORLD, MPI_INFO_NULL, c); }); }},
      {"MPI_Comm_idup",
       [] {
         MPI_Comm comm = MPI_COMM_NULL;
         MPI_Request request = MPI_REQUEST_NULL;
         MPI_Comm_idup(MPI_COMM_WORLD, &comm, &request);
         MPI_Wait(&request, MPI_STATUS_IGNORE);
         return comm;
       }},
      {"MPI_Comm_split",
       [] {
         return made([](MPI_Comm* c) { return MPI_Comm_split(MPI_COMM_WORLD, rank_of(MPI_COMM_WORLD) % 2, -rank_of(MPI_COMM_WORLD), c); });
       }},
      {"MPI_Comm_split_type",
       [] { return made([](MPI_Comm* c) { return MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, c); }); }},
      {"MPI_Comm_create", [] { return made([](MPI_Comm* c) { return MPI_Comm_create(MPI_COMM_WORLD, most, c); }); }},
      {"MPI_Comm_create_group",
       [member] { return member ? made([](MPI_Comm* c) { return MPI_Comm_create_group(MPI_COMM_WORLD, most, 3, c); }) : MPI_COMM_NULL; }},
      {"MPI_Cart_create",
       [] {
         const int periodic = 1;
         return made([&](MPI_Comm* c) { return MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &periodic, 1, c); });
       }},
      {"MPI_Dist_graph_create_adjacent",
       [] {
         const int right = (rank_of(MPI_COMM_WORLD) + 1) % size;
         const int left = (rank_of(MPI_COMM_WORLD) + size - 1) % size;
         return made([&](MPI_Comm* c) {
           return MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &left, MPI_UNWEIGHTED, 1, &right, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, c);
         });
       }},
      {"MPI_Intercomm_merge", merged},
  };
}

/// Each thread talks to the thread of its number in the partner, of one communicator, under its own tag.
void use_by_threads(MPI_Comm comm) {
  constexpr int kThreads = 4;
  constexpr int kMessages = 300;
  constexpr std::array<int, 5> kSizes{1, 40, 3000, 40000, 200000};
  const int partner = rank_of(comm) ^ 1;
  if (partner >= size_of(comm)) return;
  const auto work = [&](int t) {
    std::vector<unsigned char> out(kSizes.back());
    std::vector<unsigned char> in(kSizes.back());
    for (int i = 0; i < kMessages; ++i) {
      const int bytes = kSizes[static_cast<std::size_t>(i) % kSizes.size()];
      fill(out.data(), bytes, static_cast<unsigned>(rank_of(comm)), static_cast<unsigned>(1000 * t + i));
      MPI_Request requests[2];
      MPI_Status statuses[2];
      MPI_Irecv(in.data(), bytes, MPI_BYTE, i % 2 ? MPI_ANY_SOURCE : partner, t, comm, &requests[0]);
      MPI_Isend(out.data(), bytes, MPI_BYTE, partner, t, comm, &requests[1]);
      if (i % 3 == 0) {
        for (int done = 0; !done;) MPI_Testall(2, requests, &done, statuses);
      } else {
        MPI_Waitall(2, requests, statuses);
      }
      CHECK(statuses[0].MPI_SOURCE == partner && statuses[0].MPI_TAG == t);
      CHECK(is_filled(in.data(), bytes, static_cast<unsigned>(partner), static_cast<unsigned>(1000 * t + i)));
    }
  };
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) threads.emplace_back(work, t);
  for (std::thread& t : threads) t.join();
}

/// Started requests outlive their communicator.
void free_while_pending() {
  const int size = size_of(MPI_COMM_WORLD);
  const int rank = rank_of(MPI_COMM_WORLD);
  for (int i = 0; i < 20; ++i) {
    MPI_Comm comm = made([](MPI_Comm* c) { return MPI_Comm_dup(MPI_COMM_WORLD, c); });
    static std::vector<int> out(50000);
    static std::vector<int> in(50000);
    out.back() = 100 * i + rank;
    MPI_Request requests[2];
    MPI_Irecv(in.data(), 50000, MPI_INT, (rank + size - 1) % size, 1, comm, &requests[0]);
    MPI_Isend(out.data(), 50000, MPI_INT, (rank + 1) % size, 1, comm, &requests[1]);
    MPI_Comm_free(&comm);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    CHECK(in.back() == 100 * i + (rank + size - 1) % size);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const bool carried = argc > 1 && std::strcmp(argv[1], "all") == 0;
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  exchange(MPI_COMM_WORLD, "MPI_COMM_WORLD", carried);
  exchange(MPI_COMM_SELF, "MPI_COMM_SELF", carried);
  for (const auto& [name, make] : makes()) {
    for (int i = 0; i < 3; ++i) {  // endpoints are used again
      MPI_Comm comm = make();
      exchange(comm, name, carried);
      if (comm != MPI_COMM_NULL && i == 2) {
        MPI_Comm again = made([&](MPI_Comm* c) { return MPI_Comm_dup(comm, c); });
        exchange(again, name, carried);
        MPI_Comm_free(&again);
      }
      if (comm != MPI_COMM_NULL) MPI_Comm_free(&comm);
    }
  }
  if (provided == MPI_THREAD_MULTIPLE) use_by_threads(MPI_COMM_WORLD);
  free_while_pending();
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank_of(MPI_COMM_WORLD) == 0) std::puts("communicators of all makes: right");
  MPI_Finalize();
  return 0;
}
