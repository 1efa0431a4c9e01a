// The exported functions on virtual topologies. Those of thread communicators are plait's.
#include "threadcomm/topology.hpp"

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "mpi/communicator.hpp"
#include "mpi/naming.hpp"
#include "mpi/native.hpp"
#include "mpi/threads.hpp"
#include "topology/reorder.hpp"

namespace plait::mpi {
namespace {

using Kind = threadcomm::Topology::Kind;
using threadcomm::Rank;
using threadcomm::Topology;

std::span<const int> ints(const int* at, int n) {
  require(n >= 0 && (at || n == 0), MPI_ERR_ARG);
  return {at, static_cast<std::size_t>(n)};
}

/// As many as fit.
void copy_out(const std::vector<int>& from, int* to, int most) {
  std::copy_n(from.begin(), std::min(from.size(), static_cast<std::size_t>(std::max(most, 0))), to);
}

const Topology& cartesian(p2p::Communicator& c) { return threadcomm::topology_of(threadcomm::rank_of(c), Kind::cartesian); }
const Topology& graph(p2p::Communicator& c) { return threadcomm::topology_of(threadcomm::rank_of(c), Kind::graph); }
const Topology& distributed(p2p::Communicator& c) { return threadcomm::topology_of(threadcomm::rank_of(c), Kind::distributed); }

int kind_of(const Rank& rank) {
  if (!rank.topology) return MPI_UNDEFINED;
  switch (rank.topology->kind) {
    case Kind::cartesian:
      return MPI_CART;
    case Kind::graph:
      return MPI_GRAPH;
    default:
      return MPI_DIST_GRAPH;
  }
}

void check_rank(const p2p::Communicator& c, int rank) { require(rank >= 0 && rank < c.size, MPI_ERR_RANK); }

/// A list of a program's, of which others shall learn that it is wrong: empty then.
std::span<const int> ints(const int* at, int n, bool& good) {
  if (n < 0 || (!at && n > 0)) {
    good = false;
    return {};
  }
  return {at, static_cast<std::size_t>(n)};
}

std::span<const int> weights(const int* at, int n, bool& good) {
  if (at == MPI_UNWEIGHTED) return {};
  if (at == MPI_WEIGHTS_EMPTY) {
    good = good && n <= 0;
    return {};
  }
  return ints(at, n, good);
}

threadcomm::Rank& adjacent(Rank& rank, int in, const int* sources, const int* in_weights, int out, const int* targets,
                           const int* out_weights, bool reorder, p2p::Call call) {
  bool good = true;
  const auto copy = [](std::span<const int> s) { return std::vector<int>(s.begin(), s.end()); };
  Topology t;
  t.sources = copy(ints(sources, in, good));
  t.destinations = copy(ints(targets, out, good));
  t.source_weights = copy(weights(in_weights, in, good));
  t.destination_weights = copy(weights(out_weights, out, good));
  t.weighted = in_weights != MPI_UNWEIGHTED || out_weights != MPI_UNWEIGHTED;
  return threadcomm::create_adjacent(rank, std::move(t), good, reorder, call);
}

threadcomm::Edges edges(int n, const int* sources, const int* degrees, const int* targets, const int* weight) {
  bool good = true;
  int total = 0;
  for (const int d : ints(degrees, n, good)) total += std::max(d, 0);
  threadcomm::Edges e{ints(sources, n, good), ints(degrees, n, good), ints(targets, total, good), weights(weight, total, good),
                      weight != MPI_UNWEIGHTED};
  if (!good) e.sources = e.degrees = e.targets = e.weights = {};
  e.good = good;
  return e;
}

}  // namespace
}  // namespace plait::mpi

#pragma GCC visibility push(default)

using plait::require;
using plait::mpi::gated;
using plait::mpi::handle_of;
using plait::mpi::ints;
using plait::mpi::naming_child;
using plait::mpi::on;
using plait::mpi::threads;
using plait::p2p::Call;
using plait::p2p::Communicator;
using plait::threadcomm::rank_of;
using plait::threadcomm::Topology;
using plait::topology::may_reorder;

#define PLAIT_CALLER __builtin_return_address(0)

// ---- making

