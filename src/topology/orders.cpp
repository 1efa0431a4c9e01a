#include "topology/orders.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <map>
#include <numeric>
#include <optional>

namespace plait::topology {
namespace {

/// Cells from `begin` on, so many in each dimension.
struct Box {
  std::vector<int> begin, size;

  explicit Box(const Grid& grid) : begin(grid.dims.size(), 0), size(grid.dims) {}
  [[nodiscard]] int cells() const {
    return std::accumulate(size.begin(), size.end(), 1, [](int a, int b) { return a * b; });
  }
  /// The first `n` layers of a dimension, and the others.
  [[nodiscard]] std::array<Box, 2> split(std::size_t dimension, int n) const {
    std::array<Box, 2> halves{*this, *this};
    halves[0].size[dimension] = n;
    halves[1].begin[dimension] += n;
    halves[1].size[dimension] -= n;
    return halves;
  }
};

/// What goes through a face of one cell, by dimension.
std::vector<std::int64_t> through(const Grid& grid, std::span<const Offset> stencil) {
  std::vector<std::int64_t> bytes(grid.dims.size(), 0);
  for (const Offset& o : stencil) {
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] += std::abs(o.by[i]) * o.bytes;
  }
  return bytes;
}

/// What a cut across a dimension lets through, in a box.
std::int64_t cost_of_cut(const Box& box, std::size_t dimension, const std::vector<std::int64_t>& through) {
  return through[dimension] * (box.cells() / box.size[dimension]);
}

/// Dimensions, those first that are cheapest to cut.
std::vector<std::size_t> by_cost(const Box& box, const std::vector<std::int64_t>& through) {
  std::vector<std::size_t> dimensions(box.size.size());
  std::iota(dimensions.begin(), dimensions.end(), std::size_t{0});
  std::ranges::stable_sort(dimensions, {}, [&](std::size_t d) { return cost_of_cut(box, d, through); });
  return dimensions;
}

/// All cells of a box, the dimension named first slowest.
void walk(const Grid& grid, const Box& box, const std::vector<std::size_t>& slowest_first, Order& order) {
  std::vector<int> at(box.size.size(), 0);
  for (int left = box.cells(); left > 0; --left) {
    int cell = 0;
    for (std::size_t i = 0; i < at.size(); ++i) cell = cell * grid.dims[i] + box.begin[i] + at[i];
    order.push_back(cell);
    for (std::size_t i = slowest_first.size(); i-- > 0;) {
      const std::size_t d = slowest_first[i];
      if (++at[d] < box.size[d]) break;
      at[d] = 0;
    }
  }
}

// ---- nodecart

/// A way to write n as a product of divisors of the dimensions: the blocks between which least goes.
void choose_block(const Grid& grid, const std::vector<std::int64_t>& through, int n, std::size_t dimension, std::vector<int>& block,
                  std::optional<std::vector<int>>& best, double& least) {
  if (dimension == grid.dims.size()) {
    if (n != 1) return;
    double cut = 0;  // for each cell
    for (std::size_t i = 0; i < block.size(); ++i) {
      const int blocks = grid.dims[i] / block[i];
      // At an open end there is no neighbour.
      const int borders = blocks == 1 || !grid.periodic[i] ? blocks - 1 : blocks;
      cut += static_cast<double>(through[i]) * borders / grid.dims[i];
    }
    if (cut < least) {
      least = cut;
      best = block;
    }
    return;
  }
  for (int c = 1; c <= n; ++c) {
    if (n % c != 0 || grid.dims[dimension] % c != 0) continue;
    block[dimension] = c;
    choose_block(grid, through, n / c, dimension + 1, block, best, least);
  }
}

Order nodecart(const Grid& grid, std::span<const Offset> stencil, std::span<const int> nodes) {
  if (nodes.empty() || std::ranges::any_of(nodes, [&](int n) { return n != nodes.front(); })) return {};
  std::vector<int> block(grid.dims.size(), 1);
  std::optional<std::vector<int>> best;
  double least = std::numeric_limits<double>::infinity();
  choose_block(grid, through(grid, stencil), nodes.front(), 0, block, best, least);
  if (!best) return {};
  Grid blocks = grid;
  for (std::size_t i = 0; i < block.size(); ++i) blocks.dims[i] /= (*best)[i];
  std::vector<std::size_t> dimensions(grid.dims.size());
  std::iota(dimensions.begin(), dimensions.end(), std::size_t{0});
  Order order;
  for (int b = 0; b < blocks.cells(); ++b) {
    Box box(grid);
    box.begin = blocks.place(b);
    box.size = *best;
    for (std::size_t i = 0; i < block.size(); ++i) box.begin[i] *= (*best)[i];
    walk(grid, box, dimensions, order);
  }
  return order;
}

// ---- k-d tree: halves of halves, across whatever is cheapest to cut

void halve(const Grid& grid, const Box& box, const std::vector<std::int64_t>& through, Order& order) {
  if (box.cells() == 1) return walk(grid, box, {0}, order);
  for (const std::size_t d : by_cost(box, through)) {
    if (box.size[d] == 1) continue;
    for (const Box& half : box.split(d, box.size[d] / 2)) halve(grid, half, through, order);
    return;
  }
}

Order k_d_tree(const Grid& grid, std::span<const Offset> stencil, std::span<const int>) {
  Order order;
  halve(grid, Box(grid), through(grid, stencil), order);
  return order;
}

// ---- hyperplane: cut so that whole nodes are on either side

void cut_off_nodes(const Grid& grid, const Box& box, const std::vector<std::int64_t>& through, int ranks, Order& order) {
  const int cells = box.cells();
  const std::vector<std::size_t> dimensions = by_cost(box, through);
  if (cells > 2 * ranks) {
    for (const std::size_t d : dimensions) {
      const int layer = cells / box.size[d];
      // From the middle outwards.
      for (int n = box.size[d] / 2; n > 0; --n) {
        if (n * layer % ranks != 0) continue;
        for (const Box& half : box.split(d, n)) cut_off_nodes(grid, half, through, ranks, order);
        return;
      }
    }
  }
  walk(grid, box, dimensions, order);
}

/// Of nodes that differ the number that most ranks have.
int usual(std::span<const int> nodes) {
  std::map<int, std::int64_t> ranks_of;
  for (const int n : nodes) ranks_of[n] += n;
  int best = 1;
  std::int64_t most = 0;
  for (const int n : nodes) {
    if (const std::int64_t ranks = ranks_of[n]; ranks > most) {
      most = ranks;
      best = n;
    }
  }
  return best;
}

Order hyperplane(const Grid& grid, std::span<const Offset> stencil, std::span<const int> nodes) {
  Order order;
  cut_off_nodes(grid, Box(grid), through(grid, stencil), usual(nodes), order);
  return order;
}

// ---- stencil strips: strips about as wide as a node's ranks are when they lie in a cube, walked to and fro

Order stencil_strips(const Grid& grid, std::span<const Offset> stencil, std::span<const int> nodes) {
  const std::vector<std::int64_t> bytes = through(grid, stencil);
  const std::size_t count = grid.dims.size();
  // Along the longest one.
  const auto along = static_cast<std::size_t>(std::ranges::max_element(grid.dims) - grid.dims.begin());
  // A block whose sides are as the bytes through its faces lets least through.
  double scale = usual(nodes);
  for (const std::int64_t b : bytes) scale /= static_cast<double>(std::max<std::int64_t>(b, 1));
  scale = std::pow(scale, 1.0 / static_cast<double>(count));
  Grid strips = grid;
  for (std::size_t i = 0; i < count; ++i) {
    const double width = std::max(1.0, scale * static_cast<double>(std::max<std::int64_t>(bytes[i], 1)));
    strips.dims[i] = i == along ? 1 : std::clamp(static_cast<int>(std::lround(grid.dims[i] / width)), 1, grid.dims[i]);
  }
  std::vector<std::size_t> slowest_first{along};
  for (std::size_t i = 0; i < count; ++i) {
    if (i != along) slowest_first.push_back(i);
  }
  Order order;
  bool back = false;
  for (int s = 0; s < strips.cells(); ++s) {
    // The strips themselves to and fro, too: neighbours follow each other.
    std::vector<int> at = strips.place(s);
    for (std::size_t i = count, rest = static_cast<std::size_t>(s); i-- > 0;) {
      rest /= static_cast<std::size_t>(strips.dims[i]);
      if (rest % 2 != 0) at[i] = strips.dims[i] - 1 - at[i];
    }
    Box box(grid);
    for (std::size_t i = 0; i < count; ++i) {
      const int first = static_cast<int>(std::int64_t{grid.dims[i]} * at[i] / strips.dims[i]);
      box.begin[i] = first;
      box.size[i] = static_cast<int>(std::int64_t{grid.dims[i]} * (at[i] + 1) / strips.dims[i]) - first;
    }
    Order strip;
    walk(grid, box, slowest_first, strip);
    if (back) std::ranges::reverse(strip);
    order.insert(order.end(), strip.begin(), strip.end());
    back = !back;
  }
  return order;
}

constexpr std::array kMethods{Method{"nodecart", nodecart}, Method{"hyperplane", hyperplane}, Method{"k-d tree", k_d_tree},
                              Method{"stencil strips", stencil_strips}};

}  // namespace

std::span<const Method> methods() noexcept { return kMethods; }

}  // namespace plait::topology
