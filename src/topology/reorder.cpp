#include "topology/reorder.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <new>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/settings.hpp"
#include "p2p/world.hpp"
#include "topology/place.hpp"
#include "topology/spot.hpp"

namespace plait::topology {
namespace {

using Arrow = Graph::Arrow;

/// Edges that rank 0 takes: four numbers for each can still be counted by an int.
constexpr std::int64_t kMostEdges = std::int64_t{1} << 26;

struct Wanted {
  Graph graph;
  std::optional<Shape> shape;
};

/// What becomes of a process.
struct Place {
  int changed;       ///< on all processes alike: is any rank another than it was?
  int vertex;        ///< that this process takes: its new rank
  int described_by;  ///< the new rank of the process whose old rank that is, which knows the vertex's neighbours
};

int size_of(MPI_Comm comm) {
  int size = 0;
  check(PMPI_Comm_size(comm, &size));
  return size;
}

int rank_of(MPI_Comm comm) {
  int rank = 0;
  check(PMPI_Comm_rank(comm, &rank));
  return rank;
}

/// Is there anything to do, and are these processes of one side?
bool may_change(MPI_Comm comm, int reorder, const MPI_Comm* made) {
  if (!reorder || !made || comm == MPI_COMM_NULL || settings::text(settings::Id::reorder) == "no") return false;
  int inter = 0;
  check(PMPI_Comm_test_inter(comm, &inter));
  return !inter && size_of(comm) > 1;
}

/// Collective. `describe`: called by rank 0 alone, with the number of ranks.
Place decide(MPI_Comm comm, const std::function<Wanted(int)>& describe) {
  const auto size = static_cast<std::size_t>(size_of(comm));
  const bool decides = rank_of(comm) == 0;
  const Spot mine = spot_on(p2p::node_hash());
  std::vector<Spot> spots(decides ? size : 0);
  check(PMPI_Gather(&mine, sizeof mine, MPI_BYTE, spots.data(), sizeof mine, MPI_BYTE, 0, comm));
  std::vector<Place> places(spots.size());
  try {
    if (decides) {
      const Wanted wanted = describe(static_cast<int>(size));
      const Answer answer = place(wanted.graph, wanted.shape, where(spots));
      for (std::size_t v = 0; v < size; ++v) {
        const auto rank = static_cast<std::size_t>(answer.rank_of[v]);
        places[rank].vertex = static_cast<int>(v);
        if (rank != v) places[0].changed = 1;
      }
      for (Place& p : places) {
        p.changed = places[0].changed;
        p.described_by = places[static_cast<std::size_t>(p.vertex)].vertex;
      }
    }
  } catch (const std::bad_alloc&) {
    for (int r = 0; Place& p : places) {
      p = {0, r, r};
      ++r;
    }
  }
  Place its{};
  check(PMPI_Scatter(places.data(), sizeof its, MPI_BYTE, &its, sizeof its, MPI_BYTE, 0, comm));
  return its;
}

/// The processes in their new order, for the MPI to make the communicator of.
class Ordered {
 public:
  Ordered(MPI_Comm comm, const Place& its) { check(PMPI_Comm_split(comm, 0, its.vertex, &comm_)); }
  ~Ordered() { PMPI_Comm_free(&comm_); }
  Ordered(const Ordered&) = delete;
  Ordered& operator=(const Ordered&) = delete;
  [[nodiscard]] MPI_Comm get() const noexcept { return comm_; }

