// MPI_Cart_create and its like with reorder = 1, on communicators whose ranks lie anyhow: what they make has the topology that was asked
// for, and no more messages leave a node than before.
//
//   reorder [SEED [T]]  random grids and graphs, of processes or of T threads of each
//   reorder seed        the lecture's grid of 2 x 8: prints how many links leave a node
//   reorder mistakes    what is wrong gets an error, and no process waits
#include <mpi.h>
#include <plait/mpix.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "check.h"
#include "comm.hpp"

namespace {

using Random = std::mt19937;

int below(Random& random, int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); }

/// The node of each rank.
std::vector<std::string> nodes_of(MPI_Comm comm) {
  std::array<char, MPI_MAX_PROCESSOR_NAME> name{};
  int length = 0;
  MPI_Get_processor_name(name.data(), &length);
  std::vector<char> all(name.size() * static_cast<std::size_t>(size_of(comm)));
  MPI_Allgather(name.data(), static_cast<int>(name.size()), MPI_CHAR, all.data(), static_cast<int>(name.size()), MPI_CHAR, comm);
  std::vector<std::string> nodes;
  for (std::size_t i = 0; i < all.size(); i += name.size()) nodes.emplace_back(all.data() + i);
  return nodes;
}

struct Edge {
  int from, to, weight;
};

long slow(const std::vector<Edge>& edges, const std::vector<std::string>& nodes) {
  long sum = 0;
  for (const Edge& e : edges) {
    if (nodes[static_cast<std::size_t>(e.from)] != nodes[static_cast<std::size_t>(e.to)]) sum += e.weight;
  }
  return sum;
}

thread_local long slow_before = 0;
thread_local long slow_after = 0;

/// Every process of `from` is in `made` but those behind its size, whose places nobody wants; and no more is slow.
void check_order(MPI_Comm from, MPI_Comm made, int wanted, const std::vector<Edge>& edges) {
  int mine = made == MPI_COMM_NULL ? 0 : 1;
  int in = 0;
  MPI_Allreduce(&mine, &in, 1, MPI_INT, MPI_SUM, from);
  CHECK(in == wanted);
  const long before = slow(edges, nodes_of(from));
  long after = 0;
  if (made != MPI_COMM_NULL) {
    CHECK(size_of(made) == wanted);
    MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
    MPI_Comm_get_errhandler(made, &handler);
    CHECK(handler == MPI_ERRORS_RETURN || wanted == 1);  // MPICH makes a grid without dimensions of MPI_COMM_SELF
    after = slow(edges, nodes_of(made));
  }
  MPI_Allreduce(MPI_IN_PLACE, &after, 1, MPI_LONG, MPI_MAX, from);
  CHECK(after <= before);
  slow_before += before;
  slow_after += after;
}

std::vector<Edge> edges_of_grid(const std::vector<int>& dims, const std::vector<int>& periods) {
  std::vector<Edge> edges;
  int cells = 1;
  for (const int d : dims) cells *= d;
  for (int cell = 0; cell < cells; ++cell) {
    int stride = cells;
    for (std::size_t d = 0; d < dims.size(); ++d) {
      stride /= dims[d];
      const int at = cell / stride % dims[d];
      if (at + 1 < dims[d]) edges.push_back({cell, cell + stride, 1});
      if (at + 1 == dims[d] && periods[d]) edges.push_back({cell, cell - at * stride, 1});
    }
  }
  return edges;
}

void grid(MPI_Comm comm, const std::vector<int>& dims, const std::vector<int>& periods) {
  const auto n = static_cast<int>(dims.size());
  int cells = 1;
  for (const int d : dims) cells *= d;
  MPI_Comm made = MPI_COMM_NULL;
  CHECK(MPI_Cart_create(comm, n, dims.data(), periods.data(), 1, &made) == MPI_SUCCESS);
  check_order(comm, made, cells, edges_of_grid(dims, periods));
  if (made == MPI_COMM_NULL) return;
  int kind = -1;
  MPI_Topo_test(made, &kind);
  CHECK(kind == MPI_CART);
  std::vector<int> its(dims.size());
  std::vector<int> its_periods(dims.size());
  std::vector<int> coords(dims.size());
  MPI_Cart_get(made, n, its.data(), its_periods.data(), coords.data());
  CHECK(its == dims);
  int cell = 0;
  for (std::size_t d = 0; d < dims.size(); ++d) {
    CHECK(!its_periods[d] == !periods[d]);
    cell = cell * dims[d] + coords[d];
  }
  CHECK(cell == rank_of(made));
  // Messages come from the neighbours.
  for (int d = 0; d < n; ++d) {
    int left = 0;
    int right = 0;
    int got = MPI_PROC_NULL;
    MPI_Cart_shift(made, d, 1, &left, &right);
    MPI_Sendrecv(&cell, 1, MPI_INT, right, d, &got, 1, MPI_INT, left, d, made, MPI_STATUS_IGNORE);
    CHECK(got == left);
  }
  MPI_Comm_free(&made);
}

