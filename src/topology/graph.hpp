// Who sends how much to whom: the graph that a program describes by a grid and a stencil, or by lists of neighbours. No MPI.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace plait::topology {

/// 0, 1, 2 and so on: so many.
[[nodiscard]] std::vector<int> count_up(std::size_t n);

/// Each cell sends to the cell that lies this far away, in cells of each dimension.
struct Offset {
  std::vector<int> by;
  std::int64_t bytes = 1;
};

/// Cells are numbered with the last dimension fastest, as MPI's ranks of a Cartesian communicator are.
struct Grid {
  std::vector<int> dims;
  std::vector<char> periodic;  ///< of each dimension

  [[nodiscard]] int cells() const noexcept;
  [[nodiscard]] std::vector<int> place(int cell) const;
};

/// To both neighbours in each dimension.
[[nodiscard]] std::vector<Offset> nearest(const Grid& grid);

struct Edge {
  int to;
  std::int64_t bytes;  ///< both ways together
};

/// Undirected, without loops: of two vertices there is one edge, which both have.
class Graph {
 public:
  Graph() = default;
  /// Vertices behind the grid's cells, up to `vertices`, have no edges.
  Graph(const Grid& grid, std::span<const Offset> stencil, int vertices);
  Graph(const Grid& grid, std::span<const Offset> stencil) : Graph(grid, stencil, grid.cells()) {}
  struct Arrow {
    int from, to;
    std::int64_t bytes;
  };
  Graph(int vertices, std::span<const Arrow> arrows);

  [[nodiscard]] int vertices() const noexcept { return static_cast<int>(first_.size()) - 1; }
  [[nodiscard]] std::span<const Edge> edges(int vertex) const noexcept {
    const auto v = static_cast<std::size_t>(vertex);
    return {edges_.data() + first_[v], edges_.data() + first_[v + 1]};
  }
  [[nodiscard]] bool has_edges() const noexcept { return !edges_.empty(); }
  /// The vertices named alone, numbered as they come. `number` is room for a number of each vertex of the whole graph: -1 before and after,
  /// so that many small parts cost no more than the graph itself.
  [[nodiscard]] Graph part(std::span<const int> vertices, std::span<int> number) const;
  /// Bytes between vertices of different parts.
  [[nodiscard]] std::int64_t cut(std::span<const int> part_of) const noexcept;

 private:
  std::vector<std::size_t> first_{0};
  std::vector<Edge> edges_;
};

}  // namespace plait::topology