 private:
  MPI_Comm comm_ = MPI_COMM_NULL;
};

/// `plain`: the MPI's call as the program has made it.
template <class Plain, class Body>
int answer(MPI_Comm comm, Plain plain, Body body) noexcept {
  try {
    return body();
  } catch (const MPIError& e) {
    if (!e.reported) PMPI_Comm_call_errhandler(comm, e.code);
    return e.code;
  } catch (const std::bad_alloc&) {
    return plain();
  }
}

std::optional<Shape> shape_of(int size, int n, const int dims[], const int periods[]) {
  if (n < 0 || (n > 0 && (!dims || !periods))) return {};
  Grid grid;
  std::int64_t cells = 1;
  for (int d = 0; d < n; ++d) {
    if (dims[d] < 1) return {};
    cells *= dims[d];
    require(cells <= std::numeric_limits<int>::max(), MPI_ERR_DIMS);  // MPIs multiply ints, and some crash on what comes out
    grid.dims.push_back(dims[d]);
    grid.periodic.push_back(periods[d] ? 1 : 0);
  }
  if (cells > size) return {};
  std::vector<Offset> stencil = nearest(grid);
  return Shape{std::move(grid), std::move(stencil)};
}

std::optional<std::vector<Arrow>> arrows_of(int size, int n, const int index[], const int edges[]) {
  if (n < 1 || n > size || !index) return {};
  std::vector<Arrow> arrows;
  int at = 0;
  for (int v = 0; v < n; ++v) {
    if (index[v] < at || (index[v] > 0 && !edges)) return {};
    for (; at < index[v]; ++at) {
      if (edges[at] < 0 || edges[at] >= n) return {};
      arrows.push_back({v, edges[at], 1});
    }
  }
  return arrows;
}

bool has_weights(const int weights[]) noexcept { return weights != MPI_UNWEIGHTED && weights != MPI_WEIGHTS_EMPTY; }

/// Edges of this process's from one vertex on to `targets`; false where one is not as it should be.
bool add(std::vector<int>& mine, int size, int source, int n, const int targets[], const int weights[]) {
  if (n < 0 || source < 0 || source >= size || (n > 0 && (!targets || !weights))) return false;
  for (int i = 0; i < n; ++i) {
    if (targets[i] == MPI_PROC_NULL) continue;
    const int weight = has_weights(weights) ? weights[i] : 1;
    if (targets[i] < 0 || targets[i] >= size || weight < 0) return false;
    mine.insert(mine.end(), {source, targets[i], weight});
  }
  return true;
}

std::vector<int> list(int n, const int values[]) { return n > 0 ? std::vector<int>(values, values + n) : std::vector<int>{}; }

/// What a process brings to a graph of which each knows a part.
struct Part {
  bool good = true;
  std::vector<int> edges;  ///< from, to, weight
};

/// Collective: everybody's edges, on rank 0.
std::vector<Arrow> gather(MPI_Comm comm, const std::vector<int>& mine) {
  const bool decides = rank_of(comm) == 0;
  const auto length = static_cast<int>(mine.size());
  std::vector<int> lengths(decides ? static_cast<std::size_t>(size_of(comm)) : 0);
  check(PMPI_Gather(&length, 1, MPI_INT, lengths.data(), 1, MPI_INT, 0, comm));
  std::vector<int> places;
  int total = 0;
  for (const int l : lengths) {
    places.push_back(total);
    total += l;
  }
  std::vector<int> all(static_cast<std::size_t>(total));
  check(PMPI_Gatherv(mine.data(), length, MPI_INT, all.data(), lengths.data(), places.data(), MPI_INT, 0, comm));
  std::vector<Arrow> arrows;
  arrows.reserve(all.size() / 3);
  for (std::size_t i = 0; i < all.size(); i += 3) arrows.push_back({all[i], all[i + 1], all[i + 2]});
  return arrows;
}

/// `make(of, its, edges)`: makes it of these processes; rank 0 has all edges.
template <class AsItIs, class Make>
int distribute(MPI_Comm comm, const Part& mine, AsItIs as_it_is, Make make) {
  std::array<std::int64_t, 2> sum{mine.good ? 0 : 1, static_cast<std::int64_t>(mine.edges.size() / 3)};
  check(PMPI_Allreduce(MPI_IN_PLACE, sum.data(), static_cast<int>(sum.size()), MPI_INT64_T, MPI_SUM, comm));
  // All end where one has made a mistake. Open MPI has the same class; MPICH aborts, or takes it.
  if (sum[0] > 0) throw MPIError{mine.good ? MPI_ERR_TOPOLOGY : MPI_ERR_ARG, false};
  if (sum[1] > kMostEdges) return as_it_is();
  const std::vector<Arrow> edges = gather(comm, mine.edges);
  const Place its = decide(comm, [&](int size) { return Wanted{Graph(size, edges), {}}; });
  if (!its.changed) return make(comm, its, edges);
  const Ordered ordered(comm, its);
  return make(ordered.get(), its, edges);
}

/// What a vertex has.
struct Neighbours {
  std::vector<int> sources, in_weights, targets, out_weights;