void graph(MPI_Comm comm, Random& random) {
  const int n = 1 + below(random, size_of(comm));
  std::vector<int> index;
  std::vector<int> to;
  std::vector<Edge> edges;
  // Undirected, as MPI_Neighbor_allgather wants it.
  std::vector<std::vector<int>> neighbours(static_cast<std::size_t>(n));
  for (int i = below(random, 3 * n); i > 0; --i) {
    const int a = below(random, n);
    const int b = below(random, n);
    neighbours[static_cast<std::size_t>(a)].push_back(b);
    if (a != b) neighbours[static_cast<std::size_t>(b)].push_back(a);
    edges.push_back({a, b, 1});
  }
  for (const auto& its : neighbours) {
    to.insert(to.end(), its.begin(), its.end());
    index.push_back(static_cast<int>(to.size()));
  }
  MPI_Comm made = MPI_COMM_NULL;
  to.reserve(1);  // no null pointer
  CHECK(MPI_Graph_create(comm, n, index.data(), to.data(), 1, &made) == MPI_SUCCESS);
  check_order(comm, made, n, edges);
  if (made == MPI_COMM_NULL) return;
  const std::vector<int>& mine = neighbours[static_cast<std::size_t>(rank_of(made))];
  std::vector<int> its(mine.size());
  MPI_Graph_neighbors(made, rank_of(made), static_cast<int>(its.size()), its.data());
  CHECK(its == mine);
  MPI_Comm_free(&made);
}

/// What one vertex has.
struct Lists {
  std::vector<int> sources, in_weights, targets, out_weights;
};

void check_lists(MPI_Comm made, const Lists& want, bool weighted, bool in_this_order) {
  int in = 0;
  int out = 0;
  int has_weights = 0;
  MPI_Dist_graph_neighbors_count(made, &in, &out, &has_weights);
  CHECK(in == static_cast<int>(want.sources.size()) && out == static_cast<int>(want.targets.size()) && !has_weights == !weighted);
  Lists its{std::vector<int>(want.sources.size()), std::vector<int>(want.sources.size()), std::vector<int>(want.targets.size()),
            std::vector<int>(want.targets.size())};
  MPI_Dist_graph_neighbors(made, in, its.sources.data(), weighted ? its.in_weights.data() : MPI_UNWEIGHTED, out, its.targets.data(),
                           weighted ? its.out_weights.data() : MPI_UNWEIGHTED);
  // What a neighbour says of itself is its rank: messages go where the lists say.
  const int rank = rank_of(made);
  std::vector<int> got(its.sources.size(), -1);
  got.reserve(1);  // no null pointer
  CHECK(MPI_Neighbor_allgather(&rank, 1, MPI_INT, got.data(), 1, MPI_INT, made) == MPI_SUCCESS);
  CHECK(got == its.sources);
  const auto pairs = [&](const std::vector<int>& ranks, const std::vector<int>& weights) {
    std::vector<std::pair<int, int>> all;
    for (std::size_t i = 0; i < ranks.size(); ++i) all.emplace_back(ranks[i], weighted ? weights[i] : 1);
    if (!in_this_order) std::ranges::sort(all);
    return all;
  };
  CHECK(pairs(its.sources, its.in_weights) == pairs(want.sources, want.in_weights));
  CHECK(pairs(its.targets, its.out_weights) == pairs(want.targets, want.out_weights));
}

