#include "threadcomm/topology.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/mpi_lock.hpp"
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

/// How many cells a grid has. Throws MPIError where there are not so many ranks.
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

/// Where the ints of all ranks are gathered, so many of each; on ranks that get none there is no memory behind it.
struct Room {
  explicit Room(const std::vector<int>& ints, bool here = true) : counts(ints), places(ints.size()) {
    std::exclusive_scan(counts.begin(), counts.end(), places.begin(), 0);
    if (here) values.resize(static_cast<std::size_t>(places.back()) + static_cast<std::size_t>(counts.back()));
    blocks.at = values.data();
    blocks.counts = counts.data();
    blocks.displacements = places.data();
    blocks.type = MPI_INT;
  }

  const std::vector<int>& counts;
  std::vector<int> places, values;
  Blocks blocks;
};

lane::Memory memory_of(std::span<const int> ints) { return p2p::memory_of(ints.data(), static_cast<int>(ints.size()), MPI_INT); }

/// Runs one algorithm on all ranks.
template <class Make>
void together(Rank& parent, p2p::Call call, const Make& make) {
  const int error = run(parent, call, make);
  require(error == MPI_SUCCESS, error);
}

/// What every rank brings, in the order of ranks; `counts` of each are known.
std::vector<int> all_ints(Rank& parent, std::span<const int> mine, const std::vector<int>& counts, p2p::Call call) {
  Room all(counts);
  together(parent, call, [&](Collective& c) { return collective::allgather(c, memory_of(mine), all.blocks, false); });
  return std::move(all.values);
}

/// The same on rank 0, and nothing on the others.
std::vector<int> gather_ints(Rank& parent, std::span<const int> mine, const std::vector<int>& counts, p2p::Call call) {
  Room all(counts, parent.rank == 0);
  together(parent, call, [&](Collective& c) { return collective::gather(c, memory_of(mine), all.blocks, 0, false); });
  return std::move(all.values);
}

std::vector<int> equal_counts(const Rank& parent, std::size_t count) {
  return std::vector<int>(static_cast<std::size_t>(parent.size), static_cast<int>(count));
}

bool is_asked(const Rank& parent, bool reorder) { return (reorder || topology::wishes().report) && parent.size > 1; }

/// The vertex of each rank. `describe`: called by rank 0 alone.
std::vector<int> vertices_of(Rank& parent, const char* function, bool reorder, p2p::Call call,
                             const std::function<topology::Wanted()>& describe) {
  std::vector<int> vertices(static_cast<std::size_t>(parent.size));
  std::iota(vertices.begin(), vertices.end(), 0);
  if (!is_asked(parent, reorder)) return vertices;
  const auto node = [] {
    const MpiLock lock;
    return p2p::node_hash();
  };
  const topology::Spot spot = topology::spot_on(node());
  std::array<int, sizeof spot / sizeof(int)> mine{};
  std::memcpy(mine.data(), &spot, sizeof spot);
  const std::vector<int> all = gather_ints(parent, mine, equal_counts(parent, mine.size()), call);
  if (parent.rank == 0) {
    std::vector<topology::Spot> spots(vertices.size());
    std::memcpy(spots.data(), all.data(), all.size() * sizeof(int));
    vertices = topology::choose(function, reorder, spots, describe);
  }
  together(parent, call, [&](Collective& c) { return collective::broadcast(c, memory_of(vertices), 0); });
  return vertices;
}

