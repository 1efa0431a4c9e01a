#include "topology/choice.hpp"

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <new>

#include "base/settings.hpp"

namespace plait::topology {
namespace {

/// Of a graph, both ways together.
std::int64_t bytes(const Graph& graph) {
  std::int64_t twice = 0;
  for (int v = 0; v < graph.vertices(); ++v) {
    for (const Edge& e : graph.edges(v)) twice += e.bytes;
  }
  return twice / 2;
}

constinit std::atomic<bool> is_agreed{false};
constinit std::atomic<Wishes> agreed{Wishes{}};

}  // namespace

// MPI_Init is one thread's: relaxed.
void agree_on(Wishes wishes) noexcept {
  agreed.store(wishes, std::memory_order_relaxed);
  is_agreed.store(true, std::memory_order_relaxed);
}

Wishes own_wishes() noexcept { return {settings::text(settings::Id::reorder) == "no", settings::flag(settings::Id::report)}; }

Wishes wishes() noexcept {
  return is_agreed.load(std::memory_order_relaxed) ? agreed.load(std::memory_order_relaxed) : Wishes{own_wishes().stay, false};
}

std::string report(std::string_view call, bool reordered, const Wanted& wanted, std::span<const Where> ranks, const Answer& answer) {
  std::string line = "plait: ";
  line += call;
  if (wanted.shape) {
    std::string_view before = " of ";
    for (const int d : wanted.shape->grid.dims) {
      line += before;
      line += std::to_string(d);
      before = " x ";
    }
  }
  const Cost stands = cost(wanted.graph, count_up(ranks.size()), ranks);
  std::size_t level = node;
  while (level + 1 < kLevels && answer.cost[level] == stands[level]) ++level;
  const bool better = answer.cost[level] < stands[level];
  if (!better) level = node;
  constexpr std::array kNames{"node", "socket", "cache"};
  line += wanted.shape ? ": " : ": weight ";
  line += std::to_string(stands[level]) + " of " + std::to_string(bytes(wanted.graph));
  line += std::string(wanted.shape ? " messages leave their " : " leaves its ") + kNames[level];
  if (!better) return line + ", and no order is better";
  line += reordered ? ", reordered " : ", and reordered it would be ";
  return line + std::to_string(answer.cost[level]) + (level == node ? " (" + std::string(answer.method) + ")" : "");
}

std::vector<int> choose(std::string_view call, bool reorder, std::span<const Spot> spots, const std::function<Wanted()>& describe) {
  std::vector<int> vertices = count_up(spots.size());
  try {
    const Wanted wanted = describe();
    const std::vector<Where> ranks = where(spots);
    const Answer answer = place(wanted.graph, wanted.shape, ranks);
    if (wishes().report) std::fprintf(stderr, "%s\n", report(call, reorder, wanted, ranks, answer).c_str());
    if (!reorder) return vertices;
    for (int v = 0; const int rank : answer.rank_of) vertices[static_cast<std::size_t>(rank)] = v++;
    return vertices;
  } catch (const std::bad_alloc&) {
    return vertices;
  }
}

}  // namespace plait::topology
