#include "topology/place.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "topology/metis.hpp"
#include "topology/orders.hpp"
#include "topology/partition.hpp"

namespace plait::topology {
namespace {

constexpr std::string_view kAsItIs = "as it is";

std::size_t index(int i) { return static_cast<std::size_t>(i); }

std::vector<int> count_up(std::size_t n) {
  std::vector<int> all(n);
  std::iota(all.begin(), all.end(), 0);
  return all;
}

struct Candidate {
  Parts parts;
  std::int64_t cut;
  std::string_view method;
};

/// Ranks by the place that they share at a level, each group in the order of its first rank.
std::vector<std::vector<int>> groups_of(std::span<const int> ranks, std::span<const Where> where, Level level) {
  std::vector<std::vector<int>> groups;
  std::map<int, std::size_t> number;
  for (const int r : ranks) {
    const auto [at, is_new] = number.try_emplace(where[index(r)][level], groups.size());
    if (is_new) groups.emplace_back();
    groups[at->second].push_back(r);
  }
  return groups;
}

std::vector<int> sizes_of(const std::vector<std::vector<int>>& groups) {
  std::vector<int> sizes;
  sizes.reserve(groups.size());
  for (const auto& group : groups) sizes.push_back(static_cast<int>(group.size()));
  return sizes;
}

class Placing {
 public:
  Placing(const Graph& graph, const std::optional<Shape>& shape, std::span<const Where> where)
      : graph_(graph), where_(where), as_it_is_(count_up(index(graph.vertices()))), rank_of_(as_it_is_.size()) {
    if (!shape || shape->grid.dims.empty()) return;
    const std::vector<int> sizes = sizes_of(groups_of(as_it_is_, where, node));
    for (const Method& m : methods()) {
      Order order = m.order(shape->grid, shape->stencil, sizes);
      if (order.empty()) continue;
      for (auto v = static_cast<int>(order.size()); v < graph.vertices(); ++v) order.push_back(v);
      orders_.emplace_back(m.name, std::move(order));
    }
  }

  Answer run() {
    divide(as_it_is_, as_it_is_, node);
    const Cost before = cost(graph_, as_it_is_, where_);
    const Cost after = cost(graph_, rank_of_, where_);
    if (after < before) return {std::move(rank_of_), after, method_};
    return {std::move(as_it_is_), before, kAsItIs};
  }

 private:
  /// These vertices to these ranks, which share all places above the level.
  void divide(const std::vector<int>& vertices, const std::vector<int>& ranks, std::size_t level) {
    if (level == kLevels) {
      for (std::size_t i = 0; i < vertices.size(); ++i) rank_of_[index(vertices[i])] = ranks[i];
      return;
    }
    const std::vector<std::vector<int>> groups = groups_of(ranks, where_, static_cast<Level>(level));
    if (groups.size() == 1) return divide(vertices, ranks, level + 1);
    const Candidate chosen = choose(vertices, groups, static_cast<Level>(level));
    if (level == node) method_ = chosen.method;
    std::vector<std::vector<int>> members(groups.size());
    for (std::size_t i = 0; i < vertices.size(); ++i) members[index(chosen.parts[i])].push_back(vertices[i]);
    for (std::size_t g = 0; g < groups.size(); ++g) divide(members[g], groups[g], level + 1);
  }

  [[nodiscard]] Candidate choose(const std::vector<int>& vertices, const std::vector<std::vector<int>>& groups, Level level) const {
    const Graph part = vertices.size() == rank_of_.size() ? graph_ : graph_.part(vertices);
    const std::vector<int> sizes = sizes_of(groups);
    const auto count = static_cast<int>(sizes.size());
    const std::int64_t share = graph_.vertices() / static_cast<std::int64_t>(vertices.size());
    // Of single ranks each is as good as another.
    if (!part.has_edges() || std::ranges::max(sizes) == 1) return {cut_up(count_up(vertices.size()), sizes), 0, kAsItIs};
    if (Parts best = try_all(part, sizes, kWays / share); !best.empty()) return {std::move(best), 0, "all ways"};

    std::vector<Candidate> all;
    const auto consider = [&](std::string_view method, Parts parts) {
      const std::int64_t cut = part.cut(parts);
      all.push_back({std::move(parts), cut, method});
    };
    if (level == node) {
      Parts now(vertices.size());
      for (std::size_t g = 0; g < groups.size(); ++g) {
        for (const int r : groups[g]) now[index(r)] = static_cast<int>(g);
      }
      consider(kAsItIs, std::move(now));
    }
    consider("in turn", cut_up(count_up(vertices.size()), sizes));
    std::vector<int> number(rank_of_.size(), -1);
    for (std::size_t i = 0; i < vertices.size(); ++i) number[index(vertices[i])] = static_cast<int>(i);
    for (const auto& [name, order] : orders_) {
      std::vector<int> here;
      here.reserve(vertices.size());
      for (const int v : order) {
        if (number[index(v)] >= 0) here.push_back(number[index(v)]);
      }
      consider(name, cut_up(here, sizes));
    }
    if (Parts parts = level == node ? by_metis(part, sizes) : Parts{}; !parts.empty()) {
      even_out(part, parts, sizes);
      consider("METIS", std::move(parts));
    }
    if (vertices.size() <= (all.back().method == "METIS" ? kSmall : kLarge)) consider("grown", grow(part, sizes));

    // The best two are improved: which of them ends best cannot be told before.
    std::ranges::stable_sort(all, {}, &Candidate::cut);
    all.resize(std::min(all.size(), kImproved));
    for (Candidate& c : all) {
      improve(part, c.parts, count, kEdges / share);
      c.cut = part.cut(c.parts);
    }
    return std::move(*std::ranges::min_element(all, {}, &Candidate::cut));
  }

  static constexpr std::size_t kImproved = 2;
  // In all nodes together, and in all sockets, no more is looked at than for the choice of nodes.
  static constexpr std::int64_t kWays = 50'000;
  static constexpr std::int64_t kEdges = 600'000;  ///< looked at to improve one
  // Growing takes the square of the vertices: no time for the first number, 20 ms for the second.
  static constexpr std::size_t kSmall = 512;
  static constexpr std::size_t kLarge = 4096;

  const Graph& graph_;
  std::span<const Where> where_;
  std::vector<std::pair<std::string_view, Order>> orders_;
  std::vector<int> as_it_is_;
  std::vector<int> rank_of_;
  std::string_view method_ = kAsItIs;
};

}  // namespace

Cost cost(const Graph& graph, std::span<const int> rank_of, std::span<const Where> ranks) {
  Cost sum{};
  Parts parts(index(graph.vertices()));
  for (std::size_t level = 0; level < kLevels; ++level) {
    for (std::size_t v = 0; v < parts.size(); ++v) parts[v] = ranks[index(rank_of[v])][level];
    sum[level] = graph.cut(parts);
  }
  return sum;
}

Answer place(const Graph& graph, const std::optional<Shape>& shape, std::span<const Where> ranks) {
  return Placing(graph, shape, ranks).run();
}

}  // namespace plait::topology