int vertex_of(Rank& parent, const char* function, bool reorder, p2p::Call call, const std::function<topology::Wanted()>& describe) {
  return vertices_of(parent, function, reorder, call, describe)[static_cast<std::size_t>(parent.rank)];
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
  const int vertex = vertex_of(parent, "MPI_Cart_create", reorder, call, [&] {
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
  const int vertex = vertex_of(parent, "MPI_Graph_create", reorder, call, [&] {
    std::vector<topology::Graph::Arrow> arrows;
    for (int v = 0; v < n; ++v) {
      for (const int to : graph_neighbours(*t, v)) arrows.push_back({v, to, 1});
    }
    return topology::Wanted{topology::Graph(parent.size, arrows), {}};
  });
  return with_topology(first_vertices(parent, n, vertex, call), std::move(t));
}

namespace {

/// What each rank says of its part of a distributed graph before anybody waits for its lists.
struct Part {
  int good;
  int with_weights, without, names_weights;  ///< has it edges of either kind; and would it give weights, if it had any?
  int edges, sources, destinations;          ///< how many it brings, and the lengths of its lists
};

/// Of all ranks. Where one is wrong all throw: that one MPI_ERR_ARG, and the others MPI_ERR_TOPOLOGY.
std::vector<Part> all_parts(Rank& parent, const Part& mine, p2p::Call call) {
  std::array<int, sizeof mine / sizeof(int)> ints{};
  std::memcpy(ints.data(), &mine, sizeof mine);
  const std::vector<int> words = all_ints(parent, ints, equal_counts(parent, ints.size()), call);
  std::vector<Part> parts(static_cast<std::size_t>(parent.size));
  std::memcpy(parts.data(), words.data(), words.size() * sizeof(int));
  require(std::ranges::all_of(parts, [](const Part& p) { return p.good != 0; }), mine.good ? MPI_ERR_TOPOLOGY : MPI_ERR_ARG);
  return parts;
}

/// All ranks have weights, or none. Who has named none where others have gets 1.
bool is_weighted(const std::vector<Part>& parts) {
  const auto any = [&](int Part::* what) { return std::ranges::any_of(parts, [&](const Part& p) { return p.*what != 0; }); };
  return any(&Part::with_weights) || (any(&Part::names_weights) && !any(&Part::without));
}

std::vector<int> lengths_of(const std::vector<Part>& parts, int Part::* what, int times) {
  std::vector<int> lengths;
  lengths.reserve(parts.size());
  for (const Part& p : parts) lengths.push_back(p.*what * times);
  return lengths;
}

/// Of edges as (from, to, weight).
topology::Wanted graph_of(const std::vector<int>& edges, int ranks) {
  std::vector<topology::Graph::Arrow> arrows;
  for (std::size_t i = 0; i < edges.size(); i += 3) {
    if (edges[i + 1] != MPI_PROC_NULL) arrows.push_back({edges[i], edges[i + 1], edges[i + 2]});
  }
  return {topology::Graph(ranks, arrows), {}};
}

bool can_choose(const std::vector<Part>& parts) {
  return std::accumulate(parts.begin(), parts.end(), std::int64_t{0}, [](std::int64_t n, const Part& p) { return n + p.edges; }) <=
         topology::kMostEdges;
}

/// `neighbours`: those of the vertex.
Rank& make_distributed(Rank& parent, Topology neighbours, int vertex, p2p::Call call) {
  auto t = std::make_shared<Topology>(std::move(neighbours));
  t->kind = Topology::Kind::distributed;
  return *with_topology(split(parent, 0, vertex, call), std::move(t));
}

constexpr std::array kLists{&Topology::sources, &Topology::source_weights, &Topology::destinations, &Topology::destination_weights};

/// To the rank that takes this one's vertex, and from the one whose vertex this rank takes.
Steps hand_on(Collective& c, int to, const Topology& mine, int from, const Topology& its) {
  if (to != c.me()) {
    for (int i = 0; const auto list : kLists) c.receive(from, memory_of(its.*list), i++);
    for (int i = 0; const auto list : kLists) c.send(to, memory_of(mine.*list), i++);
  }
  co_await c.all();
}

/// What the rank has said whose number this rank's vertex is.
Topology of_vertex(Rank& parent, Topology mine, const std::vector<int>& vertices, const std::vector<Part>& parts, p2p::Call call) {
  const int vertex = vertices[static_cast<std::size_t>(parent.rank)];
  const auto to = static_cast<int>(std::ranges::find(vertices, parent.rank) - vertices.begin());
  const Part& said = parts[static_cast<std::size_t>(vertex)];
  Topology its;
  its.weighted = mine.weighted;
  its.sources.resize(static_cast<std::size_t>(said.sources));
  its.destinations.resize(static_cast<std::size_t>(said.destinations));
  its.source_weights.resize(mine.weighted ? its.sources.size() : 0);
  its.destination_weights.resize(mine.weighted ? its.destinations.size() : 0);
  together(parent, call, [&](Collective& c) { return hand_on(c, to, mine, vertex, its); });
  return to == parent.rank ? std::move(mine) : std::move(its);
}

}  // namespace

Rank& create_adjacent(Rank& parent, Topology mine, bool good, bool reorder, p2p::Call call) {
  const auto are_ranks = [&](const std::vector<int>& list) {
    return std::ranges::all_of(list, [&](int r) { return (r >= 0 && r < parent.size) || r == MPI_PROC_NULL; });
  };
  const auto are_weights = [](const std::vector<int>& list) { return std::ranges::all_of(list, [](int w) { return w >= 0; }); };
  Part part{};
  part.good = good && are_ranks(mine.sources) && are_ranks(mine.destinations) && are_weights(mine.source_weights) &&
              are_weights(mine.destination_weights);
  part.names_weights = mine.weighted;
  part.with_weights = !mine.source_weights.empty() || !mine.destination_weights.empty();
  part.without = mine.source_weights.size() < mine.sources.size() || mine.destination_weights.size() < mine.destinations.size();
  part.sources = static_cast<int>(mine.sources.size());
  part.destinations = part.edges = static_cast<int>(mine.destinations.size());
  const std::vector<Part> parts = all_parts(parent, part, call);
  mine.weighted = is_weighted(parts);
  mine.source_weights.resize(mine.weighted ? mine.sources.size() : 0, 1);
  mine.destination_weights.resize(mine.weighted ? mine.destinations.size() : 0, 1);
  if (!is_asked(parent, reorder) || !can_choose(parts)) return make_distributed(parent, std::move(mine), parent.rank, call);

  // Each edge is said by both its ends, and counted where it begins.
  std::vector<int> edges;
  for (std::size_t i = 0; i < mine.destinations.size(); ++i)
    edges.insert(edges.end(), {parent.rank, mine.destinations[i], mine.weighted ? mine.destination_weights[i] : 1});
  const std::vector<int> all = gather_ints(parent, edges, lengths_of(parts, &Part::edges, 3), call);
  const std::vector<int> vertices =
      vertices_of(parent, "MPI_Dist_graph_create_adjacent", reorder, call, [&] { return graph_of(all, parent.size); });
  Topology its = of_vertex(parent, std::move(mine), vertices, parts, call);
  return make_distributed(parent, std::move(its), vertices[static_cast<std::size_t>(parent.rank)], call);
}

Rank& create_distributed(Rank& parent, const Edges& e, bool reorder, p2p::Call call) {
  // Every rank tells all others its edges: (from, to, weight).
  const auto is_rank = [&](int r) { return r >= 0 && r < parent.size; };
  std::vector<int> mine;
  Part part{};
  part.good = e.good;
  std::size_t at = 0;
  for (std::size_t i = 0; i < e.sources.size(); ++i) {
    part.good = part.good && is_rank(e.sources[i]) && e.degrees[i] >= 0;
    for (int k = 0; k < e.degrees[i]; ++k, ++at) {
      const int weight = at < e.weights.size() ? e.weights[at] : 1;
      part.good = part.good && is_rank(e.targets[at]) && weight >= 0;
      mine.insert(mine.end(), {e.sources[i], e.targets[at], weight});
    }
  }
  part.names_weights = e.weighted;
  part.with_weights = !e.weights.empty();
  part.without = e.weights.size() < e.targets.size();
  part.edges = static_cast<int>(e.targets.size());
  const std::vector<Part> parts = all_parts(parent, part, call);
  const std::vector<int> all = all_ints(parent, mine, lengths_of(parts, &Part::edges, 3), call);
  const int vertex =
      vertex_of(parent, "MPI_Dist_graph_create", reorder && can_choose(parts), call, [&] { return graph_of(all, parent.size); });
  Topology t;
  t.weighted = is_weighted(parts);
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
