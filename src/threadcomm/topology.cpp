#include "threadcomm/topology.hpp"

#include <algorithm>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "collective/algorithms.hpp"
#include "collective/call.hpp"

namespace plait::threadcomm {

using collective::Blocks;
using collective::Collective;
using collective::run;
using collective::Steps;

namespace {

int product(std::span<const int> dims) {
  return std::accumulate(dims.begin(), dims.end(), 1, [](int a, int b) { return a * b; });
}

Rank* with_topology(Rank* rank, std::shared_ptr<const Topology> topology) {
  if (rank) rank->topology = std::move(topology);
  return rank;
}

/// The first `n` ranks.
Rank* first_ranks(Rank& parent, int n, p2p::Call call) {
  require(n <= parent.size, MPI_ERR_ARG);
  return split(parent, parent.rank < n ? 0 : MPI_UNDEFINED, 0, call);
}

}  // namespace

Rank* create_cartesian(Rank& parent, std::span<const int> dims, std::span<const int> periods, p2p::Call call) {
  for (const int n : dims) require(n > 0, MPI_ERR_DIMS);
  auto t = std::make_shared<Topology>();
  t->kind = Topology::Kind::cartesian;
  t->dims.assign(dims.begin(), dims.end());
  t->periods.assign(periods.begin(), periods.end());
  return with_topology(first_ranks(parent, product(dims), call), std::move(t));
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

Rank* create_graph(Rank& parent, std::span<const int> index, std::span<const int> edges, p2p::Call call) {
  const auto n = static_cast<int>(index.size());
  for (std::size_t i = 0; i < index.size(); ++i) require(index[i] >= (i ? index[i - 1] : 0), MPI_ERR_ARG);
  for (const int e : edges) require(e >= 0 && e < n, MPI_ERR_ARG);
  auto t = std::make_shared<Topology>();
  t->kind = Topology::Kind::graph;
  t->index.assign(index.begin(), index.end());
  t->edges.assign(edges.begin(), edges.end());
  return with_topology(first_ranks(parent, n, call), std::move(t));
}

Rank& create_adjacent(Rank& parent, Topology neighbours, p2p::Call call) {
  const auto in_range = [&](int r) { return (r >= 0 && r < parent.size) || r == MPI_PROC_NULL; };
  require(std::ranges::all_of(neighbours.sources, in_range) && std::ranges::all_of(neighbours.destinations, in_range), MPI_ERR_ARG);
  auto t = std::make_shared<Topology>(std::move(neighbours));
  t->kind = Topology::Kind::distributed;
  return *with_topology(split(parent, 0, 0, call), std::move(t));
}

Rank& create_distributed(Rank& parent, const Edges& e, p2p::Call call) {
  // Every rank tells all others its edges: (from, to, weight).
  std::vector<int> mine;
  std::size_t at = 0;
  for (std::size_t i = 0; i < e.sources.size(); ++i) {
    require(e.sources[i] >= 0 && e.sources[i] < parent.size && e.degrees[i] >= 0, MPI_ERR_ARG);
    for (int k = 0; k < e.degrees[i]; ++k, ++at) {
      require(e.targets[at] >= 0 && e.targets[at] < parent.size, MPI_ERR_ARG);
      mine.insert(mine.end(), {e.sources[i], e.targets[at], e.weighted ? e.weights[at] : 1});
    }
  }
  const auto n = static_cast<std::size_t>(parent.size);
  const auto gather_ints = [&](const void* from, int count, std::vector<int>& to, const std::vector<int>& counts) {
    std::vector<int> places(n);
    std::exclusive_scan(counts.begin(), counts.end(), places.begin(), 0);
    to.resize(static_cast<std::size_t>(places.back()) + static_cast<std::size_t>(counts.back()));
    Blocks blocks;
    blocks.at = to.data();
    blocks.counts = counts.data();
    blocks.displacements = places.data();
    blocks.type = MPI_INT;
    const lane::Memory own = p2p::memory_of(from, count, MPI_INT);
    const int error = run(parent, call, [&](Collective& c) { return collective::allgather(c, own, blocks, false); });
    require(error == MPI_SUCCESS, error);
  };
  const auto length = static_cast<int>(mine.size());
  std::vector<int> lengths;
  std::vector<int> all;
  gather_ints(&length, 1, lengths, std::vector<int>(n, 1));
  gather_ints(mine.data(), length, all, lengths);
  Topology t;
  t.weighted = e.weighted;
  for (std::size_t i = 0; i < all.size(); i += 3) {
    if (all[i] == parent.rank) {
      t.destinations.push_back(all[i + 1]);
      t.destination_weights.push_back(all[i + 2]);
    }
    if (all[i + 1] == parent.rank) {
      t.sources.push_back(all[i]);
      t.source_weights.push_back(all[i + 2]);
    }
  }
  return create_adjacent(parent, std::move(t), call);
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
