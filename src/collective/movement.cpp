// Collective calls that move data: barrier, broadcast, gather, scatter, allgather, alltoall.
//
// Between groups the lowest rank of each stands for it where all its ranks need the same data. Inside a group every
// rank copies from the buffer of the one that has it, all at once.
#include <algorithm>
#include <cstddef>
#include <memory>
#include <vector>

#include "collective/algorithms.hpp"

namespace plait::collective {

namespace {

/// The groups of a communicator as a binomial tree from `root`, and which rank speaks for each.
class Tree {
 public:
  Tree(const Collective& c, int root)
      : all_(*c.rank().all), root_(static_cast<std::uint32_t>(root)), root_group_(all_.group_of[root_]), groups_(count(all_)) {
    group_ = all_.group_of[static_cast<std::size_t>(c.me())];
  }

  [[nodiscard]] bool speaks(int rank) const { return speaker(group_) == rank; }
  [[nodiscard]] int own_speaker() const { return speaker(group_); }
  /// The speaker that is nearer to the root; -1 at the root's group.
  [[nodiscard]] int parent() const {
    const std::uint32_t place = here();
    return place == 0 ? -1 : speaker_at(place & (place - 1));
  }
  /// Those farther away, farthest trees first.
  [[nodiscard]] std::vector<int> children() const {
    std::vector<int> found;
    const std::uint32_t place = here();
    for (std::uint32_t bit = 1; place + bit < groups_ && (place & bit) == 0; bit *= 2) found.push_back(speaker_at(place + bit));
    std::ranges::reverse(found);
    return found;
  }
  [[nodiscard]] const std::vector<std::uint32_t>& here_ranks() const { return all_.ranks_of[group_]; }

 private:
  static std::uint32_t count(const Members& all) { return static_cast<std::uint32_t>(all.ranks_of.size()); }
  [[nodiscard]] std::uint32_t here() const { return (group_ + groups_ - root_group_) % groups_; }
  [[nodiscard]] int speaker_at(std::uint32_t place) const { return speaker((place + root_group_) % groups_); }
  [[nodiscard]] int speaker(std::uint32_t group) const {
    return static_cast<int>(group == root_group_ ? root_ : all_.ranks_of[group].front());
  }

