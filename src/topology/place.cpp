#include "topology/place.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "topology/metis.hpp"
#include "topology/orders.hpp"
#include "topology/partition.hpp"

namespace plait::topology {
namespace {

constexpr std::string_view kAsItIs = "as it is";

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
      : graph_(graph),
        where_(where),
        as_it_is_(count_up(index(graph.vertices()))),
        rank_of_(as_it_is_.size()),
        number_(as_it_is_.size(), -1) {
    if (!shape || shape->grid.dims.empty()) return;
    const std::vector<int> sizes = sizes_of(groups_of(as_it_is_, where, node));
    for (const Method& m : methods()) {
      Order order = m.order(shape->grid, shape->stencil, sizes);
      if (order.empty()) continue;
      std::vector<int> turn(as_it_is_);  // vertices behind the grid's cells come last
      for (std::size_t i = 0; i < order.size(); ++i) turn[index(order[i])] = static_cast<int>(i);
      orders_.push_back({m.name, std::move(turn)});
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

  /// Takes no longer than its vertices and their edges want: there may be as many groups to choose for as ranks.
  [[nodiscard]] Candidate choose(const std::vector<int>& vertices, const std::vector<std::vector<int>>& groups, Level level) {
    const std::vector<int> sizes = sizes_of(groups);
    const std::vector<int> in_turn = count_up(vertices.size());
    // Of single ranks each is as good as another.
    if (std::ranges::max(sizes) == 1) return {cut_up(in_turn, sizes), 0, kAsItIs};
    const bool is_all = vertices.size() == rank_of_.size();
    const Graph some = is_all ? Graph() : graph_.part(vertices, number_);
    const Graph& part = is_all ? graph_ : some;
    if (!part.has_edges()) return {cut_up(in_turn, sizes), 0, kAsItIs};
    const auto count = static_cast<int>(sizes.size());
    const std::int64_t share = graph_.vertices() / static_cast<std::int64_t>(vertices.size());
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
    consider("in turn", cut_up(in_turn, sizes));
    if (all.front().cut == 0) return std::move(all.front());
    for (const Turns& o : orders_) consider(o.method, cut_up(in_order(vertices, o.turn), sizes));
    if (Parts parts = level == node ? by_metis(part, sizes) : Parts{}; !parts.empty()) {
      even_out(part, parts, sizes);
      consider("METIS", std::move(parts));
    }
    if (vertices.size() <= kSmall || all.back().method != "METIS") consider("grown", grow(part, sizes));

    // The best two are improved: which of them ends best cannot be told before.
    std::ranges::stable_sort(all, {}, &Candidate::cut);
    all.resize(std::min(all.size(), kImproved));
    for (Candidate& c : all) {
      improve(part, c.parts, count, kEdges / share);
      const std::int64_t before = std::exchange(c.cut, part.cut(c.parts));
      if (c.method == kAsItIs && c.cut < before) c.method = "exchanges";
    }
    return std::move(*std::ranges::min_element(all, {}, &Candidate::cut));
  }

  /// Places in a list of vertices, sorted by the vertices' turns.
  [[nodiscard]] static std::vector<int> in_order(const std::vector<int>& vertices, const std::vector<int>& turn) {
    std::vector<int> here = count_up(vertices.size());
    if (vertices.size() == turn.size()) {
      for (std::size_t i = 0; i < turn.size(); ++i) here[index(turn[index(vertices[i])])] = static_cast<int>(i);
    } else {
      std::ranges::sort(here, {}, [&](int i) { return turn[index(vertices[index(i)])]; });
    }
    return here;
  }

  struct Turns {
    std::string_view method;
    std::vector<int> turn;  ///< of each vertex
  };

  static constexpr std::size_t kImproved = 2;
  // In all nodes together, and in all sockets, no more is looked at than for the choice of nodes.
  static constexpr std::int64_t kWays = 50'000;
  static constexpr std::int64_t kEdges = 600'000;  ///< looked at to improve one
  static constexpr std::size_t kSmall = 512;       ///< so few vertices are grown beside METIS, too

  const Graph& graph_;
  std::span<const Where> where_;
  std::vector<Turns> orders_;
  std::vector<int> as_it_is_;
  std::vector<int> rank_of_;
  std::vector<int> number_;  ///< room for Graph::part()
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
