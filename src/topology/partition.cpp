#include "topology/partition.hpp"

#include <algorithm>
#include <array>
#include <compare>
#include <limits>
#include <map>
#include <queue>
#include <utility>

namespace plait::topology {
namespace {

constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::min();

/// Two parts exchange vertices: from both in turn the one whose move saves most, also where it costs for now; then what came after the best
/// moment is undone. As B. Kernighan and S. Lin (1970), with the queues of C. Fiduccia and R. Mattheyses (1982).
class Exchange {
 public:
  Exchange(const Graph& graph, Parts& parts, std::int64_t budget)
      : graph_(graph), parts_(parts), left_(budget), gain_(parts.size(), 0), entered_(parts.size(), 0), moved_(parts.size(), 0) {}

  /// Of a and b, beginning at vertices that have neighbours in the other: has it saved anything?
  bool run(std::array<int, 2> pair, std::span<const int> border) {
    pair_ = pair;
    ++round_;
    moves_.clear();
    for (auto& q : queues_) q = {};
    for (const int v : border) {
      if (of(v) < 2) enter(v);  // some have left both since the border was drawn
    }
    std::int64_t saved = 0;
    std::int64_t best = 0;
    std::size_t kept = 0;
    while (moves_.size() < kept + kPatience && left_ > 0) {
      for (std::size_t side = 0; side < 2; ++side) {
        const int v = take(side);
        if (v < 0) {
          undo(kept);  // also a move that has none in return, so that sizes stay
          return best > 0;
        }
        saved += gain_[index(v)];
        move(v, side);
      }
      if (saved <= best) continue;
      best = saved;
      kept = moves_.size();
    }
    undo(kept);
    return best > 0;
  }
  [[nodiscard]] bool is_tired() const noexcept { return left_ <= 0; }

 private:
  static constexpr std::size_t kPatience = 64;  ///< moves that save nothing, one after the other
  struct Entry {
    std::int64_t gain;
    int serial;  ///< of equal gains the latest first: what is moved stays together (L. Hagen, D. Huang and A. Kahng, 1997)
    int vertex;
    auto operator<=>(const Entry&) const = default;
  };

  /// Which of the two a vertex is in; 2 for another.
  [[nodiscard]] std::size_t of(int v) const noexcept {
    const int part = parts_[index(v)];
    return part == pair_[0] ? 0 : part == pair_[1] ? 1 : 2;
  }
  void enter(int v) {
    if (entered_[index(v)] == round_) return;
    entered_[index(v)] = round_;
    const std::size_t here = of(v);
    std::int64_t gain = 0;
    for (const Edge& e : graph_.edges(v)) {
      const std::size_t there = of(e.to);
      if (there < 2) gain += there == here ? -e.bytes : e.bytes;
    }
    left_ -= static_cast<std::int64_t>(graph_.edges(v).size());
    gain_[index(v)] = gain;
    queues_[here].push({gain, ++serial_, v});
  }
  int take(std::size_t side) {
    auto& queue = queues_[side];
    while (!queue.empty()) {
      const Entry best = queue.top();
      queue.pop();
      if (moved_[index(best.vertex)] != round_ && best.gain == gain_[index(best.vertex)]) return best.vertex;
    }
    return -1;
  }
  void move(int v, std::size_t from) {
    moved_[index(v)] = round_;
    moves_.emplace_back(v, pair_[from]);
    parts_[index(v)] = pair_[1 - from];
    for (const Edge& e : graph_.edges(v)) {
      const int w = e.to;
      const std::size_t side = of(w);
      if (side == 2 || moved_[index(w)] == round_) continue;
      if (entered_[index(w)] != round_) {
        enter(w);
        continue;
      }
      // One that stays where v was would save it by following; one where v is now would lose it.
      gain_[index(w)] += side == from ? 2 * e.bytes : -2 * e.bytes;
      queues_[side].push({gain_[index(w)], ++serial_, w});
    }
    left_ -= static_cast<std::int64_t>(graph_.edges(v).size());
  }
  void undo(std::size_t kept) {
    for (; moves_.size() > kept; moves_.pop_back()) parts_[index(moves_.back().first)] = moves_.back().second;
  }

