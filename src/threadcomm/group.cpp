#include "threadcomm/group.hpp"

#include <algorithm>
#include <iterator>
#include <new>
#include <utility>

#include "base/error.hpp"

namespace plait::threadcomm {

constexpr RequestKind kGroup{};

std::vector<Place> places(const Rank& rank) {
  std::vector<Place> all;
  all.reserve(rank.peers.size());
  for (const p2p::Peer& p : rank.peers) all.push_back({p.process, p.address.region, p.address.offset});
  return all;
}

namespace {

/// In range and different?
std::vector<char> marked(int size, std::span<const int> ranks) {
  std::vector<char> marks(static_cast<std::size_t>(size));
  for (const int r : ranks) {
    require(r >= 0 && r < size && !marks[static_cast<std::size_t>(r)], MPI_ERR_RANK);
    marks[static_cast<std::size_t>(r)] = 1;
  }
  return marks;
}

}  // namespace

int Group::rank_of(const Place& place) const noexcept {
  const auto at = std::ranges::find(members, place);
  return at == members.end() ? MPI_UNDEFINED : static_cast<int>(at - members.begin());
}

Index::Index(std::span<const Place> members) {
  sorted_.reserve(members.size());
  for (const Place& p : members) sorted_.emplace_back(p, static_cast<int>(sorted_.size()));
  std::ranges::sort(sorted_);
}

int Index::rank_of(const Place& place) const noexcept {
  const auto at = std::ranges::lower_bound(sorted_, place, {}, &std::pair<Place, int>::first);
  return at != sorted_.end() && at->first == place ? at->second : MPI_UNDEFINED;
}

Group& make_group(const Place& me, std::vector<Place> members) {
  auto* const g = request::make<Group>();
  if (!g) throw std::bad_alloc();
  g->kind = &kGroup;
  g->me = me;
  g->members = std::move(members);
  return *g;
}

Group& group_of(Rank& rank) {
  std::vector<Place> all = places(rank);
  const Place me = all[static_cast<std::size_t>(rank.rank)];
  return make_group(me, std::move(all));
}

void free_group(Group& group) noexcept { request::destroy(group); }

std::vector<Place> unite(std::span<const Place> one, std::span<const Place> other) {
  std::vector<Place> all(one.begin(), one.end());
  const Index known(one);
  std::ranges::copy_if(other, std::back_inserter(all), [&](const Place& p) { return !known.has(p); });
  return all;
}

std::vector<Place> intersect(std::span<const Place> one, std::span<const Place> other) {
  std::vector<Place> all;
  const Index known(other);
  std::ranges::copy_if(one, std::back_inserter(all), [&](const Place& p) { return known.has(p); });
  return all;
}

std::vector<Place> subtract(std::span<const Place> one, std::span<const Place> other) {
  std::vector<Place> all;
  const Index known(other);
  std::ranges::copy_if(one, std::back_inserter(all), [&](const Place& p) { return !known.has(p); });
  return all;
}

std::vector<Place> include(const Group& group, std::span<const int> ranks) {
  static_cast<void>(marked(group.size(), ranks));
  std::vector<Place> some;
  some.reserve(ranks.size());
  for (const int r : ranks) some.push_back(group.members[static_cast<std::size_t>(r)]);
  return some;
}

std::vector<Place> exclude(const Group& group, std::span<const int> ranks) {
  const std::vector<char> out = marked(group.size(), ranks);
  std::vector<Place> rest;
  for (std::size_t r = 0; r < out.size(); ++r) {
    if (!out[r]) rest.push_back(group.members[r]);
  }
  return rest;
}

std::vector<int> ranks_of(std::span<const int[3]> ranges) {
  std::vector<int> ranks;
  for (const auto& [first, last, step] : ranges) {
    require(step != 0, MPI_ERR_ARG);
    for (int r = first; step > 0 ? r <= last : r >= last; r += step) ranks.push_back(r);
  }
  return ranks;
}

Rank* create(Rank& parent, const Group* group, p2p::Call call) {
  const std::vector<Place> all = places(parent);
  int color = MPI_UNDEFINED;
  int key = 0;
  if (group) {
    const Index known(all);
    for (const Place& p : group->members) require(known.has(p), MPI_ERR_GROUP);
    key = group->rank_of(all[static_cast<std::size_t>(parent.rank)]);
    // Groups of different ranks are the same or have nothing in common: their first member tells them apart.
    if (key != MPI_UNDEFINED) color = known.rank_of(group->members.front());
  }
  return split(parent, color, key, call);
}

}  // namespace plait::threadcomm
