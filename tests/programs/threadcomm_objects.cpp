// threadcomm_objects: what MPI makes of communicators (duplicates, parts, groups, attributes, names, topologies) where threads
// are ranks. The same checks hold on processes: `threadcomm_objects 0` runs them on these.
#include <mpi.h>
#include <plait/mpix.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "as_ranks.hpp"
#include "check.h"

namespace {

int threads = 0;

int rank_of(MPI_Comm c) {
  int r = -1;
  MPI_Comm_rank(c, &r);
  return r;
}
int size_of(MPI_Comm c) {
  int n = -1;
  MPI_Comm_size(c, &n);
  return n;
}
int compare(MPI_Comm a, MPI_Comm b) {
  int result = -1;
  MPI_Comm_compare(a, b, &result);
  return result;
}
int sum(int mine, MPI_Comm c) {
  int all = 0;
  MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_SUM, c);
  return all;
}

void duplicates_and_parts(MPI_Comm base) {
  const int rank = rank_of(base);
  const int size = size_of(base);
  int flag = -1;
  MPIX_Comm_test_threadcomm(base, &flag);
  CHECK(flag == (threads > 0 ? 1 : 0));
  MPIX_Comm_test_threadcomm(MPI_COMM_WORLD, &flag);
  CHECK(flag == 0);
  CHECK(compare(base, base) == MPI_IDENT);

  MPI_Comm dup = MPI_COMM_NULL;
  MPI_Comm_dup(base, &dup);
  CHECK(rank_of(dup) == rank && size_of(dup) == size && compare(base, dup) == MPI_CONGRUENT);
  MPI_Comm backwards = MPI_COMM_NULL;
  MPI_Comm_split(dup, 0, -rank, &backwards);
  CHECK(rank_of(backwards) == size - 1 - rank);
  CHECK(compare(base, backwards) == (size > 1 ? MPI_SIMILAR : MPI_CONGRUENT));
  MPI_Comm half = MPI_COMM_NULL;
  MPI_Comm_split(backwards, rank % 2, rank, &half);
  CHECK(rank_of(half) == rank / 2 && size_of(half) == (size + 1 - rank % 2) / 2);
  CHECK(size == 1 || compare(base, half) == MPI_UNEQUAL);
  CHECK(compare(base, MPI_COMM_SELF) == (threads == 0 && size == 1 ? MPI_CONGRUENT : MPI_UNEQUAL));
  CHECK(sum(rank, half) >= 0);
  MPI_Comm half_again = MPI_COMM_NULL;
  MPI_Comm_dup(half, &half_again);  // by two threads of a process at a time
  CHECK(sum(1, half_again) == size_of(half));
  // Messages keep apart.
  int got = -1;
  MPI_Request r[2];
  MPI_Irecv(&got, 1, MPI_INT, (rank + size - 1) % size, 5, dup, &r[0]);
  int other = -1;
  MPI_Irecv(&other, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, base, &r[1]);
  const int in_dup = 2 * rank;
  const int in_base = 3 * rank;
  MPI_Send(&in_dup, 1, MPI_INT, (rank + 1) % size, 5, dup);
  MPI_Send(&in_base, 1, MPI_INT, (rank + 1) % size, 5, base);
  MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
  CHECK(got == 2 * ((rank + size - 1) % size) && other == 3 * ((rank + size - 1) % size));
  MPI_Comm none = MPI_COMM_WORLD;
  MPI_Comm_split(base, MPI_UNDEFINED, 0, &none);
  CHECK(none == MPI_COMM_NULL);
  MPI_Comm node = MPI_COMM_NULL;
  MPI_Comm_split_type(base, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  CHECK(size_of(node) >= (threads > 0 ? threads : 1) && size_of(node) <= size);
  CHECK(sum(1, node) == size_of(node));
  for (MPI_Comm* c : {&node, &half_again, &half, &backwards, &dup}) {
    MPI_Comm_free(c);
    CHECK(*c == MPI_COMM_NULL);
  }
}

void groups(MPI_Comm base) {
  const int rank = rank_of(base);
  const int size = size_of(base);
  MPI_Group all = MPI_GROUP_NULL;
  MPI_Comm_group(base, &all);
  int n = -1;
  int r = -1;
  MPI_Group_size(all, &n);
  MPI_Group_rank(all, &r);
  CHECK(n == size && r == rank);
  std::vector<int> even;
  for (int i = 0; i < size; i += 2) even.push_back(i);
  MPI_Group evens = MPI_GROUP_NULL;
  MPI_Group odds = MPI_GROUP_NULL;
  MPI_Group again = MPI_GROUP_NULL;
  MPI_Group_incl(all, static_cast<int>(even.size()), even.data(), &evens);
  MPI_Group_difference(all, evens, &odds);
  MPI_Group_union(evens, odds, &again);
  int result = -1;
  MPI_Group_compare(all, again, &result);
  CHECK(result == (size > 2 ? MPI_SIMILAR : MPI_IDENT));
  std::vector<int> old(static_cast<std::size_t>(size));
  std::vector<int> found(old.size());
  for (int i = 0; i < size; ++i) old[static_cast<std::size_t>(i)] = i;
  MPI_Group_translate_ranks(all, size, old.data(), evens, found.data());
  for (int i = 0; i < size; ++i) CHECK(found[static_cast<std::size_t>(i)] == (i % 2 ? MPI_UNDEFINED : i / 2));
  int range[1][3] = {{0, size - 1, 2}};
  MPI_Group ranged = MPI_GROUP_NULL;
  MPI_Group_range_incl(all, 1, range, &ranged);
  MPI_Group_compare(evens, ranged, &result);
  CHECK(result == MPI_IDENT);
  MPI_Group both = MPI_GROUP_NULL;
  MPI_Group_intersection(evens, odds, &both);
  CHECK(both == MPI_GROUP_EMPTY);
  MPI_Group rest = MPI_GROUP_NULL;
  MPI_Group_range_excl(all, 1, range, &rest);
  MPI_Group_compare(odds, rest, &result);
  CHECK(result == MPI_IDENT);

  MPI_Comm part = MPI_COMM_NULL;
  MPI_Comm_create(base, rank % 2 ? odds : evens, &part);
  CHECK(rank_of(part) == rank / 2 && sum(1, part) == size_of(part));
  MPI_Comm_free(&part);
  MPI_Comm_create(base, evens, &part);
  CHECK((part == MPI_COMM_NULL) == (rank % 2 == 1));
  if (part != MPI_COMM_NULL) MPI_Comm_free(&part);
  for (MPI_Group* g : {&all, &evens, &odds, &again, &ranged, &both, &rest}) {
    if (*g != MPI_GROUP_EMPTY) MPI_Group_free(g);
  }
}

struct Kept {
  int value, copies, deletes;
};
extern "C" int copy_kept(MPI_Comm, int, void* extra, void* value, void* copy, int* flag) {
  CHECK(*static_cast<int*>(extra) == 17);
  ++static_cast<Kept*>(value)->copies;
  *static_cast<void**>(copy) = value;
  *flag = 1;
  return MPI_SUCCESS;
}
extern "C" int delete_kept(MPI_Comm, int, void* value, void*) {
  ++static_cast<Kept*>(value)->deletes;
  return MPI_SUCCESS;
}

/// Each rank has attributes of its own.
void attributes(MPI_Comm base, int key) {
  Kept mine{rank_of(base), 0, 0};
  Kept* found = nullptr;
  int flag = 1;
  MPI_Comm_get_attr(base, key, &found, &flag);
  CHECK(flag == 0);
  MPI_Comm_set_attr(base, key, &mine);
  MPI_Barrier(base);
  MPI_Comm_get_attr(base, key, &found, &flag);
  CHECK(flag == 1 && found == &mine && found->value == rank_of(base));
  MPI_Comm dup = MPI_COMM_NULL;
  MPI_Comm_dup(base, &dup);
  MPI_Comm_get_attr(dup, key, &found, &flag);
  CHECK(flag == 1 && found == &mine && mine.copies == 1);
  MPI_Comm_free(&dup);
  CHECK(mine.deletes == 1);
  MPI_Comm_delete_attr(base, key);
  CHECK(mine.deletes == 2);
  int* limit = nullptr;
  MPI_Comm_get_attr(base, MPI_TAG_UB, &limit, &flag);
  CHECK(flag == 1 && *limit >= 32767);
}

void names(MPI_Comm base) {
  MPI_Comm dup = MPI_COMM_NULL;
  MPI_Comm_dup(base, &dup);
  MPI_Comm_set_name(dup, "halo");
  char name[MPI_MAX_OBJECT_NAME] = {};
  int n = 0;
  MPI_Comm_get_name(dup, name, &n);
  CHECK(std::string(name) == "halo");
  MPI_Comm_free(&dup);
}

/// Neighbours of a torus of two dimensions, also where two or one rank wide: what goes down arrives from above.
void tori(MPI_Comm base) {
  const int size = size_of(base);
  for (int wide = 1; wide <= 3; ++wide) {
    int dims[2] = {wide, size / wide};
    const int periods[2] = {1, 0};
    if (dims[1] == 0) continue;
    MPI_Comm cart = MPI_COMM_NULL;
    MPI_Cart_create(base, 2, dims, periods, 1, &cart);
    if (cart == MPI_COMM_NULL) continue;
    int kind = 0;
    MPI_Topo_test(cart, &kind);
    CHECK(kind == MPI_CART);
    const int rank = rank_of(cart);
    int coords[2];
    int d[2];
    int p[2];
    MPI_Cart_get(cart, 2, d, p, coords);
    CHECK(d[0] == dims[0] && d[1] == dims[1] && p[0] == 1 && p[1] == 0);
    int back = -1;
    MPI_Cart_rank(cart, coords, &back);
    CHECK(back == rank);
    int source[2];
    int dest[2];
    for (int k = 0; k < 2; ++k) MPI_Cart_shift(cart, k, 1, &source[k], &dest[k]);
    CHECK(coords[1] > 0 || source[1] == MPI_PROC_NULL);
    CHECK(coords[1] < dims[1] - 1 || dest[1] == MPI_PROC_NULL);
    if (threads > 0) {  // MPICH mixes the two directions up where they lead to the same process
      int out[4];
      int in[4] = {-1, -1, -1, -1};
      for (int k = 0; k < 4; ++k) out[k] = 10 * rank + k;
      MPI_Neighbor_alltoall(out, 1, MPI_INT, in, 1, MPI_INT, cart);
      for (int k = 0; k < 2; ++k) {
        CHECK(in[2 * k] == (source[k] == MPI_PROC_NULL ? -1 : 10 * source[k] + 2 * k + 1));
        CHECK(in[2 * k + 1] == (dest[k] == MPI_PROC_NULL ? -1 : 10 * dest[k] + 2 * k));
      }
      MPI_Request r = MPI_REQUEST_NULL;
      int all[4] = {-1, -1, -1, -1};
      MPI_Ineighbor_allgather(&rank, 1, MPI_INT, all, 1, MPI_INT, cart, &r);
      MPI_Wait(&r, MPI_STATUS_IGNORE);
      for (int k = 0; k < 2; ++k) CHECK(all[2 * k] == (source[k] < 0 ? -1 : source[k]) && all[2 * k + 1] == (dest[k] < 0 ? -1 : dest[k]));
    }
    MPI_Comm row = MPI_COMM_NULL;
    const int remain[2] = {0, 1};
    MPI_Cart_sub(cart, remain, &row);
    CHECK(size_of(row) == dims[1] && rank_of(row) == coords[1]);
    MPI_Comm_free(&row);
    MPI_Comm_free(&cart);
  }
}

/// A ring as a graph, both ways of making one.
void graphs(MPI_Comm base) {
  const int rank = rank_of(base);
  const int size = size_of(base);
  const int before = (rank + size - 1) % size;
  const int next = (rank + 1) % size;
  MPI_Comm ring = MPI_COMM_NULL;
  const int weight = 3;
  MPI_Dist_graph_create_adjacent(base, 1, &before, &weight, 1, &next, &weight, MPI_INFO_NULL, 0, &ring);
  int in = 0;
  int out = 0;
  int weighted = 0;
  MPI_Dist_graph_neighbors_count(ring, &in, &out, &weighted);
  CHECK(in == 1 && out == 1 && weighted == 1);
  int got = -1;
  MPI_Neighbor_allgather(&rank, 1, MPI_INT, &got, 1, MPI_INT, ring);
  CHECK(got == before);
  MPI_Comm_free(&ring);
  const int degree = 1;
  MPI_Dist_graph_create(base, 1, &before, &degree, &rank, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &ring);  // an edge that ends here
  int source = -1;
  int dest = -1;
  MPI_Dist_graph_neighbors(ring, 1, &source, MPI_UNWEIGHTED, 1, &dest, MPI_UNWEIGHTED);
  CHECK(source == before && dest == next);
  MPI_Neighbor_alltoall(&rank, 1, MPI_INT, &got, 1, MPI_INT, ring);
  CHECK(got == before);
  MPI_Comm_free(&ring);
  std::vector<int> index;
  std::vector<int> edges;
  for (int r = 0; r < size; ++r) {
    edges.push_back((r + 1) % size);
    edges.push_back((r + size - 1) % size);
    index.push_back(2 * (r + 1));
  }
  MPI_Graph_create(base, size, index.data(), edges.data(), 0, &ring);
  int n = 0;
  MPI_Graph_neighbors_count(ring, rank, &n);
  int neighbors[2] = {-1, -1};
  MPI_Graph_neighbors(ring, rank, 2, neighbors);
  CHECK(n == 2 && neighbors[0] == next && neighbors[1] == before);
  MPI_Comm_free(&ring);
}

/// A datatype of each rank's own.
void datatypes(MPI_Comm base) {
  const int rank = rank_of(base);
  const int size = size_of(base);
  for (int i = 0; i < 20; ++i) {
    MPI_Datatype column = MPI_DATATYPE_NULL;
    MPI_Type_vector(4, 1, 3 + rank % 2, MPI_INT, &column);
    MPI_Type_commit(&column);
    int from[16] = {};
    int to[16] = {};
    for (int k = 0; k < 4; ++k) from[static_cast<std::ptrdiff_t>(k) * (3 + rank % 2)] = 100 * rank + k;
    MPI_Sendrecv(from, 1, column, (rank + 1) % size, i, to, 1, column, (rank + size - 1) % size, i, base, MPI_STATUS_IGNORE);
    for (int k = 0; k < 4; ++k) CHECK(to[static_cast<std::ptrdiff_t>(k) * (3 + rank % 2)] == 100 * ((rank + size - 1) % size) + k);
    MPI_Type_free(&column);
  }
}

extern "C" void add_pairs(void* in, void* inout, int* n, MPI_Datatype* type) {
  int bytes = 0;
  MPI_Type_size(*type, &bytes);
  CHECK(bytes == 2 * sizeof(int));
  for (int i = 0; i < 3 * *n; ++i) static_cast<int*>(inout)[i] += static_cast<int*>(in)[i];
}
extern "C" void wrong(void*, void*, int*, MPI_Datatype*) { CHECK(!"the operation of this call"); }

/// What a collective call with a request uses may be freed before it has ended. Then others are made, which may get the same handles.
/// Each rank starts when the one before it has freed its own, so that no call ends earlier.
void freed_meanwhile(MPI_Comm base) {
  const int rank = rank_of(base);
  const int size = size_of(base);
  for (const int pairs : {1, 5000}) {
    const std::size_t n = 3 * static_cast<std::size_t>(pairs);
    const std::vector<int> from(n, rank + 1);
    std::vector<int> sum(n);
    std::vector<int> part(n);
    std::vector<int> all(n * static_cast<std::size_t>(size), -1);
    if (rank > 0) MPI_Recv(nullptr, 0, MPI_INT, rank - 1, 9, base, MPI_STATUS_IGNORE);
    // Pairs of which the second number stands apart.
    const auto make = [](int blocks) {
      MPI_Datatype made = MPI_DATATYPE_NULL;
      MPI_Type_vector(blocks, 1, 2, MPI_INT, &made);
      MPI_Type_commit(&made);
      return made;
    };
    MPI_Datatype pair = make(2);
    MPI_Op add = MPI_OP_NULL;
    MPI_Op_create(add_pairs, 1, &add);
    MPI_Request r[3];
    MPI_Iallreduce(from.data(), sum.data(), pairs, pair, add, base, &r[0]);
    MPI_Iscan(from.data(), part.data(), pairs, pair, add, base, &r[1]);
    MPI_Iallgather(from.data(), pairs, pair, all.data(), pairs, pair, base, &r[2]);
    MPI_Type_free(&pair);
    MPI_Op_free(&add);
    CHECK(pair == MPI_DATATYPE_NULL && add == MPI_OP_NULL);
    MPI_Datatype other = make(3);
    MPI_Op_create(wrong, 1, &add);
    if (rank + 1 < size) MPI_Send(nullptr, 0, MPI_INT, rank + 1, 9, base);
    MPI_Waitall(3, r, MPI_STATUSES_IGNORE);
    MPI_Type_free(&other);
    MPI_Op_free(&add);
    for (const std::size_t i : {std::size_t{0}, n - 1}) {
      CHECK(sum[i] == size * (size + 1) / 2 && part[i] == (rank + 1) * (rank + 2) / 2);
      for (int k = 0; k < size; ++k) CHECK(all[n * static_cast<std::size_t>(k) + i] == k + 1);
    }
  }
}

#if MPI_VERSION >= 4
/// Collective calls whose counts are MPI_Count and whose displacements are MPI_Aint. Rank r has r + 1 numbers for each.
void large_counts(MPI_Comm base) {
  const int rank = rank_of(base);
  const int size = size_of(base);
  const auto n = static_cast<std::size_t>(size);
  std::vector<MPI_Count> from(n, rank + 1);
  std::vector<MPI_Count> to(n);
  std::vector<MPI_Aint> from_at(n, 0);
  std::vector<MPI_Aint> to_at(n);
  for (int r = 0; r < size; ++r) {
    to[static_cast<std::size_t>(r)] = r + 1;
    to_at[static_cast<std::size_t>(r)] = static_cast<MPI_Aint>(r) * (r + 1) / 2;
  }
  const std::vector<int> mine(n, rank);
  const std::size_t all = n * (n + 1) / 2;
  const auto right = [&](std::vector<int>& got) {
    for (std::size_t r = 0, i = 0; r < n; ++r) {
      for (std::size_t k = 0; k <= r; ++k, ++i) CHECK(got[i] == static_cast<int>(r));
    }
    got.assign(all, -1);
  };
  const auto wait = [](MPI_Request request) { MPI_Wait(&request, MPI_STATUS_IGNORE); };
  MPI_Request request = MPI_REQUEST_NULL;
  std::vector<int> got(all, -1);
  MPI_Allgatherv_c(mine.data(), rank + 1, MPI_INT, got.data(), to.data(), to_at.data(), MPI_INT, base);
  right(got);
  MPI_Iallgatherv_c(mine.data(), rank + 1, MPI_INT, got.data(), to.data(), to_at.data(), MPI_INT, base, &request);
  wait(request);
  right(got);
  MPI_Alltoallv_c(mine.data(), from.data(), from_at.data(), MPI_INT, got.data(), to.data(), to_at.data(), MPI_INT, base);
  right(got);
  MPI_Gatherv_c(mine.data(), rank + 1, MPI_INT, got.data(), to.data(), to_at.data(), MPI_INT, size - 1, base);
  if (rank == size - 1) right(got);
  const std::vector<MPI_Datatype> types(n, MPI_INT);
  for (MPI_Aint& at : to_at) at *= static_cast<MPI_Aint>(sizeof(int));
  MPI_Ialltoallw_c(mine.data(), from.data(), from_at.data(), types.data(), got.data(), to.data(), to_at.data(), types.data(), base,
                   &request);
  wait(request);
  right(got);
  std::vector<int> sum(n);
  MPI_Allreduce_c(mine.data(), sum.data(), size, MPI_INT, MPI_SUM, base);
  for (const int s : sum) CHECK(s == size * (size - 1) / 2);
  const std::vector<int> ones(all, 1);
  MPI_Reduce_scatter_c(ones.data(), sum.data(), to.data(), MPI_INT, MPI_SUM, base);
  for (int k = 0; k <= rank; ++k) CHECK(sum[static_cast<std::size_t>(k)] == size);
  MPI_Scan_c(&rank, sum.data(), 1, MPI_INT, MPI_MAX, base);
  CHECK(sum[0] == rank);
  int word = rank == 0 ? 77 : 0;
  MPI_Bcast_c(&word, 1, MPI_INT, 0, base);
  CHECK(word == 77);
}
#endif

template <class T>
void places_of(MPI_Comm base, MPI_Datatype type) {
  struct Pair {
    T value;
    int place;
  };
  const int size = size_of(base);
  const int rank = rank_of(base);
  constexpr int kPairs = 3000;  // one by the shortest way, and then many
  for (const int n : {1, kPairs}) {
    std::vector<Pair> mine(kPairs);
    std::vector<Pair> got(kPairs);
    for (int i = 0; i < n; ++i) mine[static_cast<std::size_t>(i)] = {static_cast<T>((rank + i) % size / 2), size - rank};
    for (const MPI_Op op : {MPI_MINLOC, MPI_MAXLOC}) {
      for (const bool blocking : {true, false}) {
        MPI_Request request = MPI_REQUEST_NULL;
        if (blocking) MPI_Allreduce(mine.data(), got.data(), n, type, op, base);
        if (!blocking) MPI_Iallreduce(mine.data(), got.data(), n, type, op, base, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        for (int i = 0; i < n; ++i) {
          const int best = op == MPI_MINLOC ? 0 : (size - 1) / 2;
          int place = size + 1;
          for (int r = 0; r < size; ++r) {
            if ((r + i) % size / 2 == best) place = std::min(place, size - r);
          }
          CHECK(got[static_cast<std::size_t>(i)].value == static_cast<T>(best) && got[static_cast<std::size_t>(i)].place == place);
        }
      }
    }
  }
}

void places(MPI_Comm base) {
  places_of<double>(base, MPI_DOUBLE_INT);
  places_of<float>(base, MPI_FLOAT_INT);
  places_of<long>(base, MPI_LONG_INT);
  places_of<short>(base, MPI_SHORT_INT);
  places_of<int>(base, MPI_2INT);
  places_of<long double>(base, MPI_LONG_DOUBLE_INT);
}

/// A thread of the first process is blocked in the MPI, which may let in no other meanwhile, until another has ended two reductions
/// with the second process.
void places_while_blocked(MPI_Comm base) {
  if (threads == 1 || size_of(base) < 2 * threads) return;
  static std::atomic<bool> over{false};
  const int thread = rank_of(base) % threads;
  const int process = rank_of(base) / threads;
  MPI_Comm alike = MPI_COMM_NULL;
  MPI_Comm_split(base, thread, process, &alike);
  int word = 0;
  if (thread == 0 && process == 0) MPI_Recv(&word, 1, MPI_INT, 1, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (thread == 0 && process == 1) {
    while (!over.exchange(false)) std::this_thread::sleep_for(std::chrono::microseconds(200));
    MPI_Send(&word, 1, MPI_INT, 0, 9, MPI_COMM_WORLD);
  }
  if (thread == 1) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));  // so that the other blocks; it is as right if it does not
    for (int i = 0; i < 2; ++i) {
      const std::array<int, 2> mine{7, process + i};
      std::array<int, 2> least{};
      MPI_Allreduce(mine.data(), least.data(), 1, MPI_2INT, MPI_MINLOC, alike);
      CHECK(least[0] == 7 && least[1] == i);
    }
    if (process == 1) over.store(true);
  }
  MPI_Barrier(base);
  MPI_Comm_free(&alike);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  threads = number_in(argc, argv, 3);
  int key = MPI_KEYVAL_INVALID;
  int extra = 17;
  MPI_Comm_create_keyval(copy_kept, delete_kept, &key, &extra);
  int size = 0;
  as_ranks(threads, [&](MPI_Comm comm) {
    for (int round = 0; round < 3; ++round) {
      duplicates_and_parts(comm);
      groups(comm);
      attributes(comm, key);
      names(comm);
      tori(comm);
      graphs(comm);
      datatypes(comm);
      places(comm);
      if (threads > 0) {
        places_while_blocked(comm);
        freed_meanwhile(comm);
      }
#if MPI_VERSION >= 4
      large_counts(comm);
#endif
    }
    if (rank_of(comm) == 0) size = size_of(comm);
  });
  MPI_Comm_free_keyval(&key);
  if (rank_of(MPI_COMM_WORLD) == 0) std::printf("communicators, groups and topologies of %d ranks: right\n", size);
  MPI_Finalize();
  return 0;
}