  const Graph& graph_;
  Parts& parts_;
  std::int64_t left_;  ///< edges that it may still look at
  std::array<int, 2> pair_{};
  int round_ = 0;
  int serial_ = 0;
  std::vector<std::int64_t> gain_;
  std::vector<int> entered_, moved_;  ///< in which round
  std::array<std::priority_queue<Entry>, 2> queues_;
  std::vector<std::pair<int, int>> moves_;  ///< and where each was
};

using Pair = std::array<int, 2>;

/// Of each two parts between which there are edges the vertices that have these.
std::vector<std::pair<Pair, std::vector<int>>> borders(const Graph& graph, const Parts& parts, int count) {
  std::vector<std::pair<std::int64_t, int>> all;  // a pair as one number, which is sorted faster
  std::vector<int> seen(index(count), -1);        // the last vertex that has an edge there
  for (int v = 0; v < graph.vertices(); ++v) {
    const int here = parts[index(v)];
    for (const Edge& e : graph.edges(v)) {
      const int there = parts[index(e.to)];
      if (here == there || std::exchange(seen[index(there)], v) == v) continue;
      all.emplace_back(std::int64_t{std::min(here, there)} * count + std::max(here, there), v);
    }
  }
  std::ranges::sort(all);
  std::vector<std::pair<Pair, std::vector<int>>> found;
  for (const auto& [number, v] : all) {
    const Pair pair{static_cast<int>(number / count), static_cast<int>(number % count)};
    if (found.empty() || found.back().first != pair) found.push_back({pair, {}});
    found.back().second.push_back(v);
  }
  return found;
}

}  // namespace

Parts cut_up(std::span<const int> order, std::span<const int> sizes) {
  Parts parts(order.size());
  std::size_t at = 0;
  for (std::size_t p = 0; p < sizes.size(); ++p) {
    for (int i = 0; i < sizes[p]; ++i) parts[index(order[at++])] = static_cast<int>(p);
  }
  return parts;
}

namespace {

/// Parts that are too large give vertices to those that have room.
class Evening {
 public:
  Evening(const Graph& graph, Parts& parts, std::span<const int> sizes)
      : graph_(graph), parts_(parts), room_(sizes.begin(), sizes.end()), bytes_(sizes.size(), 0) {
    for (const int p : parts) --room_[index(p)];
  }

  void run() {
    std::vector<std::vector<int>> too_many(room_.size());
    for (int v = 0; v < graph_.vertices(); ++v) {
      if (const std::size_t p = index(parts_[index(v)]); room_[p] < 0) too_many[p].push_back(v);
    }
    for (std::size_t p = 0; p < too_many.size(); ++p) give(static_cast<int>(p), too_many[p]);
  }

 private:
  /// To the part where it costs least. The bytes that this saves; less than none where it costs.
  struct Move {
    std::int64_t saved;
    int vertex, to;
    bool operator<(const Move& other) const noexcept { return saved != other.saved ? saved < other.saved : vertex > other.vertex; }
  };

  void give(int from, const std::vector<int>& vertices) {
    std::priority_queue<Move> queue;
    for (const int v : vertices) queue.push(best_of(v));
    while (!queue.empty()) {
      const Move best = queue.top();
      queue.pop();
      if (parts_[index(best.vertex)] != from) continue;
      // What a vertex would save may have become less since it was queued, as parts fill up. Where it has become more it is queued again.
      if (const Move now = best_of(best.vertex); now.saved != best.saved || now.to != best.to) {
        queue.push(now);
        continue;
      }
      parts_[index(best.vertex)] = best.to;
      ++room_[index(from)];
      --room_[index(best.to)];
      if (room_[index(from)] == 0) break;
      for (const Edge& e : graph_.edges(best.vertex)) {
        if (parts_[index(e.to)] == from) queue.push(best_of(e.to));
      }
    }
  }

  Move best_of(int v) {
    const std::size_t from = index(parts_[index(v)]);
    while (room_[first_with_room_] <= 0) ++first_with_room_;  // none gets room again before it
    for (const Edge& e : graph_.edges(v)) bytes_[index(parts_[index(e.to)])] += e.bytes;
    std::size_t to = first_with_room_;
    for (const Edge& e : graph_.edges(v)) {
      const std::size_t p = index(parts_[index(e.to)]);
      if (room_[p] > 0 && (bytes_[p] > bytes_[to] || (bytes_[p] == bytes_[to] && p < to))) to = p;
    }
    const std::int64_t saved = bytes_[to] - bytes_[from];
    for (const Edge& e : graph_.edges(v)) bytes_[index(parts_[index(e.to)])] = 0;
    return {saved, v, static_cast<int>(to)};
  }

  const Graph& graph_;
  Parts& parts_;
  std::vector<int> room_;            ///< below 0: so many too many
  std::vector<std::int64_t> bytes_;  ///< from one vertex to each part
  std::size_t first_with_room_ = 0;
};

}  // namespace

void even_out(const Graph& graph, Parts& parts, std::span<const int> sizes) { Evening(graph, parts, sizes).run(); }

void improve(const Graph& graph, Parts& parts, int count, std::int64_t budget) {
  Exchange exchange(graph, parts, budget);
  // When a part was last changed, and when a pair was last tried, counted in tries.
  std::vector<int> changed(index(count), 0);
  std::map<Pair, int> tried;
  int tries = 0;
  for (bool better = true; better && !exchange.is_tired();) {
    better = false;
    for (const auto& [pair, border] : borders(graph, parts, count)) {
      const auto last = tried.find(pair);
      if (last != tried.end() && last->second > changed[index(pair[0])] && last->second > changed[index(pair[1])]) continue;
      if (exchange.is_tired()) return;
      ++tries;
      if (exchange.run(pair, border)) {
        better = true;
        changed[index(pair[0])] = changed[index(pair[1])] = tries;
      }
      tried[pair] = ++tries;
    }
  }
}

namespace {

class Growing {
 public:
  explicit Growing(const Graph& graph)
      : graph_(graph), parts_(index(graph.vertices()), -1), inside_(parts_.size(), 0), outside_(parts_.size(), 0), at_(parts_.size()) {
    queue_.reserve(parts_.size());
    for (int v = 0; v < graph.vertices(); ++v) {
      for (const Edge& e : graph.edges(v)) outside_[index(v)] += e.bytes;
      at_[index(v)] = queue_.size();
      queue_.push_back(entry_of(v));
      rise(index(v));
    }
  }