void distributed(MPI_Comm comm, Random& random) {
  const int n = size_of(comm);
  const int rank = rank_of(comm);
  const bool weighted = below(random, 3) != 0;
  std::vector<Edge> edges;
  for (int i = below(random, 4 * n); i > 0; --i) {
    edges.push_back({below(random, n), below(random, n), weighted ? below(random, 50) : 1});
    if (below(random, 8) == 0) edges.push_back(edges.back());
  }
  std::vector<Lists> all(static_cast<std::size_t>(n));
  for (const Edge& e : edges) {
    all[static_cast<std::size_t>(e.from)].targets.push_back(e.to);
    all[static_cast<std::size_t>(e.from)].out_weights.push_back(e.weight);
    all[static_cast<std::size_t>(e.to)].sources.push_back(e.from);
    all[static_cast<std::size_t>(e.to)].in_weights.push_back(e.weight);
  }
  const auto weights = [&](const std::vector<int>& w) { return !weighted ? MPI_UNWEIGHTED : w.empty() ? MPI_WEIGHTS_EMPTY : w.data(); };
  MPI_Comm made = MPI_COMM_NULL;
  const Lists& mine = all[static_cast<std::size_t>(rank)];
  CHECK(MPI_Dist_graph_create_adjacent(comm, static_cast<int>(mine.sources.size()), mine.sources.data(), weights(mine.in_weights),
                                       static_cast<int>(mine.targets.size()), mine.targets.data(), weights(mine.out_weights), MPI_INFO_NULL,
                                       1, &made) == MPI_SUCCESS);
  check_order(comm, made, n, edges);
  check_lists(made, all[static_cast<std::size_t>(rank_of(made))], weighted, true);
  MPI_Comm_free(&made);

  // Any process says any edge.
  std::vector<int> sources;
  std::vector<int> degrees;
  std::vector<int> targets;
  std::vector<int> its_weights;
  for (std::size_t i = 0; i < edges.size(); ++i) {
    if (static_cast<int>(i * 7) % n != rank) continue;
    sources.push_back(edges[i].from);
    degrees.push_back(1);
    targets.push_back(edges[i].to);
    its_weights.push_back(edges[i].weight);
  }
  CHECK(MPI_Dist_graph_create(comm, static_cast<int>(sources.size()), sources.data(), degrees.data(), targets.data(), weights(its_weights),
                              MPI_INFO_NULL, 1, &made) == MPI_SUCCESS);
  check_order(comm, made, n, edges);
  check_lists(made, all[static_cast<std::size_t>(rank_of(made))], weighted, false);
  MPI_Comm_free(&made);
}

void without(MPI_Comm comm) {
  const int n = size_of(comm);
  const int period = 1;
  MPI_Comm made = MPI_COMM_NULL;
  CHECK(MPI_Cart_create(comm, 1, &n, &period, 0, &made) == MPI_SUCCESS);
  int same = -1;
  MPI_Comm_compare(comm, made, &same);
  CHECK(same == MPI_CONGRUENT);
  MPI_Comm_free(&made);
}

void at_random(MPI_Comm world, unsigned seed) {
  for (int round = 0; round < 12; ++round) {
    Random random(seed + static_cast<unsigned>(round));
    // Some of the processes, in any order.
    const bool in = round == 0 || std::mt19937(seed + static_cast<unsigned>(1000 * round + rank_of(world)))() % 5 != 0;
    const auto key = static_cast<int>(std::mt19937(seed + static_cast<unsigned>(77 * round + rank_of(world)))() % 1000);
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Comm_split(world, in ? 0 : MPI_UNDEFINED, key, &comm);
    if (comm == MPI_COMM_NULL) continue;
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    const int n = size_of(comm);
    std::vector<int> dims;
    std::vector<int> periods;
    for (int left = n; dims.size() < 3; left /= dims.back()) {
      dims.push_back(1 + below(random, left));
      periods.push_back(below(random, 2));
    }
    grid(comm, dims, periods);
    dims = {n};
    periods = {1};
    grid(comm, dims, periods);
    grid(comm, {}, {});
    graph(comm, random);
    distributed(comm, random);
    without(comm);
    MPI_Comm_free(&comm);
  }
  std::array sums{slow_before, slow_after};
  MPI_Allreduce(MPI_IN_PLACE, sums.data(), 2, MPI_LONG, MPI_SUM, world);
  if (rank_of(world) != 0) return;
  std::printf("all have their neighbours%s\n", sums[1] < sums[0] ? ", and fewer on other nodes" : "");
}

