// carried all|streams|none: ordinary communicators of all makes. With PLAIT_COMMUNICATORS=all plait carries their messages, and the MPI
// sees none; else the MPI does. Likewise collective calls inside a node. Then several threads use one communicator, and one with requests
// that are pending is freed. 2 processes and more.
#include <mpi.h>
#include <plait/native.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <thread>
#include <vector>

#include "check.h"
#include "comm.hpp"

// Open MPI 5 calls itself MPI 3.1, and has them.
#if MPI_VERSION >= 4 || (defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5)
#define HAS_SESSIONS 1
#else
#define HAS_SESSIONS 0
#endif

// A function past plait.
#define NATIVE(NAME) reinterpret_cast<decltype(&MPI_##NAME)>(plait_native_function("MPI_" #NAME))

namespace {

/// Is the error of that class?
bool is(int error, int expected) {
  int found = 0;
  MPI_Error_class(error, &found);
  return found == expected;
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
  NATIVE(Iprobe)(from, 7, comm, &known_to_mpi, MPI_STATUS_IGNORE);
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

/// A broadcast by its usual name and one of the MPI's own, at the root in another order than elsewhere: what comes first tells who carries
/// it.
bool has_collectives_of_plait(MPI_Comm comm) {
  const int rank = rank_of(comm);
  int named = rank == 0 ? 1 : -1;
  int native = rank == 0 ? 2 : -1;
  MPI_Request by_name = MPI_REQUEST_NULL;
  MPI_Request by_mpi = MPI_REQUEST_NULL;
  if (rank == 0) NATIVE(Ibcast)(&native, 1, MPI_INT, 0, comm, &by_mpi);
  CHECK(MPI_Ibcast(&named, 1, MPI_INT, 0, comm, &by_name) == MPI_SUCCESS);
  if (rank != 0) NATIVE(Ibcast)(&native, 1, MPI_INT, 0, comm, &by_mpi);
  MPI_Wait(&by_name, MPI_STATUS_IGNORE);
  NATIVE(Wait)(&by_mpi, MPI_STATUS_IGNORE);
  CHECK((named == 1 && native == 2) || (rank != 0 && named == 2 && native == 1));
  int most = named;
  MPI_Allreduce(MPI_IN_PLACE, &most, 1, MPI_INT, MPI_MAX, comm);
  return most == 1;
}

void collectives(MPI_Comm comm, const char* make, bool carried) {
  const int size = comm == MPI_COMM_NULL ? 1 : size_of(comm);
  if (size == 1) return;
  MPI_Barrier(comm);  // between nodes its leaders call the MPI
  MPI_Comm node = MPI_COMM_NULL;
  MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  const bool here = size_of(node) == size;
  MPI_Comm_free(&node);
  const bool expected = carried && here && std::strcmp(make, "MPI_Comm_idup") != 0;
  if (has_collectives_of_plait(comm) == expected) return;
  std::fprintf(stderr, "%s: collective calls are %s\n", make, expected ? "the MPI's" : "plait's");
  MPI_Abort(MPI_COMM_WORLD, 1);
}

/// After a barrier one MPI_Win_test sees that the accesses before it are over, as it does after the MPI's own barrier.
void test_window_once() {
  int memory = 0;
  MPI_Win window = MPI_WIN_NULL;
  MPI_Group all = MPI_GROUP_NULL;
  MPI_Group some = MPI_GROUP_NULL;
  const int zero = 0;
  const int rank = rank_of(MPI_COMM_WORLD);
  MPI_Win_create(&memory, sizeof memory, sizeof memory, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  MPI_Win_get_group(window, &all);
  for (int i = 0; i < 20; ++i) {
    if (rank == 0) {
      MPI_Group_excl(all, 1, &zero, &some);
      MPI_Win_start(some, 0, window);
      MPI_Barrier(MPI_COMM_WORLD);
      MPI_Win_complete(window);
    } else {
      MPI_Group_incl(all, 1, &zero, &some);
      MPI_Win_post(some, 0, window);
      MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    int over = 1;
    if (rank != 0) CHECK(MPI_Win_test(window, &over) == MPI_SUCCESS && over);
    MPI_Group_free(&some);
  }
  MPI_Group_free(&all);
  MPI_Win_free(&window);
}

/// The MPI's own, since it alone knows who they are.
void neighbours() {
  const int size = size_of(MPI_COMM_WORLD);
  const int periodic = 1;
  MPI_Comm ring = MPI_COMM_NULL;
  CHECK(MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &periodic, 0, &ring) == MPI_SUCCESS);
  const int rank = rank_of(ring);
  for (const bool blocking : {true, false}) {
    std::array<int, 2> found{-1, -1};
    if (blocking) {
      CHECK(MPI_Neighbor_allgather(&rank, 1, MPI_INT, found.data(), 1, MPI_INT, ring) == MPI_SUCCESS);
    } else {
      MPI_Request request = MPI_REQUEST_NULL;
      CHECK(MPI_Ineighbor_allgather(&rank, 1, MPI_INT, found.data(), 1, MPI_INT, ring, &request) == MPI_SUCCESS);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    CHECK(found[0] == (rank + size - 1) % size && found[1] == (rank + 1) % size);
  }
  MPI_Comm_free(&ring);
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

#if HAS_SESSIONS
MPI_Session session = MPI_SESSION_NULL;
#endif

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
#if HAS_SESSIONS
      {"MPI_Comm_create_from_group",
       [] {
         MPI_Group all = MPI_GROUP_NULL;
         CHECK(MPI_Group_from_session_pset(session, "mpi://WORLD", &all) == MPI_SUCCESS);
         MPI_Comm comm =
             made([&](MPI_Comm* c) { return MPI_Comm_create_from_group(all, "carried", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, c); });
         MPI_Group_free(&all);
         return comm;
       }},
#endif
  };
}

/// Each thread talks to the thread of its number in the partner, of one communicator, under its own tag.
void use_by_threads(MPI_Comm comm, bool from_any = true) {
  constexpr int kThreads = 4;
  constexpr int kMessages = 100;
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
      MPI_Irecv(in.data(), bytes, MPI_BYTE, from_any && i % 2 ? MPI_ANY_SOURCE : partner, t, comm, &requests[0]);
      MPI_Isend(out.data(), bytes, MPI_BYTE, partner, t, comm, &requests[1]);
      if (i % 3 == 0) {
        for (int done = 0; !done;) MPI_Testall(2, requests, &done, statuses);
      } else {
        MPI_Waitall(2, requests, statuses);
      }
      if (statuses[0].MPI_SOURCE != partner || statuses[0].MPI_TAG != t) {
        std::fprintf(stderr, "message %d to thread %d: from %d with tag %d\n", i, t, statuses[0].MPI_SOURCE, statuses[0].MPI_TAG);
        MPI_Abort(MPI_COMM_WORLD, 1);
      }
      CHECK(is_filled(in.data(), bytes, static_cast<unsigned>(partner), static_cast<unsigned>(1000 * t + i)));
    }
  };
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) threads.emplace_back(work, t);
  for (std::thread& t : threads) t.join();
}

