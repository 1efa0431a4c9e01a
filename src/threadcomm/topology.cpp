#include "threadcomm/topology.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <numeric>
#include <tuple>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/mpi_lock.hpp"
#include "base/settings.hpp"
#include "collective/algorithms.hpp"
#include "collective/call.hpp"
#include "p2p/world.hpp"
#include "topology/choice.hpp"

namespace plait::threadcomm {

using collective::Blocks;
using collective::Collective;
using collective::run;
using collective::Steps;

namespace {

/// Of a grid that so many ranks suffice for.
int cells_of(std::span<const int> dims, int ranks) {
  std::int64_t cells = 1;
  for (const int n : dims) {
    require(n > 0, MPI_ERR_DIMS);
    cells = std::min(cells * n, ranks + std::int64_t{1});
  }
  require(cells <= ranks, MPI_ERR_ARG);
  return static_cast<int>(cells);
}

Rank* with_topology(Rank* rank, std::shared_ptr<const Topology> topology) {
  if (rank) rank->topology = std::move(topology);
  return rank;
}

/// What every rank brings, in the order of ranks; `counts` of each are known.
std::vector<int> all_ints(Rank& parent, std::span<const int> mine, const std::vector<int>& counts, p2p::Call call) {
  std::vector<int> places(counts.size());
  std::exclusive_scan(counts.begin(), counts.end(), places.begin(), 0);
  std::vector<int> all(static_cast<std::size_t>(places.back()) + static_cast<std::size_t>(counts.back()));
  Blocks blocks;
  blocks.at = all.data();
  blocks.counts = counts.data();
  blocks.displacements = places.data();
  blocks.type = MPI_INT;
  const lane::Memory own = p2p::memory_of(mine.data(), static_cast<int>(mine.size()), MPI_INT);
  const int error = run(parent, call, [&](Collective& c) { return collective::allgather(c, own, blocks, false); });
  require(error == MPI_SUCCESS, error);
  return all;
}

std::vector<int> equal_counts(const Rank& parent, int count) { return std::vector<int>(static_cast<std::size_t>(parent.size), count); }

struct Lists {
  std::vector<int> all, lengths;
};

/// Of any length. Where one rank's is not `good` all throw: it MPI_ERR_ARG, the others MPI_ERR_TOPOLOGY.
Lists all_lists(Rank& parent, std::span<const int> mine, p2p::Call call, bool good = true) {
  const int length = good ? static_cast<int>(mine.size()) : -1;
  std::vector<int> lengths = all_ints(parent, {&length, 1}, equal_counts(parent, 1), call);
  require(std::ranges::all_of(lengths, [](int n) { return n >= 0; }), good ? MPI_ERR_TOPOLOGY : MPI_ERR_ARG);
  std::vector<int> all = all_ints(parent, mine, lengths, call);
  return {std::move(all), std::move(lengths)};
}

/// The function of MPI's that a thread has called, and whether it lets ranks take other places.
struct Asked {
  const char* function;
  bool reorder;
};

/// The vertex that this rank takes. `describe`: called by rank 0 alone.
int vertex_of(Rank& parent, Asked asked, p2p::Call call, const std::function<topology::Wanted()>& describe) {
  if (!(asked.reorder || settings::flag(settings::Id::report)) || parent.size == 1) return parent.rank;
  using Words = std::array<int, sizeof(topology::Spot) / sizeof(int)>;
  Words mine{};
  {
    const MpiLock lock;
    mine = std::bit_cast<Words>(topology::spot_on(p2p::node_hash()));
  }
  const std::vector<int> all = all_ints(parent, mine, equal_counts(parent, static_cast<int>(mine.size())), call);
  std::vector<int> vertices;
  if (parent.rank == 0) {
    std::vector<topology::Spot> spots(static_cast<std::size_t>(parent.size));
    std::memcpy(spots.data(), all.data(), all.size() * sizeof(int));
    vertices = topology::choose(asked.function, asked.reorder, spots, describe);
  }
  std::vector<int> counts = equal_counts(parent, 0);
  counts[0] = parent.size;
  return all_ints(parent, vertices, counts, call)[static_cast<std::size_t>(parent.rank)];
}

/// Those that take the first `n` vertices, in their order.
Rank* first_vertices(Rank& parent, int n, int vertex, p2p::Call call) {
  return split(parent, vertex < n ? 0 : MPI_UNDEFINED, vertex, call);
}

}  // namespace

Rank* create_cartesian(Rank& parent, std::span<const int> dims, std::span<const int> periods, bool reorder, p2p::Call call) {
  const int n = cells_of(dims, parent.size);
  auto t = std::make_shared<Topology>();
  t->kind = Topology::Kind::cartesian;
  t->dims.assign(dims.begin(), dims.end());
  t->periods.assign(periods.begin(), periods.end());
  const int vertex = vertex_of(parent, {"MPI_Cart_create", reorder}, call, [&] {
    topology::Grid grid{t->dims, {}};
    for (const int p : periods) grid.periodic.push_back(p ? 1 : 0);
    const std::vector<topology::Offset> stencil = topology::nearest(grid);
    return topology::Wanted{topology::Graph(grid, stencil, parent.size), topology::Shape{grid, stencil}};
  });
  return with_topology(first_vertices(parent, n, vertex, call), std::move(t));
}

Rank* sub_cartesian(Rank& parent, std::span<const int> remain, p2p::Call call) {
  const Topology& old = topology_of(parent, Topology::Kind::cartesian);
  std::vector<int> coords(old.dims.size());
  coordinates(old, parent.rank, coords);
  auto t = std::make_shared<Topology>();
  t->kind = Topology::Kind::cartesian;
  int color = 0;
  int key = 0;
  for (std::size_t d = 0; d < coords.size(); ++d) {
    if (remain[d]) {
      t->dims.push_back(old.dims[d]);
      t->periods.push_back(old.periods[d]);
      key = key * old.dims[d] + coords[d];
    } else {
      color = color * old.dims[d] + coords[d];
    }
  }
  return with_topology(split(parent, color, key, call), std::move(t));
}

Rank* create_graph(Rank& parent, std::span<const int> index, std::span<const int> edges, bool reorder, p2p::Call call) {
  const auto n = static_cast<int>(index.size());
  for (std::size_t i = 0; i < index.size(); ++i) require(index[i] >= (i ? index[i - 1] : 0), MPI_ERR_ARG);
  for (const int e : edges) require(e >= 0 && e < n, MPI_ERR_ARG);
  require(n <= parent.size, MPI_ERR_ARG);
  auto t = std::make_shared<Topology>();
  t->kind = Topology::Kind::graph;
  t->index.assign(index.begin(), index.end());
  t->edges.assign(edges.begin(), edges.end());
  const int vertex = vertex_of(parent, {"MPI_Graph_create", reorder}, call, [&] {
    std::vector<topology::Graph::Arrow> arrows;
    for (int v = 0; v < n; ++v) {
      for (const int to : graph_neighbours(*t, v)) arrows.push_back({v, to, 1});
    }
    return topology::Wanted{topology::Graph(parent.size, arrows), {}};
  });
  return with_topology(first_vertices(parent, n, vertex, call), std::move(t));
}

namespace {

/// Of edges as (from, to, weight).
int vertex_of(Rank& parent, Asked asked, std::span<const int> edges, p2p::Call call) {
  return vertex_of(parent, asked, call, [&] {
    std::vector<topology::Graph::Arrow> arrows;
    for (std::size_t i = 0; i < edges.size(); i += 3) {
      if (edges[i + 1] != MPI_PROC_NULL) arrows.push_back({edges[i], edges[i + 1], edges[i + 2]});
    }
    return topology::Wanted{topology::Graph(parent.size, arrows), {}};
  });
}

/// `neighbours`: those of the vertex.
Rank& make_distributed(Rank& parent, Topology neighbours, int vertex, p2p::Call call) {
  auto t = std::make_shared<Topology>(std::move(neighbours));
  t->kind = Topology::Kind::distributed;
  return *with_topology(split(parent, 0, vertex, call), std::move(t));
}

constexpr std::array kLists{&Topology::sources, &Topology::source_weights, &Topology::destinations, &Topology::destination_weights};

/// What the rank has said whose number is the vertex.
Topology of_vertex(Rank& parent, const Topology& mine, int vertex, p2p::Call call) {
  Topology its;
  its.weighted = mine.weighted;
  for (const auto list : kLists) {
    const auto [all, lengths] = all_lists(parent, mine.*list, call);
    const auto begin = all.begin() + std::accumulate(lengths.begin(), lengths.begin() + vertex, 0);
    (its.*list).assign(begin, begin + lengths[static_cast<std::size_t>(vertex)]);
  }
  return its;
}

}  // namespace

Rank& create_adjacent(Rank& parent, Topology neighbours, bool reorder, p2p::Call call) {
  const auto is_rank = [&](int r) { return (r >= 0 && r < parent.size) || r == MPI_PROC_NULL; };
  const auto is_weight = [](int w) { return w >= 0; };
  const auto& [from, to] = std::tie(neighbours.sources, neighbours.destinations);
  const bool good = std::ranges::all_of(from, is_rank) && std::ranges::all_of(to, is_rank) &&
                    std::ranges::all_of(neighbours.source_weights, is_weight) &&
                    std::ranges::all_of(neighbours.destination_weights, is_weight);
  std::vector<int> edges;
  for (std::size_t i = 0; i < to.size(); ++i) {
    const auto& weights = neighbours.destination_weights;
    edges.insert(edges.end(), {parent.rank, to[i], i < weights.size() ? weights[i] : 1});
  }
  const std::vector<int> all = all_lists(parent, edges, call, good).all;
  const int vertex = vertex_of(parent, {"MPI_Dist_graph_create_adjacent", reorder}, all, call);
  if (reorder) neighbours = of_vertex(parent, neighbours, vertex, call);
  return make_distributed(parent, std::move(neighbours), vertex, call);
}

Rank& create_distributed(Rank& parent, const Edges& e, bool reorder, p2p::Call call) {
  // Every rank tells all others its edges: (from, to, weight).
  const auto is_rank = [&](int r) { return r >= 0 && r < parent.size; };
  std::vector<int> mine;
  bool good = true;
  std::size_t at = 0;
  for (std::size_t i = 0; i < e.sources.size(); ++i) {
    good = good && is_rank(e.sources[i]) && e.degrees[i] >= 0;
    for (int k = 0; k < e.degrees[i]; ++k, ++at) {
      const int weight = at < e.weights.size() ? e.weights[at] : 1;
      good = good && is_rank(e.targets[at]) && weight >= 0;
      mine.insert(mine.end(), {e.sources[i], e.targets[at], weight});
    }
  }
  const std::vector<int> all = all_lists(parent, mine, call, good).all;
  const int vertex = vertex_of(parent, {"MPI_Dist_graph_create", reorder}, all, call);
  Topology t;
  t.weighted = e.weighted;
  for (std::size_t i = 0; i < all.size(); i += 3) {
    if (all[i] == vertex) {
      t.destinations.push_back(all[i + 1]);
      t.destination_weights.push_back(all[i + 2]);
    }
    if (all[i + 1] == vertex) {
      t.sources.push_back(all[i]);
      t.source_weights.push_back(all[i + 2]);
    }
  }
  return make_distributed(parent, std::move(t), vertex, call);
}

const Topology& topology_of(const Rank& rank, Topology::Kind kind) {
  require(rank.topology && rank.topology->kind == kind, MPI_ERR_TOPOLOGY);
  return *rank.topology;
}

void coordinates(const Topology& t, int rank, std::span<int> coords) {
  for (std::size_t d = t.dims.size(); d-- > 0;) {
    if (d < coords.size()) coords[d] = rank % t.dims[d];
    rank /= t.dims[d];
  }
}

int rank_at(const Topology& t, std::span<const int> coords) {
  int rank = 0;
  for (std::size_t d = 0; d < t.dims.size(); ++d) {
    int at = coords[d];
    if (at < 0 || at >= t.dims[d]) {
      if (!t.periods[d]) return MPI_PROC_NULL;
      at = (at % t.dims[d] + t.dims[d]) % t.dims[d];
    }
    rank = rank * t.dims[d] + at;
  }
  return rank;
}

int neighbour(const Topology& t, int rank, int dimension, int displacement) {
  std::vector<int> coords(t.dims.size());
  coordinates(t, rank, coords);
  coords[static_cast<std::size_t>(dimension)] += displacement;
  return rank_at(t, coords);
}

std::span<const int> graph_neighbours(const Topology& t, int rank) {
  const auto r = static_cast<std::size_t>(rank);
  const auto begin = static_cast<std::size_t>(r == 0 ? 0 : t.index[r - 1]);
  return std::span(t.edges).subspan(begin, static_cast<std::size_t>(t.index[r]) - begin);
}

Neighbourhood neighbourhood_of(const Rank& rank) {
  require(rank.topology != nullptr, MPI_ERR_TOPOLOGY);
  const Topology& t = *rank.topology;
  Neighbourhood n;
  n.cartesian = t.kind == Topology::Kind::cartesian;
  if (n.cartesian) {
    for (int d = 0; d < static_cast<int>(t.dims.size()); ++d) {
      for (const int step : {-1, 1}) n.sources.push_back(neighbour(t, rank.rank, d, step));
    }
    n.destinations = n.sources;
  } else if (t.kind == Topology::Kind::graph) {
    const std::span<const int> edges = graph_neighbours(t, rank.rank);
    n.sources.assign(edges.begin(), edges.end());
    n.destinations = n.sources;
  } else {
    n.sources = t.sources;
    n.destinations = t.destinations;
  }
  return n;
}

Steps neighbors(Collective& c, Blocks from, Blocks to, bool same) {
  const Neighbourhood n = neighbourhood_of(static_cast<const Rank&>(c.rank()));
  // What a rank sends down a dimension its neighbour receives from above, also where both directions lead to the same rank
  // (MPI-4.1, 8.6).
  const auto sub = [&](std::size_t i) { return n.cartesian ? static_cast<int>(i) : 0; };
  for (std::size_t i = 0; i < n.sources.size(); ++i) {
    if (n.sources[i] != MPI_PROC_NULL) c.receive(n.sources[i], to.block(static_cast<int>(i)), sub(n.cartesian ? i ^ 1 : i));
  }
  for (std::size_t i = 0; i < n.destinations.size(); ++i) {
    if (n.destinations[i] != MPI_PROC_NULL) c.send(n.destinations[i], from.block(same ? 0 : static_cast<int>(i)), sub(i));
  }
  co_await c.all();
}

}  // namespace plait::threadcomm