/// PLAIN: makes it of an ordinary communicator. MADE: what makes the rank's side of it, or a pointer to that, in `made`.
#define PLAIT_MAKES_TOPOLOGY(NAME, PARAMETERS, ARGUMENTS, PLAIN, MADE)           \
  extern "C" int NAME PARAMETERS {                                               \
    Communicator* const c = threads(comm);                                       \
    if (!c) return naming_child(comm, newcomm, [&] { return PLAIN ARGUMENTS; }); \
    const Call call{#NAME, PLAIT_CALLER};                                        \
    return on(comm, [&] {                                                        \
      require(newcomm, MPI_ERR_ARG);                                             \
      plait::threadcomm::Rank& rank = rank_of(*c);                               \
      *newcomm = handle_of(MADE);                                                \
    });                                                                          \
  }

PLAIT_MAKES_TOPOLOGY(MPI_Cart_create, (MPI_Comm comm, int n, const int dims[], const int periods[], int reorder, MPI_Comm* newcomm),
                     (comm, n, dims, periods, reorder, newcomm), plait::topology::create_cartesian,
                     plait::threadcomm::create_cartesian(rank, ints(dims, n), ints(periods, n), may_reorder(reorder), call))
PLAIT_MAKES_TOPOLOGY(MPI_Cart_sub, (MPI_Comm comm, const int remain[], MPI_Comm* newcomm), (comm, remain, newcomm), PMPI_Cart_sub,
                     plait::threadcomm::sub_cartesian(rank, ints(remain, static_cast<int>(plait::mpi::cartesian(*c).dims.size())), call))
PLAIT_MAKES_TOPOLOGY(MPI_Graph_create, (MPI_Comm comm, int n, const int index[], const int edges[], int reorder, MPI_Comm* newcomm),
                     (comm, n, index, edges, reorder, newcomm), plait::topology::create_graph,
                     plait::threadcomm::create_graph(rank, ints(index, n), ints(edges, n > 0 ? index[n - 1] : 0), may_reorder(reorder),
                                                     call))
PLAIT_MAKES_TOPOLOGY(MPI_Dist_graph_create,
                     (MPI_Comm comm, int n, const int sources[], const int degrees[], const int targets[], const int weights[],
                      MPI_Info info, int reorder, MPI_Comm* newcomm),
                     (comm, n, sources, degrees, targets, weights, info, reorder, newcomm), plait::topology::create_distributed,
                     &plait::threadcomm::create_distributed(rank, plait::mpi::edges(n, sources, degrees, targets, weights),
                                                            may_reorder(reorder), call))
PLAIT_MAKES_TOPOLOGY(MPI_Dist_graph_create_adjacent,
                     (MPI_Comm comm, int in, const int sources[], const int inweights[], int out, const int targets[],
                      const int outweights[], MPI_Info info, int reorder, MPI_Comm* newcomm),
                     (comm, in, sources, inweights, out, targets, outweights, info, reorder, newcomm), plait::topology::create_adjacent,
                     &plait::mpi::adjacent(rank, in, sources, inweights, out, targets, outweights, may_reorder(reorder), call))

// ---- asking

// NOLINTBEGIN(bugprone-macro-parentheses): a body cannot have them
#define PLAIT_ASKS_TOPOLOGY(NAME, PARAMETERS, ARGUMENTS, BODY) \
  extern "C" int NAME PARAMETERS {                             \
    Communicator* const c = threads(comm);                     \
    if (!c) return gated([&] { return P##NAME ARGUMENTS; });   \
    return on(comm, [&] BODY);                                 \
  }
// NOLINTEND(bugprone-macro-parentheses)

PLAIT_ASKS_TOPOLOGY(MPI_Topo_test, (MPI_Comm comm, int* kind), (comm, kind), { *kind = plait::mpi::kind_of(rank_of(*c)); })

PLAIT_ASKS_TOPOLOGY(MPI_Cartdim_get, (MPI_Comm comm, int* n), (comm, n), { *n = static_cast<int>(plait::mpi::cartesian(*c).dims.size()); })
PLAIT_ASKS_TOPOLOGY(MPI_Cart_get, (MPI_Comm comm, int most, int dims[], int periods[], int coords[]), (comm, most, dims, periods, coords), {
  const Topology& t = plait::mpi::cartesian(*c);
  std::vector<int> here(t.dims.size());
  plait::threadcomm::coordinates(t, c->rank, here);
  plait::mpi::copy_out(t.dims, dims, most);
  plait::mpi::copy_out(t.periods, periods, most);
  plait::mpi::copy_out(here, coords, most);
})
PLAIT_ASKS_TOPOLOGY(MPI_Cart_rank, (MPI_Comm comm, const int coords[], int* rank), (comm, coords, rank), {
  const Topology& t = plait::mpi::cartesian(*c);
  const int found = plait::threadcomm::rank_at(t, ints(coords, static_cast<int>(t.dims.size())));
  require(found != MPI_PROC_NULL, MPI_ERR_ARG);
  *rank = found;
})
PLAIT_ASKS_TOPOLOGY(MPI_Cart_coords, (MPI_Comm comm, int rank, int most, int coords[]), (comm, rank, most, coords), {
  const Topology& t = plait::mpi::cartesian(*c);
  plait::mpi::check_rank(*c, rank);
  std::vector<int> there(t.dims.size());
  plait::threadcomm::coordinates(t, rank, there);
  plait::mpi::copy_out(there, coords, most);
})
PLAIT_ASKS_TOPOLOGY(MPI_Cart_shift, (MPI_Comm comm, int dimension, int by, int* source, int* dest), (comm, dimension, by, source, dest), {
  const Topology& t = plait::mpi::cartesian(*c);
  require(dimension >= 0 && static_cast<std::size_t>(dimension) < t.dims.size(), MPI_ERR_DIMS);
  *source = plait::threadcomm::neighbour(t, c->rank, dimension, -by);
  *dest = plait::threadcomm::neighbour(t, c->rank, dimension, by);
})
// Ranks are not put in another order.
PLAIT_ASKS_TOPOLOGY(MPI_Cart_map, (MPI_Comm comm, int n, const int dims[], const int periods[], int* rank), (comm, n, dims, periods, rank),
                    {
                      int ranks = 1;
                      for (const int d : ints(dims, n)) ranks *= d;
                      *rank = rank_of(*c).rank < ranks ? c->rank : MPI_UNDEFINED;
                    })
PLAIT_ASKS_TOPOLOGY(MPI_Graph_map, (MPI_Comm comm, int n, const int index[], const int edges[], int* rank), (comm, n, index, edges, rank),
                    { *rank = rank_of(*c).rank < n ? c->rank : MPI_UNDEFINED; })

PLAIT_ASKS_TOPOLOGY(MPI_Graphdims_get, (MPI_Comm comm, int* nodes, int* edges), (comm, nodes, edges), {
  *nodes = static_cast<int>(plait::mpi::graph(*c).index.size());
  *edges = static_cast<int>(plait::mpi::graph(*c).edges.size());
})
PLAIT_ASKS_TOPOLOGY(MPI_Graph_get, (MPI_Comm comm, int nodes, int most, int index[], int edges[]), (comm, nodes, most, index, edges), {
  plait::mpi::copy_out(plait::mpi::graph(*c).index, index, nodes);
  plait::mpi::copy_out(plait::mpi::graph(*c).edges, edges, most);
})
PLAIT_ASKS_TOPOLOGY(MPI_Graph_neighbors_count, (MPI_Comm comm, int rank, int* n), (comm, rank, n), {
  plait::mpi::check_rank(*c, rank);
  *n = static_cast<int>(plait::threadcomm::graph_neighbours(plait::mpi::graph(*c), rank).size());
})
PLAIT_ASKS_TOPOLOGY(MPI_Graph_neighbors, (MPI_Comm comm, int rank, int most, int neighbors[]), (comm, rank, most, neighbors), {
  plait::mpi::check_rank(*c, rank);
  const std::span<const int> all = plait::threadcomm::graph_neighbours(plait::mpi::graph(*c), rank);
  plait::mpi::copy_out({all.begin(), all.end()}, neighbors, most);
})

PLAIT_ASKS_TOPOLOGY(MPI_Dist_graph_neighbors_count, (MPI_Comm comm, int* in, int* out, int* weighted), (comm, in, out, weighted), {
  const Topology& t = plait::mpi::distributed(*c);
  *in = static_cast<int>(t.sources.size());
  *out = static_cast<int>(t.destinations.size());
  *weighted = t.weighted ? 1 : 0;
})
PLAIT_ASKS_TOPOLOGY(MPI_Dist_graph_neighbors,
                    (MPI_Comm comm, int most_in, int sources[], int inweights[], int most_out, int targets[], int outweights[]),
                    (comm, most_in, sources, inweights, most_out, targets, outweights), {
                      const Topology& t = plait::mpi::distributed(*c);
                      plait::mpi::copy_out(t.sources, sources, most_in);
                      plait::mpi::copy_out(t.destinations, targets, most_out);
                      if (t.weighted && inweights != MPI_UNWEIGHTED) plait::mpi::copy_out(t.source_weights, inweights, most_in);
                      if (t.weighted && outweights != MPI_UNWEIGHTED) plait::mpi::copy_out(t.destination_weights, outweights, most_out);
                    })

#pragma GCC visibility pop
