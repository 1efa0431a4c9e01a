// leaders: blocking collective calls on ordinary communicators that span nodes, which plait carries. The ranks of a node meet, and one
// of them calls the MPI for all: the calls of the MPI's are counted, and those of others have to be none. On all roots, with data of all
// sizes, with mistakes, by several threads, on communicators that come and go, and beside messages that have to move on meanwhile.
// Processes on 2 nodes and more, of which one has several.
#include <mpi.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <thread>
#include <vector>

#include "check.h"
#include "comm.hpp"
#include "leaders_calls.hpp"

namespace {

bool several_threads = false;  ///< the MPI lets them in at one time

/// A communicator, and what this rank is in its node.
struct Spanning {
  explicit Spanning(MPI_Comm c) : comm(c), rank(rank_of(c)), size(size_of(c)) {
    MPI_Comm node = MPI_COMM_NULL;
    MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node);
    place = rank_of(node);
    mates = size_of(node);
    MPI_Comm_free(&node);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    CHECK(MPI_Barrier(comm) == MPI_SUCCESS);  // the first call makes what the others need
  }
  [[nodiscard]] bool leads() const { return place == 0; }

  MPI_Comm comm;
  int rank, size;
  int place, mates;  ///< in its node
};

/// Makes a call, of which leaders alone make one of the MPI's.
template <class Call>
int counted(const Spanning& s, const char* name, Call call) {
  native_calls = 0;
  const int error = call();
  const int expected = s.leads() ? 1 : 0;
  if (native_calls != expected) {
    std::fprintf(stderr, "%s on rank %d of %d: %d calls of the MPI's, not %d\n", name, s.rank, s.size, native_calls.load(), expected);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  return error;
}

std::int64_t sum_of_ranks(int size) { return std::int64_t{size} * (size - 1) / 2; }

#ifdef I_MPI_VERSION
constexpr std::array kCounts{1, 3, 1024, 1025, 3000};  // more are its own
#else
constexpr std::array kCounts{1, 3, 1024, 1025, 3000, 300000};
#endif

void broadcast(const Spanning& s, int root, int count) {
  // As many numbers, by datatypes that differ.
  MPI_Datatype own = MPI_DATATYPE_NULL;
  MPI_Type_vector(count, 1, s.rank % 3 == 0 ? 1 : 2, MPI_INT64_T, &own);
  MPI_Type_commit(&own);
  const auto step = static_cast<std::size_t>(s.rank % 3 == 0 ? 1 : 2);
  std::vector<std::int64_t> data(2 * static_cast<std::size_t>(count), -1);
  const auto value = [&](int i) { return std::int64_t{1000} * root + i; };
  for (int i = 0; i < count && s.rank == root; ++i) data[step * static_cast<std::size_t>(i)] = value(i);
  CHECK(counted(s, "MPI_Bcast", [&] { return MPI_Bcast(data.data(), 1, own, root, s.comm); }) == MPI_SUCCESS);
  for (int i = 0; i < count; ++i) CHECK(data[step * static_cast<std::size_t>(i)] == value(i));
  if (step == 2) CHECK(std::ranges::count(data, -1) >= count);
  MPI_Type_free(&own);
}

/// Sums of numbers, to all or to a root; in place where `in_place`.
void sum(const Spanning& s, int root, int count, bool in_place) {
  std::vector<std::int64_t> from(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) from[static_cast<std::size_t>(i)] = s.rank + i;
  const auto is_sum = [&](const std::vector<std::int64_t>& to) {
    for (int i = 0; i < count; ++i) {
      if (to[static_cast<std::size_t>(i)] != sum_of_ranks(s.size) + std::int64_t{i} * s.size) return false;
    }
    return true;
  };
  std::vector<std::int64_t> to = from;
  const void* const given = in_place ? MPI_IN_PLACE : from.data();
  CHECK(counted(s, "MPI_Allreduce", [&] { return MPI_Allreduce(given, to.data(), count, MPI_INT64_T, MPI_SUM, s.comm); }) == MPI_SUCCESS);
  CHECK(is_sum(to));
  to = from;
  const bool wants = s.rank == root;
  CHECK(counted(s, "MPI_Reduce", [&] {
          return MPI_Reduce(wants ? given : from.data(), wants ? to.data() : nullptr, count, MPI_INT64_T, MPI_SUM, root, s.comm);
        }) == MPI_SUCCESS);
  CHECK(wants ? is_sum(to) : to == from);
}

/// What is rounded comes out the same on all ranks, and each time.
void rounding(const Spanning& s) {
  std::vector<double> from(3000);
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = 1.0 / (1.0 + s.rank + static_cast<double>(i));
  std::vector<double> once(from.size());
  std::vector<double> again(from.size());
  CHECK(MPI_Allreduce(from.data(), once.data(), 3000, MPI_DOUBLE, MPI_SUM, s.comm) == MPI_SUCCESS);
  std::vector<double> roots = once;
  CHECK(MPI_Bcast(roots.data(), 3000, MPI_DOUBLE, s.size - 1, s.comm) == MPI_SUCCESS && roots == once);
  for (int i = 0; i < 10; ++i) {
    if (i % s.size == s.rank) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    CHECK(MPI_Allreduce(from.data(), again.data(), 3000, MPI_DOUBLE, MPI_SUM, s.comm) == MPI_SUCCESS && again == once);
  }
}

/// Matrices of the program's, which do not commute; and numbers with gaps. The MPI makes these calls.
void left_to_the_mpi(const Spanning& s) {
  struct Found {
    double value;
    int place;
  };
  const Found mine{static_cast<double>((s.rank * 7 + 3) % s.size), s.rank};
  Found least{};
  CHECK(MPI_Allreduce(&mine, &least, 1, MPI_DOUBLE_INT, MPI_MINLOC, s.comm) == MPI_SUCCESS);
  CHECK(least.value <= mine.value && (least.value < mine.value || least.place <= s.rank));
  MPI_Op last = MPI_OP_NULL;
  MPI_Op_create([](void*, void*, int*, MPI_Datatype*) {}, 0, &last);  // of two the later one
  const int number = 100 + s.rank;
  int result = -1;
  CHECK(MPI_Allreduce(&number, &result, 1, MPI_INT, last, s.comm) == MPI_SUCCESS && result == 100 + s.size - 1);
  MPI_Op_free(&last);
}

/// By class, on all that wait for the one that makes it.
void mistakes(const Spanning& s) {
  std::array<int, 4000> data{};
  const bool here = s.mates > 1;
  const bool wrong = here && s.place == s.mates - 1;
  // The last rank of each node has too little room, or brings too much.
  for (const int count : {4, 4000}) {
    // Their root is a leader, of whatever node.
    GIVES(MPI_Bcast(data.data(), wrong ? count / 2 : count, MPI_INT, 0, s.comm), wrong ? MPI_ERR_TRUNCATE : MPI_SUCCESS);
    GIVES(MPI_Allreduce(MPI_IN_PLACE, data.data(), wrong ? count / 2 : count, MPI_INT, MPI_SUM, s.comm),
          here ? MPI_ERR_TRUNCATE : MPI_SUCCESS);
  }
  GIVES(MPI_Bcast(data.data(), 1, MPI_INT, s.size, s.comm), MPI_ERR_ROOT);
  GIVES(MPI_Bcast(data.data(), -1, MPI_INT, 0, s.comm), MPI_ERR_COUNT);
  GIVES(MPI_Allreduce(data.data(), data.data() + 1, 1, MPI_INT, MPI_OP_NULL, s.comm), MPI_ERR_OP);
  CHECK(counted(s, "MPI_Barrier", [&] { return MPI_Barrier(s.comm); }) == MPI_SUCCESS);
}

/// A message is under way, which plait's own thread moves in the MPI, while its sender, or its receiver, is in a barrier.
void moves_on(const Spanning& s) {
  std::vector<char> out(2000000, static_cast<char>(s.rank));
  std::vector<char> in(out.size());
  const int bytes = static_cast<int>(out.size());
  for (int distance = 1; distance < s.size; ++distance) {
    const int to = (s.rank + distance) % s.size;
    const int from = (s.rank + s.size - distance) % s.size;
    MPI_Request requests[2];
    MPI_Irecv(in.data(), bytes, MPI_CHAR, from, 1, s.comm, &requests[0]);
    MPI_Isend(out.data(), bytes, MPI_CHAR, to, 1, s.comm, &requests[1]);
    // Others wait in the barrier for one whose message they send or receive.
    if ((s.rank + distance) % 3 == 0) MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    CHECK(MPI_Barrier(s.comm) == MPI_SUCCESS);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    CHECK(std::ranges::count(in, static_cast<char>(from)) == bytes);
  }
}

void all(MPI_Comm comm) {
  const Spanning s(comm);
  for (int root = 0; root < s.size; ++root) {
    for (const int count : kCounts) {
      broadcast(s, root, count);
      sum(s, root, count, (root + count) % 2 == 0);
    }
  }
  CHECK(counted(s, "MPI_Barrier", [&] { return MPI_Barrier(s.comm); }) == MPI_SUCCESS);
  rounding(s);
  left_to_the_mpi(s);
  mistakes(s);
  if (several_threads) moves_on(s);
}

/// More than may have leaders at a time; then, when they have been freed, one that has again.
void come_and_go() {
  std::vector<MPI_Comm> crowd(270, MPI_COMM_NULL);
  for (MPI_Comm& comm : crowd) {
    int size = 1;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    CHECK(MPI_Allreduce(MPI_IN_PLACE, &size, 1, MPI_INT, MPI_SUM, comm) == MPI_SUCCESS && size == size_of(comm));
  }
  for (std::size_t i = 0; i < crowd.size(); ++i) {
    if (i % 2) {
      MPI_Comm_free(&crowd[i]);
    } else {
      MPI_Comm_disconnect(&crowd[i]);
    }
  }
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  const Spanning s(comm);
  CHECK(counted(s, "MPI_Barrier", [&] { return MPI_Barrier(comm); }) == MPI_SUCCESS);
  MPI_Comm_free(&comm);
}

/// Nothing of the program's is copied to what plait makes, and nothing is deleted with it.
void attributes() {
  static int callbacks = 0;
  const auto copy = [](MPI_Comm, int, void*, void*, void*, int* flag) {
    ++callbacks;
    *flag = 1;
    return MPI_SUCCESS;
  };
  const auto remove = [](MPI_Comm, int, void*, void*) {
    ++callbacks;
    return MPI_SUCCESS;
  };
  int key = MPI_KEYVAL_INVALID;
  MPI_Comm_create_keyval(copy, remove, &key, nullptr);
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_attr(comm, key, nullptr);
  CHECK(MPI_Barrier(comm) == MPI_SUCCESS && callbacks == 0);
  MPI_Comm_free(&comm);
  CHECK(callbacks == 1);
  MPI_Comm_free_keyval(&key);
}

/// Each thread on communicators of its own, the first calls on them at one time.
void threads() {
  constexpr int kThreads = 3;
  constexpr int kCalls = 100;
  std::array<MPI_Comm, kThreads> comms{};
  for (MPI_Comm& comm : comms) MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  const auto work = [&](int t) {
    MPI_Comm comm = comms[static_cast<std::size_t>(t)];
    const int rank = rank_of(comm);
    const int size = size_of(comm);
    for (int i = 0; i < kCalls; ++i) {
      std::vector<std::int64_t> data(i % 10 ? 5 : 4000, rank == i % size ? i : -1);
      const int count = static_cast<int>(data.size());
      CHECK(MPI_Bcast(data.data(), count, MPI_INT64_T, i % size, comm) == MPI_SUCCESS && data.front() == i && data.back() == i);
      CHECK(MPI_Allreduce(MPI_IN_PLACE, data.data(), count, MPI_INT64_T, MPI_SUM, comm) == MPI_SUCCESS);
      CHECK(data.front() == i * size && data.back() == i * size);
      if (i % 7 == 0) CHECK(MPI_Barrier(comm) == MPI_SUCCESS);
    }
  };
  std::vector<std::thread> all;
  for (int t = 0; t < kThreads; ++t) all.emplace_back(work, t);
  for (std::thread& t : all) t.join();
  for (MPI_Comm& comm : comms) MPI_Comm_free(&comm);
}

}  // namespace

int main(int argc, char** argv) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  several_threads = provided == MPI_THREAD_MULTIPLE;
  all(MPI_COMM_WORLD);
  const int rank = rank_of(MPI_COMM_WORLD);
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &comm);  // the other way round
  all(comm);
  MPI_Comm_free(&comm);
  MPI_Comm_split(MPI_COMM_WORLD, 0, rank % 2 ? rank : 100 + rank, &comm);  // a node's ranks are no neighbours
  all(comm);
  MPI_Comm_free(&comm);
  attributes();
  come_and_go();
  if (several_threads) threads();
  if (rank == 0) std::puts("leaders of nodes: right");
  MPI_Finalize();
  return 0;
}
