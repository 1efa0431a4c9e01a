// plait-topology: counts what leaves nodes, sockets and caches for `plait topology`, as ranks are and reordered. Reads JSON:
//
//   {"dims": [2, 8], "periodic": [false, false], "stencil": [{"by": [0, 1], "bytes": 1}, ...],
//    "maps": [[[node, socket, cache] of each rank], ...]}
//
// and prints {"maps": [COUNTS of each map], "reordered": COUNTS of the first one's ranks in a better order, and "method"}. COUNTS are
// "leaves": [bytes that leave nodes, sockets, caches], "heaviest": what the node sends and receives that has most, "rank_of": [the rank of
// each cell].
#include <algorithm>
#include <cstdint>
#include <exception>
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
  const auto maps = asked.at("maps").get<std::vector<std::vector<Where>>>();
  const std::vector<Where>& first = maps.at(0);
  const Graph graph(shape.grid, shape.stencil, static_cast<int>(first.size()));
  std::vector<int> as_it_is(first.size());
  std::iota(as_it_is.begin(), as_it_is.end(), 0);
  json all;
  for (const std::vector<Where>& map : maps) all["maps"].push_back(counts(graph, as_it_is, map));
  const Answer found = place(graph, shape, first);
  all["reordered"] = counts(graph, found.rank_of, first);
  all["reordered"]["method"] = found.method;
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