  Parts run(std::span<const int> sizes) {
    for (std::size_t p = 0; p < sizes.size(); ++p) {
      for (int i = 0; i < sizes[p]; ++i) take(static_cast<int>(p));
      for (const int v : touched_) {
        inside_[index(v)] = 0;
        if (parts_[index(v)] >= 0) continue;
        put(at_[index(v)], entry_of(v));
        sink(at_[index(v)]);
      }
      touched_.clear();
    }
    return std::move(parts_);
  }

 private:
  /// Most bytes to the part, then the fewest to what is left; of equal ones the first vertex.
  struct Entry {
    std::int64_t gain, inside;
    int vertex;
    [[nodiscard]] bool is_before(const Entry& other) const noexcept {
      if (gain != other.gain) return gain > other.gain;
      if (inside != other.inside) return inside > other.inside;
      return vertex < other.vertex;
    }
  };

  [[nodiscard]] Entry entry_of(int v) const { return {2 * inside_[index(v)] - outside_[index(v)], inside_[index(v)], v}; }

  void take(int part) {
    const int best = queue_.front().vertex;
    parts_[index(best)] = part;
    put(0, queue_.back());
    queue_.pop_back();
    sink(0);
    for (const Edge& e : graph_.edges(best)) {
      const std::size_t v = index(e.to);
      if (parts_[v] >= 0) continue;
      if (inside_[v] == 0) touched_.push_back(e.to);
      inside_[v] += e.bytes;
      outside_[v] -= e.bytes;
      put(at_[v], entry_of(e.to));
      rise(at_[v]);
    }
  }

  // A heap whose entries know where they are, so that they can change.
  void put(std::size_t at, const Entry& entry) {
    queue_[at] = entry;
    at_[index(entry.vertex)] = at;
  }
  void rise(std::size_t at) {
    const Entry entry = queue_[at];
    for (; at > 0 && entry.is_before(queue_[(at - 1) / 2]); at = (at - 1) / 2) put(at, queue_[(at - 1) / 2]);
    put(at, entry);
  }
  void sink(std::size_t at) {
    if (at >= queue_.size()) return;
    const Entry entry = queue_[at];
    for (std::size_t below = 2 * at + 1; below < queue_.size(); below = 2 * at + 1) {
      if (below + 1 < queue_.size() && queue_[below + 1].is_before(queue_[below])) ++below;
      if (!queue_[below].is_before(entry)) break;
      put(at, queue_[below]);
      at = below;
    }
    put(at, entry);
  }

  const Graph& graph_;
  Parts parts_;
  std::vector<std::int64_t> inside_;   ///< bytes to the part that grows
  std::vector<std::int64_t> outside_;  ///< bytes to vertices that have no part
  std::vector<int> touched_;           ///< that have bytes inside
  std::vector<Entry> queue_;           ///< of those that have no part
  std::vector<std::size_t> at_;        ///< in the queue
};

}  // namespace

Parts grow(const Graph& graph, std::span<const int> sizes) { return Growing(graph).run(sizes); }

namespace {

class Search {
 public:
  Search(const Graph& graph, std::span<const int> sizes)
      : graph_(graph), left_(sizes.begin(), sizes.end()), now_(index(graph.vertices()), -1) {}
  Parts run() {
    place(0, 0);
    return std::move(best_);
  }

 private:
  void place(int v, std::int64_t cut) {
    if (cut >= least_) return;
    if (v == graph_.vertices()) {
      least_ = cut;
      best_ = now_;
      return;
    }
    for (std::size_t p = 0; p < left_.size(); ++p) {
      if (left_[p] == 0) continue;
      std::int64_t more = 0;
      for (const Edge& e : graph_.edges(v)) {
        if (e.to < v && now_[index(e.to)] != static_cast<int>(p)) more += e.bytes;
      }
      --left_[p];
      now_[index(v)] = static_cast<int>(p);
      place(v + 1, cut + more);
      now_[index(v)] = -1;
      ++left_[p];
    }
  }

  const Graph& graph_;
  std::vector<int> left_;
  Parts now_, best_;
  std::int64_t least_ = std::numeric_limits<std::int64_t>::max();
};

}  // namespace

Parts try_all(const Graph& graph, std::span<const int> sizes, std::int64_t most) {
  constexpr int kMostVertices = 64;  // the search goes as deep
  double ways = 1;
  int left = graph.vertices();
  if (left > kMostVertices) return {};
  for (const int size : sizes) {
    for (int i = 0; i < size; ++i) ways *= static_cast<double>(left--) / (i + 1);
  }
  return ways <= static_cast<double>(most) ? Search(graph, sizes).run() : Parts{};
}

}  // namespace plait::topology
