#include "topology/graph.hpp"

#include <algorithm>
#include <numeric>

namespace plait::topology {

std::vector<int> count_up(std::size_t n) {
  std::vector<int> all(n);
  std::iota(all.begin(), all.end(), 0);
  return all;
}

int Grid::cells() const noexcept {
  int all = 1;
  for (const int d : dims) all *= d;
  return all;
}

std::vector<int> Grid::place(int cell) const {
  std::vector<int> at(dims.size());
  for (std::size_t i = dims.size(); i-- > 0; cell /= dims[i]) at[i] = cell % dims[i];
  return at;
}

std::vector<Offset> nearest(const Grid& grid) {
  std::vector<Offset> all;
  for (std::size_t i = 0; i < grid.dims.size(); ++i) {
    for (const int step : {-1, 1}) {
      Offset o{std::vector<int>(grid.dims.size(), 0)};
      o.by[i] = step;
      all.push_back(std::move(o));
    }
  }
  return all;
}

Graph::Graph(const Grid& grid, std::span<const Offset> stencil, int vertices) {
  std::vector<Arrow> arrows;
  const int n = grid.cells();
  arrows.reserve(static_cast<std::size_t>(n) * stencil.size());
  for (int cell = 0; cell < n; ++cell) {
    const std::vector<int> at = grid.place(cell);
    for (const Offset& o : stencil) {
      int to = 0;
      for (std::size_t i = 0; i < at.size() && to >= 0; ++i) {
        const int d = grid.dims[i];
        int x = at[i] + o.by[i];
        if (grid.periodic[i]) x = ((x % d) + d) % d;
        to = x < 0 || x >= d ? -1 : to * d + x;
      }
      if (to >= 0) arrows.push_back({cell, to, o.bytes});
    }
  }
  *this = Graph(vertices, arrows);
}

Graph::Graph(int vertices, std::span<const Arrow> arrows) {
  const auto n = static_cast<std::size_t>(vertices);
  // Both ways, sorted by where they begin.
  std::vector<std::size_t> end(n + 1, 0);
  const auto each = [&](auto body) {
    for (const Arrow& a : arrows) {
      if (a.from == a.to || a.bytes == 0) continue;
      body(a.from, a.to, a.bytes);
      body(a.to, a.from, a.bytes);
    }
  };
  each([&](int from, int, std::int64_t) { ++end[static_cast<std::size_t>(from) + 1]; });
  std::partial_sum(end.begin(), end.end(), end.begin());
  std::vector<Edge> all(end.back());
  std::vector<std::size_t> next(end.begin(), end.end() - 1);
  each([&](int from, int to, std::int64_t bytes) { all[next[static_cast<std::size_t>(from)]++] = {to, bytes}; });
  // Those between the same two are one.
  edges_.reserve(all.size());
  first_.reserve(n + 1);
  for (std::size_t v = 0; v < n; ++v) {
    const std::span<Edge> its(all.data() + end[v], all.data() + end[v + 1]);
    std::ranges::sort(its, {}, &Edge::to);
    for (const Edge& e : its) {
      if (edges_.size() > first_.back() && edges_.back().to == e.to) {
        edges_.back().bytes += e.bytes;
      } else {
        edges_.push_back(e);
      }
    }
    first_.push_back(edges_.size());
  }
}

Graph Graph::part(std::span<const int> vertices, std::span<int> number) const {
  for (std::size_t i = 0; i < vertices.size(); ++i) number[static_cast<std::size_t>(vertices[i])] = static_cast<int>(i);
  Graph result;
  result.first_.reserve(vertices.size() + 1);
  for (const int v : vertices) {
    for (const Edge& e : edges(v)) {
      if (const int to = number[static_cast<std::size_t>(e.to)]; to >= 0) result.edges_.push_back({to, e.bytes});
    }
    result.first_.push_back(result.edges_.size());
  }
  for (const int v : vertices) number[static_cast<std::size_t>(v)] = -1;
  return result;
}

std::int64_t Graph::cut(std::span<const int> part_of) const noexcept {
  std::int64_t twice = 0;
  for (int v = 0; v < vertices(); ++v) {
    for (const Edge& e : edges(v)) {
      if (part_of[static_cast<std::size_t>(v)] != part_of[static_cast<std::size_t>(e.to)]) twice += e.bytes;
    }
  }
  return twice / 2;
}

}  // namespace plait::topology
