// plait-topology: counts what leaves nodes, sockets and caches for `plait topology`, as ranks are and reordered. Reads JSON:
//
//   {"dims": [2, 8], "periodic": [false, false], "stencil": [{"by": [0, 1], "bytes": 1}, ...],
//    "maps": [[[node, socket, cache] of each rank], ...]}
//
// and prints for each map {"stands": COUNTS, "reordered": COUNTS and "method", "rank_of": [the rank of each cell]}, where COUNTS are
// "leaves": [bytes that leave nodes, sockets, caches] and "heaviest": what the node sends and receives that has most.
#include <cstdint>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <vector>

#include "topology/place.hpp"

namespace {

using nlohmann::json;
using namespace plait::topology;

std::int64_t heaviest(const Graph& graph, const std::vector<int>& rank_of, const std::vector<Where>& ranks) {
  const auto node_of = [&](int v) { return ranks[static_cast<std::size_t>(rank_of[static_cast<std::size_t>(v)])][node]; };
  std::map<int, std::int64_t> bytes;
  std::int64_t most = 0;
  for (int v = 0; v < graph.vertices(); ++v) {
    for (const Edge& e : graph.edges(v)) {
      if (node_of(v) != node_of(e.to)) most = std::max(most, bytes[node_of(v)] += e.bytes);
    }
  }
  return most;
}

json counts(const Graph& graph, const std::vector<int>& rank_of, const std::vector<Where>& ranks) {
  return {{"leaves", cost(graph, rank_of, ranks)}, {"heaviest", heaviest(graph, rank_of, ranks)}, {"rank_of", rank_of}};
}

json answer(const json& asked) {
  Shape shape;
  shape.grid.dims = asked.at("dims").get<std::vector<int>>();
  for (const bool p : asked.at("periodic")) shape.grid.periodic.push_back(p ? 1 : 0);
  for (const json& o : asked.at("stencil"))
    shape.stencil.push_back({o.at("by").get<std::vector<int>>(), o.at("bytes").get<std::int64_t>()});
  json all = json::array();
  for (const json& map : asked.at("maps")) {
    const auto ranks = map.get<std::vector<Where>>();
    const Graph graph(shape.grid, shape.stencil, static_cast<int>(ranks.size()));
    std::vector<int> as_it_is(ranks.size());
    std::iota(as_it_is.begin(), as_it_is.end(), 0);
    const Answer found = place(graph, shape, ranks);
    json reordered = counts(graph, found.rank_of, ranks);
    reordered["method"] = found.method;
    all.push_back({{"stands", counts(graph, as_it_is, ranks)}, {"reordered", std::move(reordered)}});
  }
  return all;
}

}  // namespace

int main() {
  try {
    std::cout << answer(json::parse(std::cin)) << "\n";
    return 0;
  } catch (const std::exception& e) {
    std::cerr << "plait-topology: " << e.what() << "\n";
    return 2;
  }
}