  /// The MPI's communicator of it. `given`: what the program has given for weights, which may be none.
  [[nodiscard]] int make(MPI_Comm of, const int in_given[], const int out_given[], MPI_Info info, MPI_Comm* made) const {
    return PMPI_Dist_graph_create_adjacent(of, static_cast<int>(sources.size()), sources.data(), as_given(in_weights, in_given),
                                           static_cast<int>(targets.size()), targets.data(), as_given(out_weights, out_given), info, 0,
                                           made);
  }

 private:
  [[nodiscard]] static const int* as_given(const std::vector<int>& weights, const int given[]) noexcept {
    if (given == MPI_UNWEIGHTED) return given;
    return weights.empty() ? MPI_WEIGHTS_EMPTY : weights.data();
  }
};

constexpr std::array kLists{&Neighbours::sources, &Neighbours::in_weights, &Neighbours::targets, &Neighbours::out_weights};

/// Collective: the neighbours of each process's vertex, from rank 0, which has all edges.
Neighbours deal(MPI_Comm comm, int vertex, const std::vector<Arrow>& edges) {
  const auto size = static_cast<std::size_t>(rank_of(comm) == 0 ? size_of(comm) : 0);
  std::vector<int> vertices(size);
  check(PMPI_Gather(&vertex, 1, MPI_INT, vertices.data(), 1, MPI_INT, 0, comm));
  std::vector<Neighbours> all(size);
  for (const Arrow& e : edges) {
    Neighbours& from = all[static_cast<std::size_t>(e.from)];
    Neighbours& to = all[static_cast<std::size_t>(e.to)];
    from.targets.push_back(e.to);
    from.out_weights.push_back(static_cast<int>(e.bytes));
    to.sources.push_back(e.from);
    to.in_weights.push_back(static_cast<int>(e.bytes));
  }
  Neighbours its;
  for (const auto list : kLists) {
    std::vector<int> lengths;
    std::vector<int> places;
    std::vector<int> values;
    for (const int v : vertices) {
      const std::vector<int>& of = all[static_cast<std::size_t>(v)].*list;
      lengths.push_back(static_cast<int>(of.size()));
      places.push_back(static_cast<int>(values.size()));
      values.insert(values.end(), of.begin(), of.end());
    }
    int length = 0;
    check(PMPI_Scatter(lengths.data(), 1, MPI_INT, &length, 1, MPI_INT, 0, comm));
    (its.*list).resize(static_cast<std::size_t>(length));
    check(PMPI_Scatterv(values.data(), lengths.data(), places.data(), MPI_INT, (its.*list).data(), length, MPI_INT, 0, comm));
  }
  return its;
}

/// Collective over processes in their new order: the lists of the process whose old rank this one has now.
Neighbours exchange(MPI_Comm ordered, const Place& its_place, int old_rank, const Neighbours& mine) {
  const int from = its_place.described_by;
  Neighbours its;
  for (const auto list : kLists) {
    const auto length = static_cast<int>((mine.*list).size());
    int coming = 0;
    check(PMPI_Sendrecv(&length, 1, MPI_INT, old_rank, 0, &coming, 1, MPI_INT, from, 0, ordered, MPI_STATUS_IGNORE));
    (its.*list).resize(static_cast<std::size_t>(coming));
    check(PMPI_Sendrecv((mine.*list).data(), length, MPI_INT, old_rank, 0, (its.*list).data(), coming, MPI_INT, from, 0, ordered,
                        MPI_STATUS_IGNORE));
  }
  return its;
}

std::vector<int> weights_in(int n, const int given[]) { return list(has_weights(given) ? n : 0, given); }

}  // namespace

int create_cartesian(MPI_Comm comm, int n, const int dims[], const int periods[], int reorder, MPI_Comm* made) noexcept {
  const auto plain = [&](MPI_Comm of, int again) { return PMPI_Cart_create(of, n, dims, periods, again, made); };
  const auto as_it_is = [&] { return plain(comm, reorder); };
  return answer(comm, as_it_is, [&] {
    if (!may_change(comm, reorder, made)) return as_it_is();
    const std::optional<Shape> shape = shape_of(size_of(comm), n, dims, periods);
    if (!shape) return as_it_is();
    const Place its = decide(comm, [&](int size) { return Wanted{Graph(shape->grid, shape->stencil, size), shape}; });
    if (!its.changed) return plain(comm, 0);
    const Ordered ordered(comm, its);
    return plain(ordered.get(), 0);
  });
}

int create_graph(MPI_Comm comm, int n, const int index[], const int edges[], int reorder, MPI_Comm* made) noexcept {
  const auto plain = [&](MPI_Comm of, int again) { return PMPI_Graph_create(of, n, index, edges, again, made); };
  const auto as_it_is = [&] { return plain(comm, reorder); };
  return answer(comm, as_it_is, [&] {
    if (!may_change(comm, reorder, made)) return as_it_is();
    const std::optional<std::vector<Arrow>> arrows = arrows_of(size_of(comm), n, index, edges);
    if (!arrows) return as_it_is();
    const Place its = decide(comm, [&](int size) { return Wanted{Graph(size, *arrows), {}}; });
    if (!its.changed) return plain(comm, 0);
    const Ordered ordered(comm, its);
    return plain(ordered.get(), 0);
  });
}

int create_distributed(MPI_Comm comm, int n, const int sources[], const int degrees[], const int targets[], const int weights[],
                       MPI_Info info, int reorder, MPI_Comm* made) noexcept {
  const auto plain = [&](MPI_Comm of, int again) {
    return PMPI_Dist_graph_create(of, n, sources, degrees, targets, weights, info, again, made);
  };
  const auto as_it_is = [&] { return plain(comm, reorder); };
  return answer(comm, as_it_is, [&] {
    if (!may_change(comm, reorder, made)) return as_it_is();
    const int size = size_of(comm);
    Part mine;
    mine.good = n >= 0 && (n == 0 || (sources && degrees));
    std::int64_t total = 0;
    for (int i = 0; mine.good && i < n; ++i) {
      const int* const its = has_weights(weights) ? weights + total : weights;
      mine.good = add(mine.edges, size, sources[i], degrees[i], targets ? targets + total : targets, its);
      total += std::max(degrees[i], 0);
    }
    // The MPI's own call would do, as edges name vertices, which are the new ranks. But that of MPICH 5.0.2 hangs between nodes: it
    // receives from MPI_ANY_SOURCE, which over UCX may wait for ever.
    return distribute(comm, mine, as_it_is, [&](MPI_Comm of, const Place& its, const std::vector<Arrow>& edges) {
      return deal(comm, its.vertex, edges).make(of, weights, weights, info, made);
    });
  });
}

int create_adjacent(MPI_Comm comm, int in, const int sources[], const int in_weights[], int out, const int targets[],
                    const int out_weights[], MPI_Info info, int reorder, MPI_Comm* made) noexcept {
  const auto plain = [&](int again) {
    return PMPI_Dist_graph_create_adjacent(comm, in, sources, in_weights, out, targets, out_weights, info, again, made);
  };
  const auto as_it_is = [&] { return plain(reorder); };
  return answer(comm, as_it_is, [&] {
    if (!may_change(comm, reorder, made)) return as_it_is();
    const int size = size_of(comm);
    const int rank = rank_of(comm);
    // Each edge is said by both its ends; that it comes in is looked at, and not counted.
    Part mine;
    mine.good = add(mine.edges, size, rank, in, sources, in_weights);
    mine.edges.clear();
    mine.good = mine.good && add(mine.edges, size, rank, out, targets, out_weights);
    return distribute(comm, mine, as_it_is, [&](MPI_Comm of, const Place& its, const std::vector<Arrow>&) {
      if (!its.changed) return plain(0);
      const Neighbours said{list(in, sources), weights_in(in, in_weights), list(out, targets), weights_in(out, out_weights)};
      return exchange(of, its, rank, said).make(of, in_weights, out_weights, info, made);
    });
  });
}

}  // namespace plait::topology
