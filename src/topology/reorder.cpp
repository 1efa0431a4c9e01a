#include "topology/reorder.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <limits>
#include <new>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "p2p/world.hpp"
#include "topology/choice.hpp"

namespace plait::topology {
namespace {

using Arrow = Graph::Arrow;

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

/// Is there anything to do or to tell, and are these processes of one side?
bool is_asked(MPI_Comm comm, int reorder, const MPI_Comm* made) {
  if (!(may_reorder(reorder) || wishes().report) || !made || comm == MPI_COMM_NULL) return false;
  int inter = 0;
  check(PMPI_Comm_test_inter(comm, &inter));
  return !inter && size_of(comm) > 1;
}

/// Collective. `describe`: called by rank 0 alone.
Place decide(MPI_Comm comm, const char* call, int reorder, const std::function<Wanted()>& describe) {
  const bool decides = rank_of(comm) == 0;
  const Spot mine = spot_on(p2p::node_hash());
  std::vector<Spot> spots(decides ? static_cast<std::size_t>(size_of(comm)) : 0);
  check(PMPI_Gather(&mine, sizeof mine, MPI_BYTE, spots.data(), sizeof mine, MPI_BYTE, 0, comm));
  std::vector<Place> places(spots.size());
  if (decides) {
    const std::vector<int> vertices = choose(call, may_reorder(reorder), spots, describe);
    for (int rank = 0; const int vertex : vertices) {
      if (vertex != rank) places[0].changed = 1;
      places[static_cast<std::size_t>(rank++)].vertex = vertex;
    }
    for (Place& p : places) {
      p.changed = places[0].changed;
      p.described_by = vertices[static_cast<std::size_t>(p.vertex)];
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

/// A process without memory says so: the MPI's own call would not do, as the others are in another one by now.
template <class Body>
int answer(MPI_Comm comm, Body body) noexcept {
  const auto told = [comm](int code) {
    PMPI_Comm_call_errhandler(comm, code);
    return code;
  };
  try {
    return body();
  } catch (const MPIError& e) {
    return e.reported ? e.code : told(e.code);
  } catch (const std::bad_alloc&) {
    return told(MPI_ERR_NO_MEM);
  }
}

/// Empty where that is the MPI's to say something of.
std::optional<Shape> shape_of(int size, int n, const int dims[], const int periods[], int reorder) {
  if (n < 0 || (n > 0 && (!dims || !periods))) return {};
  Grid grid;
  std::int64_t cells = 1;
  for (int d = 0; d < n; ++d) {
    if (dims[d] < 1) return {};
    cells *= dims[d];
    if (cells > std::numeric_limits<int>::max()) {
      require(!may_reorder(reorder), MPI_ERR_DIMS);  // MPIs multiply ints, and some crash on what comes out
      return {};
    }
    grid.dims.push_back(dims[d]);
    grid.periodic.push_back(periods[d] ? 1 : 0);
  }
  if (cells > size) return {};
  std::vector<Offset> stencil = nearest(grid);
  return Shape{std::move(grid), std::move(stencil)};
}

/// Are these vertices and their neighbours?
bool is_graph(int size, int n, const int index[], const int edges[]) {
  if (n < 1 || n > size || !index) return false;
  int at = 0;
  for (int v = 0; v < n; ++v) {
    if (index[v] < at || (index[v] > 0 && !edges)) return false;
    for (; at < index[v]; ++at) {
      if (edges[at] < 0 || edges[at] >= n) return false;
    }
  }
  return true;
}

Graph graph_of(int size, int n, const int index[], const int edges[]) {
  std::vector<Arrow> arrows;
  for (int v = 0, at = 0; v < n; ++v) {
    for (; at < index[v]; ++at) arrows.push_back({v, edges[at], 1});
  }
  return {size, arrows};
}

/// What a process brings to a graph of which each knows a part.
struct Part {
  bool good = true;
  bool odd = false;                            ///< what MPI does not allow, but some MPIs take
  bool with_weights = false, without = false;  ///< does it have edges of either kind?
  bool names_weights = false;                  ///< or would it, if it had any?
  std::vector<int> edges;                      ///< from, to, weight

  /// From `source` to n targets.
  void add(int size, int source, int n, const int targets[], const int weights[]) {
    good = good && n >= 0 && source >= 0 && source < size && (n <= 0 || (targets && weights && weights != MPI_WEIGHTS_EMPTY));
    const bool weighted = weights != MPI_UNWEIGHTED;
    names_weights = names_weights || weighted;
    if (!good || n == 0) return;
    (weighted ? with_weights : without) = true;
    for (int i = 0; i < n; ++i) {
      const int weight = weighted ? weights[i] : 1;
      if (targets[i] == MPI_PROC_NULL) {
        odd = true;
      } else if (targets[i] < 0 || targets[i] >= size || weight < 0) {
        good = false;
      } else {
        edges.insert(edges.end(), {source, targets[i], weight});
      }
    }
  }
};

std::vector<int> list(int n, const int values[]) { return n > 0 ? std::vector<int>(values, values + n) : std::vector<int>{}; }

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

/// `make(of, its, edges, weighted)`: makes it of these processes; rank 0 has all edges.
template <class AsItIs, class Make>
int distribute(MPI_Comm comm, const char* call, int reorder, const Part& mine, AsItIs as_it_is, Make make) {
  enum : std::uint8_t { bad, odd, with_weights, without, names_weights, edges_in_all, kinds };
  std::array<std::int64_t, kinds> sum{};
  sum[bad] = !mine.good;
  sum[odd] = mine.odd;
  sum[with_weights] = mine.with_weights;
  sum[without] = mine.without;
  sum[names_weights] = mine.names_weights;
  sum[edges_in_all] = static_cast<std::int64_t>(mine.edges.size() / 3);
  check(PMPI_Allreduce(MPI_IN_PLACE, sum.data(), kinds, MPI_INT64_T, MPI_SUM, comm));
  // All end where one has made a mistake. What only some MPIs take goes to the MPI's own call.
  if (may_reorder(reorder) && sum[bad] > 0) throw MPIError{mine.good ? MPI_ERR_TOPOLOGY : MPI_ERR_ARG, false};
  const bool mixed = sum[with_weights] > 0 && sum[without] > 0;
  if (sum[bad] > 0 || sum[odd] > 0 || mixed || sum[edges_in_all] > kMostEdges) {
    if (wishes().report && rank_of(comm) == 0) {
      const char* const why = sum[bad] > 0   ? "it is not as it should be"
                              : sum[odd] > 0 ? "MPI_PROC_NULL is a neighbour"
                              : mixed        ? "some processes give weights, and some do not"
                                             : "it has too many edges";
      std::fprintf(stderr, "plait: %s: ranks stay, as the MPI makes it: %s\n", call, why);
    }
    return as_it_is();
  }
  const std::vector<Arrow> edges = gather(comm, mine.edges);
  const Place its = decide(comm, call, reorder, [&] { return Wanted{Graph(size_of(comm), edges), {}}; });
  if (!may_reorder(reorder)) return as_it_is();
  const bool weighted = sum[without] == 0 && sum[names_weights] > 0;
  if (!its.changed) return make(comm, its, edges, weighted);
  const Ordered ordered(comm, its);
  return make(ordered.get(), its, edges, weighted);
}

/// What a vertex has.
struct Neighbours {
  std::vector<int> sources, in_weights, targets, out_weights;

  /// The MPI's communicator of it.
  [[nodiscard]] int make(MPI_Comm of, bool weighted, MPI_Info info, MPI_Comm* made) const {
    const auto given = [weighted](const std::vector<int>& weights) -> const int* {
      if (!weighted) return MPI_UNWEIGHTED;
      return weights.empty() ? MPI_WEIGHTS_EMPTY : weights.data();
    };
    return PMPI_Dist_graph_create_adjacent(of, static_cast<int>(sources.size()), sources.data(), given(in_weights),
                                           static_cast<int>(targets.size()), targets.data(), given(out_weights), info, 0, made);
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

std::vector<int> weights_in(bool weighted, int n, const int given[]) { return list(weighted ? n : 0, given); }

}  // namespace

bool may_reorder(int reorder) noexcept { return reorder && !wishes().stay; }

int create_cartesian(MPI_Comm comm, int n, const int dims[], const int periods[], int reorder, MPI_Comm* made) noexcept {
  const auto plain = [&](MPI_Comm of, int again) { return PMPI_Cart_create(of, n, dims, periods, again, made); };
  const auto as_it_is = [&] { return plain(comm, reorder); };
  return answer(comm, [&] {
    if (!is_asked(comm, reorder, made)) return as_it_is();
    const int size = size_of(comm);
    const std::optional<Shape> shape = shape_of(size, n, dims, periods, reorder);
    if (!shape) return as_it_is();
    const Place its = decide(comm, "MPI_Cart_create", reorder, [&] { return Wanted{Graph(shape->grid, shape->stencil, size), shape}; });
    if (!its.changed) return plain(comm, may_reorder(reorder) ? 0 : reorder);
    const Ordered ordered(comm, its);
    return plain(ordered.get(), 0);
  });
}

int create_graph(MPI_Comm comm, int n, const int index[], const int edges[], int reorder, MPI_Comm* made) noexcept {
  const auto plain = [&](MPI_Comm of, int again) { return PMPI_Graph_create(of, n, index, edges, again, made); };
  const auto as_it_is = [&] { return plain(comm, reorder); };
  return answer(comm, [&] {
    if (!is_asked(comm, reorder, made)) return as_it_is();
    const int size = size_of(comm);
    if (!is_graph(size, n, index, edges)) return as_it_is();
    const Place its = decide(comm, "MPI_Graph_create", reorder, [&] { return Wanted{graph_of(size, n, index, edges), {}}; });
    if (!its.changed) return plain(comm, may_reorder(reorder) ? 0 : reorder);
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
  return answer(comm, [&] {
    if (!is_asked(comm, reorder, made)) return as_it_is();
    const int size = size_of(comm);
    Part mine;
    mine.good = n >= 0 && (n == 0 || (sources && degrees));
    mine.names_weights = weights != MPI_UNWEIGHTED;
    const bool weighted = weights && weights != MPI_UNWEIGHTED && weights != MPI_WEIGHTS_EMPTY;
    std::int64_t at = 0;
    for (int i = 0; mine.good && i < n; ++i) {
      mine.add(size, sources[i], degrees[i], targets ? targets + at : targets, weighted ? weights + at : weights);
      at += std::max(degrees[i], 0);
    }
    // The MPI's own call would do, as edges name vertices, which are the new ranks. But that of MPICH 5.0.2 hangs between nodes: it
    // receives from MPI_ANY_SOURCE, which over UCX may wait for ever.
    return distribute(comm, "MPI_Dist_graph_create", reorder, mine, as_it_is,
                      [&](MPI_Comm of, const Place& its, const std::vector<Arrow>& all, bool with_weights) {
                        return deal(comm, its.vertex, all).make(of, with_weights, info, made);
                      });
  });
}

int create_adjacent(MPI_Comm comm, int in, const int sources[], const int in_weights[], int out, const int targets[],
                    const int out_weights[], MPI_Info info, int reorder, MPI_Comm* made) noexcept {
  const auto plain = [&](int again) {
    return PMPI_Dist_graph_create_adjacent(comm, in, sources, in_weights, out, targets, out_weights, info, again, made);
  };
  const auto as_it_is = [&] { return plain(reorder); };
  return answer(comm, [&] {
    if (!is_asked(comm, reorder, made)) return as_it_is();
    const int size = size_of(comm);
    const int rank = rank_of(comm);
    // Each edge is said by both its ends; that it comes in is looked at, and not counted.
    Part mine;
    mine.add(size, rank, in, sources, in_weights);
    mine.edges.clear();
    mine.add(size, rank, out, targets, out_weights);
    return distribute(comm, "MPI_Dist_graph_create_adjacent", reorder, mine, as_it_is,
                      [&](MPI_Comm of, const Place& its, const std::vector<Arrow>&, bool weighted) {
                        if (!its.changed) return plain(0);
                        const Neighbours said{list(in, sources), weights_in(weighted, in, in_weights), list(out, targets),
                                              weights_in(weighted, out, out_weights)};
                        return exchange(of, its, rank, said).make(of, weighted, info, made);
                      });
  });
}

}  // namespace plait::topology