/// One thread makes collective calls while others send on the same communicator.
void collectives_beside_messages() {
  const int size = size_of(MPI_COMM_WORLD);
  std::thread messages([] { use_by_threads(MPI_COMM_WORLD); });
  for (int i = 0; i < 500; ++i) {
    std::array<std::int64_t, 3> numbers{i, rank_of(MPI_COMM_WORLD), 1};
    MPI_Allreduce(MPI_IN_PLACE, numbers.data(), 3, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    CHECK(numbers[0] == i * size && numbers[1] == size * (size - 1) / 2 && numbers[2] == size);
    std::vector<int> large(i % 50 ? 0 : 30000, rank_of(MPI_COMM_WORLD) == 0 ? i : -1);
    MPI_Bcast(large.data(), static_cast<int>(large.size()), MPI_INT, 0, MPI_COMM_WORLD);
    CHECK(large.empty() || (large.front() == i && large.back() == i));
  }
  messages.join();
}

/// What one thread has started another completes, while the first one starts more.
void complete_elsewhere() {
  constexpr int kCalls = 200;
  const int size = size_of(MPI_COMM_WORLD);
  std::vector<MPI_Request> requests(kCalls, MPI_REQUEST_NULL);
  std::vector<std::int64_t> sums(kCalls);
  std::atomic<int> started{0};
  std::thread other([&] {
    for (int i = 0; i < kCalls; ++i) {
      while (started.load(std::memory_order_acquire) <= i) std::this_thread::yield();
      MPI_Wait(&requests[static_cast<std::size_t>(i)], MPI_STATUS_IGNORE);
    }
  });
  for (int i = 0; i < kCalls; ++i) {
    const auto at = static_cast<std::size_t>(i);
    sums[at] = rank_of(MPI_COMM_WORLD) + i;
    MPI_Iallreduce(MPI_IN_PLACE, &sums[at], 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD, &requests[at]);
    started.store(i + 1, std::memory_order_release);
  }
  other.join();
  for (int i = 0; i < kCalls; ++i) CHECK(sums[static_cast<std::size_t>(i)] == size * (size - 1) / 2 + i * size);
}

/// A duplicate for which this process promises these.
MPI_Comm promised(const std::vector<const char*>& keys) {
  MPI_Info hints = MPI_INFO_NULL;
  MPI_Info_create(&hints);
  for (const char* key : keys) MPI_Info_set(hints, key, "true");
  MPI_Comm comm = made([&](MPI_Comm* c) { return MPI_Comm_dup_with_info(MPI_COMM_WORLD, hints, c); });
  MPI_Info_free(&hints);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  return comm;
}

/// A send with one tag and a receive with another, by one call; a message that is there before it is looked for; one that is started again.
void use_tags_apart(MPI_Comm comm) {
  const int next = (rank_of(comm) + 1) % size_of(comm);
  const int last = (rank_of(comm) + size_of(comm) - 1) % size_of(comm);
  for (int tag = 0; tag < 40; tag += 3) {
    for (const int count : {1, tag % 4 ? 1000 : 50000}) {
      const std::vector<int> out(static_cast<std::size_t>(count), rank_of(comm) + tag);
      std::vector<int> in(out.size());
      const int other = (tag * 7 + 3) % 40;
      std::vector<int> second(out.size());
      MPI_Request request = MPI_REQUEST_NULL;
      MPI_Request sends[2];
      MPI_Status status;
      MPI_Irecv(in.data(), count, MPI_INT, last, tag, comm, &request);
      MPI_Isend(out.data(), count, MPI_INT, next, other, comm, &sends[0]);
      CHECK(MPI_Sendrecv(out.data(), count, MPI_INT, next, tag, second.data(), count, MPI_INT, last, other, comm, &status) == MPI_SUCCESS);
      CHECK(second.back() == last + tag && status.MPI_TAG == other && status.MPI_SOURCE == last);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      MPI_Wait(&sends[0], MPI_STATUS_IGNORE);
      CHECK(in.front() == last + tag && in.back() == last + tag);
      MPI_Isend(out.data(), count, MPI_INT, next, tag, comm, &sends[0]);
      MPI_Message message = MPI_MESSAGE_NULL;
      CHECK(MPI_Mprobe(last, tag, comm, &message, &status) == MPI_SUCCESS && status.MPI_TAG == tag);
      CHECK(MPI_Mrecv(in.data(), count, MPI_INT, &message, &status) == MPI_SUCCESS && in.back() == last + tag);
      MPI_Send_init(out.data(), count, MPI_INT, next, tag, comm, &sends[1]);
      MPI_Recv_init(in.data(), count, MPI_INT, last, tag, comm, &request);
      for (int i = 0; i < 2; ++i) {
        in.back() = -1;
        MPI_Start(&request);
        MPI_Start(&sends[1]);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Wait(&sends[1], MPI_STATUS_IGNORE);
        CHECK(in.back() == last + tag);
      }
      MPI_Request_free(&sends[1]);
      MPI_Request_free(&request);
      MPI_Wait(&sends[0], MPI_STATUS_IGNORE);
    }
  }
}

/// Threads on communicators whose program promises to use no wildcards. A call that uses one gets an error.
void hints(bool carried) {
  const int rank = rank_of(MPI_COMM_WORLD);
  int number = 0;
  MPI_Status status;
  for (int i = 0; i < 2; ++i) {  // endpoints are used again
    MPI_Comm by_tag = promised({"mpi_assert_no_any_tag"});
    MPI_Comm by_both = promised({"mpi_assert_no_any_tag", "mpi_assert_no_any_source"});
    MPI_Comm by_some = promised(rank == 0 ? std::vector<const char*>{} : std::vector<const char*>{"mpi_assert_no_any_tag"});
    MPI_Comm without = made([&](MPI_Comm* c) { return MPI_Comm_dup(by_tag, c); });
    use_by_threads(by_tag, true);
    use_by_threads(by_both, false);
    MPI_Barrier(MPI_COMM_WORLD);  // one without a partner is there at once
    use_tags_apart(by_tag);
    use_tags_apart(by_both);
    exchange(by_some, "one where not all promise", carried);
    exchange(without, "a duplicate without hints", carried);
    collectives(by_tag, "one with hints", carried);
    if (carried && i == 0) {
      CHECK(is(MPI_Recv(&number, 1, MPI_INT, 0, MPI_ANY_TAG, by_tag, &status), MPI_ERR_TAG));
      CHECK(is(MPI_Probe(0, MPI_ANY_TAG, by_tag, &status), MPI_ERR_TAG));
      CHECK(is(MPI_Recv(&number, 1, MPI_INT, MPI_ANY_SOURCE, 0, by_both, &status), MPI_ERR_RANK));
      CHECK(is(MPI_Send(&number, 1, MPI_INT, size_of(by_tag), 0, by_tag), MPI_ERR_RANK));
      CHECK(is(MPI_Send(&number, 1, MPI_INT, 0, -5, by_tag), MPI_ERR_TAG));
      CHECK(MPI_Recv(&number, 1, MPI_INT, MPI_PROC_NULL, MPI_ANY_TAG, by_tag, &status) == MPI_SUCCESS);
    }
    for (MPI_Comm comm : {by_tag, by_both, by_some, without}) MPI_Comm_free(&comm);
  }
}

/// By the MPI's class, and nothing is lost.
void mistakes() {
  MPI_Comm comm = made([](MPI_Comm* c) { return MPI_Comm_dup(MPI_COMM_WORLD, c); });
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  int number = rank_of(comm);
  CHECK(is(MPI_Bcast(&number, 1, MPI_INT, size_of(comm), comm), MPI_ERR_ROOT));
  CHECK(is(MPI_Bcast(&number, -1, MPI_INT, 0, comm), MPI_ERR_COUNT));
  CHECK(is(MPI_Reduce(&number, &number, 1, MPI_INT, MPI_OP_NULL, 0, comm), MPI_ERR_OP));
  CHECK(is(MPI_Send(&number, 1, MPI_INT, size_of(comm), 0, comm), MPI_ERR_RANK));
  CHECK(MPI_Bcast(&number, 1, MPI_INT, 1, comm) == MPI_SUCCESS && number == 1);
  MPI_Comm_free(&comm);
}

/// Started requests outlive their communicator. Collective ones of the MPI's own do not in Open MPI 5.0.11, between nodes.
void free_while_pending() {
  const int size = size_of(MPI_COMM_WORLD);
  const int rank = rank_of(MPI_COMM_WORLD);
  const bool collectives_too = has_collectives_of_plait(MPI_COMM_WORLD);
  for (int i = 0; i < 20; ++i) {
    MPI_Comm comm = made([](MPI_Comm* c) { return MPI_Comm_dup(MPI_COMM_WORLD, c); });
    static std::vector<int> out(50000);
    static std::vector<int> in(50000);
    out.back() = 100 * i + rank;
    std::int64_t sum = rank + i;
    MPI_Request requests[3] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPI_Irecv(in.data(), 50000, MPI_INT, (rank + size - 1) % size, 1, comm, &requests[0]);
    MPI_Isend(out.data(), 50000, MPI_INT, (rank + 1) % size, 1, comm, &requests[1]);
    if (collectives_too) MPI_Iallreduce(MPI_IN_PLACE, &sum, 1, MPI_INT64_T, MPI_SUM, comm, &requests[2]);
    MPI_Comm_free(&comm);
    MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
    CHECK(!collectives_too || sum == size * (size - 1) / 2 + i * size);
    CHECK(in.back() == 100 * i + (rank + size - 1) % size);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const bool carried = argc > 1 && std::strcmp(argv[1], "all") == 0;
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
#if HAS_SESSIONS
  CHECK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session) == MPI_SUCCESS);
#endif
  exchange(MPI_COMM_WORLD, "MPI_COMM_WORLD", carried);
  exchange(MPI_COMM_SELF, "MPI_COMM_SELF", carried);
  collectives(MPI_COMM_WORLD, "MPI_COMM_WORLD", carried);
  for (const auto& [name, make] : makes()) {
    for (int i = 0; i < 3; ++i) {  // endpoints are used again
      MPI_Comm comm = make();
      exchange(comm, name, carried);
      collectives(comm, name, carried);
      if (comm != MPI_COMM_NULL && i == 2) {
        MPI_Comm again = made([&](MPI_Comm* c) { return MPI_Comm_dup(comm, c); });
        exchange(again, name, carried);
        MPI_Comm_free(&again);
      }
      if (comm != MPI_COMM_NULL) MPI_Comm_free(&comm);
    }
  }
  if (provided == MPI_THREAD_MULTIPLE) {
    use_by_threads(MPI_COMM_WORLD);
    hints(carried);
    collectives_beside_messages();
    complete_elsewhere();
  }
  neighbours();
  if (has_collectives_of_plait(MPI_COMM_WORLD)) test_window_once();
  mistakes();
  free_while_pending();
  MPI_Barrier(MPI_COMM_WORLD);
#if HAS_SESSIONS
  MPI_Session_finalize(&session);
#endif
  if (rank_of(MPI_COMM_WORLD) == 0) std::puts("communicators of all makes: right");
  MPI_Finalize();
  return 0;
}