void by_threads(int threads, unsigned seed) {
  MPI_Comm comm = MPI_COMM_NULL;
  MPIX_Threadcomm_init(MPI_COMM_WORLD, threads, &comm);
  const auto body = [comm, seed] {
    MPIX_Threadcomm_start(comm);
    at_random(comm, seed);
    MPIX_Threadcomm_finish(comm);
  };
  {
    std::vector<std::jthread> others;
    for (int i = 1; i < threads; ++i) others.emplace_back(body);
    body();
  }
  MPIX_Threadcomm_free(&comm);
}

void lecture() {
  const int rank = rank_of(MPI_COMM_WORLD);
  const std::vector<int> dims{2, 8};
  const std::vector<int> periods{0, 0};
  // Dealt to the nodes one by one, wherever the launcher has put them.
  const std::vector<std::string> world = nodes_of(MPI_COMM_WORLD);
  const auto before_me = std::count(world.begin(), world.begin() + rank, world[static_cast<std::size_t>(rank)]);
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, 0, static_cast<int>(before_me), &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  MPI_Comm made = MPI_COMM_NULL;
  MPI_Cart_create(comm, 2, dims.data(), periods.data(), 1, &made);
  const std::vector<Edge> edges = edges_of_grid(dims, periods);
  const long before = slow(edges, nodes_of(comm));
  const long after = slow(edges, nodes_of(made));
  if (rank == 0) std::printf("links between nodes: %ld as ranks were, %ld reordered\n", before, after);
  MPI_Comm_free(&made);
  MPI_Cart_create(comm, 2, dims.data(), periods.data(), 0, &made);
  CHECK(slow(edges, nodes_of(made)) == before);
  MPI_Comm_free(&made);
  MPI_Comm_free(&comm);
}

/// With and without reordering the same class, on all.
void wrong(const char* what, const std::function<int(int reorder, MPI_Comm* made)>& call) {
  std::array<int, 2> classes{};
  for (const int reorder : {0, 1}) {
    MPI_Comm made = MPI_COMM_NULL;
    const int error = call(reorder, &made);
    classes[static_cast<std::size_t>(reorder)] = class_of(error);
    if (error == MPI_SUCCESS && made != MPI_COMM_NULL) MPI_Comm_free(&made);
  }
  if (classes[0] != classes[1]) std::fprintf(stderr, "%s: class %d, reordered %d\n", what, classes[0], classes[1]);
  CHECK(classes[0] == classes[1]);
}