  const Members& all_;
  std::uint32_t root_, root_group_, groups_, group_ = 0;
};

constinit const lane::Memory kNothing{};

}  // namespace

Steps barrier(Collective& c) {
  const Members& all = *c.rank().all;
  const std::uint32_t group = all.group_of[static_cast<std::size_t>(c.me())];
  const std::vector<std::uint32_t>& here = all.ranks_of[group];
  const auto groups = static_cast<std::uint32_t>(all.ranks_of.size());
  const auto speaker = static_cast<int>(here.front());
  if (c.me() != speaker) {
    c.send(speaker, kNothing);
    c.receive(speaker, kNothing);
    co_await c.all();
    co_return;
  }
  for (std::size_t i = 1; i < here.size(); ++i) c.receive(static_cast<int>(here[i]), kNothing);
  co_await c.all();
  for (std::uint32_t distance = 1; distance < groups; distance *= 2) {
    c.send(static_cast<int>(all.ranks_of[(group + distance) % groups].front()), kNothing);
    c.receive(static_cast<int>(all.ranks_of[(group + groups - distance) % groups].front()), kNothing);
    co_await c.all();
  }
  for (std::size_t i = 1; i < here.size(); ++i) c.send(static_cast<int>(here[i]), kNothing);
  co_await c.all();
}

Steps broadcast(Collective& c, lane::Memory data, int root) {
  const Tree tree(c, root);
  if (!tree.speaks(c.me())) {
    c.receive(tree.own_speaker(), data);
    co_await c.all();
    co_return;
  }
  if (const int parent = tree.parent(); parent >= 0) {
    c.receive(parent, data);
    co_await c.all();
  }
  for (const int child : tree.children()) c.send(child, data);
  for (const std::uint32_t rank : tree.here_ranks()) {
    if (static_cast<int>(rank) != c.me()) c.send(static_cast<int>(rank), data);
  }
  co_await c.all();
}

Steps gather(Collective& c, lane::Memory mine, Blocks all, int root, bool in_place) {
  if (c.me() != root) {
    c.send(root, mine);
    co_await c.all();
    co_return;
  }
  for (int r = 0; r < c.size(); ++r) {
    if (r != root) c.receive(r, all.block(r));
  }
  if (!in_place) copy(mine, all.block(root));
  co_await c.all();
}

Steps scatter(Collective& c, Blocks all, lane::Memory mine, int root, bool in_place) {
  if (c.me() != root) {
    c.receive(root, mine);
    co_await c.all();
    co_return;
  }
  // To other groups first: theirs takes longest.
  for (int i = 1; i < c.size(); ++i) {
    const int r = (root + i) % c.size();
    c.send(r, all.block(r));
  }
  if (!in_place) copy(all.block(root), mine);
  co_await c.all();
}

// ---- all to all have the same

namespace {

/// Each to each.
Steps exchange_all(Collective& c, Blocks all) {
  const lane::Memory own = all.block(c.me());
  for (int i = 1; i < c.size(); ++i) {
    const int from = (c.me() + c.size() - i) % c.size();
    c.receive(from, all.block(from));
  }
  for (int i = 1; i < c.size(); ++i) c.send((c.me() + i) % c.size(), own);
  co_await c.all();
}

/// The blocks of the ranks of one group to another group's speaker, who forwards what it has got to the next: a ring.
Steps pass_round(Collective& c, Blocks all) {
  const Members& members = *c.rank().all;
  const std::size_t groups = members.ranks_of.size();
  const std::size_t me = members.group_of[static_cast<std::size_t>(c.me())];
  const auto next = static_cast<int>(members.ranks_of[(me + 1) % groups].front());
  const auto before = static_cast<int>(members.ranks_of[(me + groups - 1) % groups].front());
  for (std::size_t i = 0; i + 1 < groups; ++i) {
    for (const std::uint32_t r : members.ranks_of[(me + 2 * groups - i - 1) % groups]) c.receive(before, all.block(static_cast<int>(r)));
    for (const std::uint32_t r : members.ranks_of[(me + groups - i) % groups]) c.send(next, all.block(static_cast<int>(r)));
    co_await c.all();
  }
}

/// By way of the speakers: the data passes between two groups once.
Steps allgather_by_speakers(Collective& c, Blocks all) {
  const Members& members = *c.rank().all;
  const std::vector<std::uint32_t>& here = members.ranks_of[members.group_of[static_cast<std::size_t>(c.me())]];
  const auto speaker = static_cast<int>(here.front());
  const auto there = [&](std::size_t r) { return members.group_of[r] != members.group_of[static_cast<std::size_t>(speaker)]; };
  // Those of the same group have each other's blocks directly.
  const lane::Memory own = all.block(c.me());
  for (const std::uint32_t r : here) {
    if (static_cast<int>(r) != c.me()) c.receive(static_cast<int>(r), all.block(static_cast<int>(r)));
  }
  for (const std::uint32_t r : here) {
    if (static_cast<int>(r) != c.me()) c.send(static_cast<int>(r), own);
  }
  co_await c.all();
  if (c.me() == speaker) co_await pass_round(c, all);
  for (std::size_t r = 0; r < members.group_of.size(); ++r) {
    if (!there(r)) continue;
    const lane::Memory block = all.block(static_cast<int>(r));
    if (c.me() != speaker) {
      c.receive(speaker, block);
    } else {
      for (const std::uint32_t to : here) {
        if (static_cast<int>(to) != speaker) c.send(static_cast<int>(to), block);
      }
    }
  }
  co_await c.all();
}

}  // namespace

Steps allgather(Collective& c, lane::Memory mine, Blocks all, bool in_place) {
  if (!in_place) copy(mine, all.block(c.me()));
  const bool one_group = c.rank().all->ranks_of.size() == 1;
  const bool one_each = c.rank().all->ranks_of.size() == static_cast<std::size_t>(c.size());
  if (one_group || (one_each && c.size() <= 4)) {
    co_await exchange_all(c, all);
  } else {
    co_await allgather_by_speakers(c, all);
  }
}

Steps alltoall(Collective& c, Blocks from, Blocks to, bool in_place) {
  std::unique_ptr<std::byte[]> kept;
  std::vector<lane::Memory> parts;
  if (in_place) {
    std::uint64_t bytes = 0;
    for (int r = 0; r < c.size(); ++r) bytes += to.block(r).bytes;
    kept = std::make_unique_for_overwrite<std::byte[]>(bytes);
    bytes = 0;
    for (int r = 0; r < c.size(); ++r) {
      const lane::Memory block = to.block(r);
      lane::pack(block, 0, kept.get() + bytes, block.bytes);
      parts.push_back(bytes_at(kept.get() + bytes, block.bytes));
      bytes += block.bytes;
    }
  }
  for (int i = 1; i < c.size(); ++i) {
    const int r = (c.me() + c.size() - i) % c.size();
    c.receive(r, to.block(r));
  }
  for (int i = 1; i < c.size(); ++i) {
    const int r = (c.me() + i) % c.size();
    if (in_place) {
      c.send(r, parts[static_cast<std::size_t>(r)]);
    } else {
      c.send(r, from.block(r));
    }
  }
  if (!in_place) copy(from.block(c.me()), to.block(c.me()));
  co_await c.all();
}

}  // namespace plait::collective