void mistakes() {
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  const int n = size_of(comm);
  const int rank = rank_of(comm);
  const std::array<int, 3> periods{};
  const auto cart = [&](int count, std::vector<int> dims) {
    return [&comm, &periods, count, dims](int reorder, MPI_Comm* made) {
      return MPI_Cart_create(comm, count, dims.data(), periods.data(), reorder, made);
    };
  };
  wrong("more cells than ranks", cart(2, {n, 2}));
  wrong("a negative number of dimensions", cart(-1, {1}));
  const auto graph = [&](int count, std::vector<int> index, std::vector<int> edges) {
    return [&comm, count, index, edges](int reorder, MPI_Comm* made) {
      return MPI_Graph_create(comm, count, index.data(), edges.data(), reorder, made);
    };
  };
  wrong("more vertices than ranks", graph(n + 1, std::vector<int>(static_cast<std::size_t>(n + 1), 0), {}));
  wrong("a neighbour out of range", graph(2, {1, 2}, {1, n + 5}));
  wrong("a negative neighbour", graph(2, {1, 2}, {1, -5}));
  wrong("a negative number of vertices", graph(-1, {0}, {}));
  // From here on MPIs alone differ: some take it, some abort.
  MPI_Comm made = MPI_COMM_NULL;
  GIVES(cart(3, {1 << 20, 1 << 20, 1 << 20})(1, &made), MPI_ERR_DIMS);
  const auto adjacent = [&](int to, int weight) {
    return MPI_Dist_graph_create_adjacent(comm, 1, &to, &weight, 1, &to, &weight, MPI_INFO_NULL, 1, &made);
  };
  GIVES(adjacent(n + 3, 1), MPI_ERR_ARG);
  GIVES(adjacent(-7, 1), MPI_ERR_ARG);
  GIVES(adjacent((rank + 1) % n, -1), MPI_ERR_ARG);
  GIVES(MPI_Dist_graph_create_adjacent(comm, -1, nullptr, MPI_UNWEIGHTED, 0, nullptr, MPI_UNWEIGHTED, MPI_INFO_NULL, 1, &made),
        MPI_ERR_ARG);
  GIVES(MPI_Dist_graph_create_adjacent(comm, 1, nullptr, MPI_UNWEIGHTED, 0, nullptr, MPI_UNWEIGHTED, MPI_INFO_NULL, 1, &made), MPI_ERR_ARG);
  const auto any = [&](int from, int degree, int to, int weight) {
    return MPI_Dist_graph_create(comm, 1, &from, &degree, &to, &weight, MPI_INFO_NULL, 1, &made);
  };
  GIVES(any(n, 1, 0, 1), MPI_ERR_ARG);
  GIVES(any(0, 1, n, 1), MPI_ERR_ARG);
  GIVES(any(0, 1, -7, 1), MPI_ERR_ARG);
  GIVES(any(0, 1, 1, -1), MPI_ERR_ARG);
  GIVES(any(0, -1, 1, 1), MPI_ERR_ARG);
  GIVES(MPI_Dist_graph_create(comm, -1, nullptr, nullptr, nullptr, MPI_UNWEIGHTED, MPI_INFO_NULL, 1, &made), MPI_ERR_ARG);

  // Where one process alone is wrong, none waits for it. The MPI alone would.
  const int next = (rank + 1) % n;
  const int before = (rank + n - 1) % n;
  const int bad = n + 9;
  GIVES(MPI_Dist_graph_create_adjacent(comm, 1, &before, MPI_UNWEIGHTED, 1, rank == 1 ? &bad : &next, MPI_UNWEIGHTED, MPI_INFO_NULL, 1,
                                       &made),
        rank == 1 ? MPI_ERR_ARG : MPI_ERR_TOPOLOGY);

  // Some give no weights for edges that they do not have.
  std::vector<int> weights(1, 5);
  CHECK(MPI_Dist_graph_create_adjacent(comm, rank == 0 ? 0 : 1, &before, rank == 0 ? MPI_UNWEIGHTED : weights.data(), rank == n - 1 ? 0 : 1,
                                       &next, rank == n - 1 ? MPI_UNWEIGHTED : weights.data(), MPI_INFO_NULL, 1, &made) == MPI_SUCCESS);
  MPI_Comm_free(&made);
  GIVES(MPI_Dist_graph_create_adjacent(comm, 1, &before, MPI_WEIGHTS_EMPTY, 1, &next, MPI_WEIGHTS_EMPTY, MPI_INFO_NULL, 1, &made),
        MPI_ERR_ARG);

  MPI_Comm half = MPI_COMM_NULL;
  MPI_Comm both = MPI_COMM_NULL;
  MPI_Comm_split(comm, rank % 2, 0, &half);
  MPI_Intercomm_create(half, 0, comm, rank % 2 ? 0 : 1, 0, &both);
  MPI_Comm_set_errhandler(both, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);  // Open MPI asks that of the world
  std::swap(comm, both);
  wrong("two groups", cart(1, {1}));
  std::swap(comm, both);
  MPI_Comm_free(&both);
  MPI_Comm_free(&half);
  MPI_Comm_free(&comm);
  if (rank == 0) std::printf("all mistakes are told\n");
}

}  // namespace

int main(int argc, char** argv) {
  int level = 0;
  MPI_Init_thread(&argc, &argv, argc > 2 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &level);
  const std::string word = argc > 1 ? argv[1] : "1";
  const auto seed = static_cast<unsigned>(std::strtoul(word.c_str(), nullptr, 10));
  if (word == "mistakes") {
    mistakes();
  } else if (word == "seed") {
    lecture();
  } else if (argc > 2) {
    by_threads(std::atoi(argv[2]), seed);
  } else {
    at_random(MPI_COMM_WORLD, seed);
  }
  MPI_Finalize();
  return 0;
}
