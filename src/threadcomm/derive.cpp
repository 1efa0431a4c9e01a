// Communicators made of thread communicators, and their end.
#include <algorithm>
#include <map>
#include <memory>
#include <new>
#include <numeric>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/mpi_lock.hpp"
#include "collective/algorithms.hpp"
#include "collective/call.hpp"
#include "p2p/handle_bits.hpp"
#include "threadcomm/group.hpp"
#include "threadcomm/threadcomm.hpp"

namespace plait::threadcomm {

using collective::Blocks;
using collective::bytes_at;
using collective::Collective;
using collective::run;
using collective::Steps;

namespace {

/// What each rank tells the others of itself.
struct Card {
  int color, key;
  std::uint32_t context, hidden;
  int error;
};

/// The new side of this rank, with the endpoint of the old.
std::unique_ptr<Rank> make_child(Rank& parent) {
  auto rank = std::make_unique<Rank>();
  p2p::LocalEndpoint local;
  local.stream = parent.locals[0].stream;
  local.endpoint = parent.locals[0].endpoint;
  local.context = &lane::make_context(parent.endpoint());
  rank->locals.push_back(std::move(local));
  rank->hidden = &lane::make_context(parent.endpoint());
  rank->seat = parent.seat;
  rank->of_thread = of_thread;
  return rank;
}

/// What each rank has, by rank.
template <class T>
std::vector<T> exchange(Rank& rank, const T& mine, p2p::Call call) {
  std::vector<T> all(static_cast<std::size_t>(rank.size));
  Blocks blocks;
  blocks.at = all.data();
  blocks.count = sizeof(T);
  blocks.type = MPI_BYTE;
  const lane::Memory own = bytes_at(const_cast<T*>(&mine), sizeof mine);  // only read
  const int error = run(rank, call, [&](Collective& c) { return collective::allgather(c, own, blocks, false); });
  require(error == MPI_SUCCESS, error);
  return all;
}

/// The ranks of a color in their new order, by their old numbers.
std::vector<std::uint32_t> order(const std::vector<Card>& cards, int color) {
  std::vector<std::uint32_t> ranks;
  for (std::uint32_t r = 0; r < cards.size(); ++r) {
    if (cards[r].color == color) ranks.push_back(r);
  }
  std::ranges::stable_sort(ranks, {}, [&](std::uint32_t r) { return cards[r].key; });
  return ranks;
}

std::shared_ptr<const Members> make_members(const Members& old, const std::vector<Card>& cards, const std::vector<std::uint32_t>& ranks) {
  auto all = std::make_shared<Members>();
  all->first.resize(ranks.size() + 1);
  std::iota(all->first.begin(), all->first.end(), 0U);
  std::map<std::uint32_t, std::uint32_t> number;  // of a process, by its old one
  for (std::uint32_t i = 0; i < ranks.size(); ++i) {
    const std::uint32_t r = ranks[i];
    p2p::Peer peer = old.peers[r];
    peer.context = cards[r].context;
    all->peers.push_back(peer);
    all->hidden.push_back(cards[r].hidden);
    const auto [at, is_new] = number.try_emplace(old.group_of[r], static_cast<std::uint32_t>(number.size()));
    if (is_new) all->ranks_of.emplace_back();
    all->group_of.push_back(at->second);
    all->ranks_of[at->second].push_back(i);
  }
  return all;
}

/// By one rank of each group, for one color; `here` is one of that color.
LocalGroup* make_local_group(Rank& maker, const std::vector<Card>& cards, std::uint32_t here, bool duplicate) {
  const std::vector<std::uint32_t> ranks = order(cards, cards[here].color);
  const auto all = make_members(*maker.all, cards, ranks);
  auto group = std::make_unique<LocalGroup>();
  // What goes over it is plait's, so that it need not have the same members.
  {
    const MpiLock lock;
    group->handle = p2p::make_local_handle(p2p::HandlerOf(maker.group->handle).get());
  }
  // The parent of MPIX_Threadcomm_init outlives its duplicates; a communicator derived from it may be freed before its own.
  const LocalGroup& base = *maker.group->base;
  group->attributes_of = duplicate && maker.group->attributes_of == base.handle ? base.handle : group->handle;
  group->rank = static_cast<int>(all->group_of[static_cast<std::size_t>(std::ranges::find(ranks, here) - ranks.begin())]);
  group->size = static_cast<int>(ranks.size());
  group->of_thread = of_thread;
  group->base = maker.group->base;
  group->ranks.resize(group->base->ranks.size());
  group->set_members(all);
  group->left.store(static_cast<int>(all->ranks_of[static_cast<std::size_t>(group->rank)].size()), std::memory_order_relaxed);
  p2p::enter(*group);
  return group.release();
}

struct Made {
  LocalGroup* group;
  int error;
};

std::map<int, Made> make_groups(Rank& maker, const std::vector<Card>& cards, const std::vector<std::uint32_t>& here, bool duplicate) {
  std::map<int, Made> made;
  for (const std::uint32_t r : here) {
    if (cards[r].color == MPI_UNDEFINED || made.contains(cards[r].color)) continue;
    Made& of_color = made[cards[r].color] = {nullptr, MPI_SUCCESS};
    try {
      of_color.group = make_local_group(maker, cards, r, duplicate);
    } catch (const MPIError& e) {
      of_color.error = e.code;
    } catch (const std::bad_alloc&) {
      of_color.error = MPI_ERR_NO_MEM;
    }
  }
  return made;
}

/// From the maker to the others of its process.
Steps hand_out(Collective& c, int maker, const std::vector<std::uint32_t>* here, std::vector<Made>* made, Made* mine) {
  if (c.me() != maker) {
    c.receive(maker, bytes_at(mine, sizeof *mine));
  } else {
    for (std::size_t i = 0; i < here->size(); ++i) {
      const auto r = static_cast<int>((*here)[i]);
      if (r != maker) c.send(r, bytes_at(&(*made)[i], sizeof(Made)));
    }
  }
  co_await c.all();
}

Made receive_group(Rank& parent, const std::vector<Card>& cards, bool duplicate, p2p::Call call) {
  const Members& all = *parent.all;
  const std::vector<std::uint32_t>& here = all.ranks_of[all.group_of[static_cast<std::size_t>(parent.rank)]];
  const auto maker = static_cast<int>(here.front());
  std::vector<Made> made(here.size(), {nullptr, MPI_SUCCESS});
  if (parent.rank == maker) {
    const std::map<int, Made> by_color = make_groups(parent, cards, here, duplicate);
    for (std::size_t i = 0; i < here.size(); ++i) {
      if (const auto found = by_color.find(cards[here[i]].color); found != by_color.end()) made[i] = found->second;
    }
  }
  Made mine = made.front();
  const int error = run(parent, call, [&](Collective& c) { return hand_out(c, maker, &here, &made, &mine); });
  require(error == MPI_SUCCESS, error);
  require(mine.error == MPI_SUCCESS, mine.error);
  return mine;
}

void free_now(collective::Rank& unused) {
  auto& rank = static_cast<Rank&>(unused);
  LocalGroup& group = *rank.group;
  group.ranks[static_cast<std::size_t>(rank.seat)] = nullptr;
  delete &rank;
  // acq_rel: the last one sees that the others have done with it.
  if (group.left.fetch_sub(1, std::memory_order_acq_rel) > 1) return;
  p2p::leave(group);
  MPI_Comm handle = group.handle;
  delete &group;
  const MpiLock lock;
  check(PMPI_Comm_free(&handle));
}

}  // namespace

Rank* split(Rank& parent, int color, int key, p2p::Call call, bool duplicate) {
  std::unique_ptr<Rank> rank;
  Card mine{color, key, 0, 0, MPI_SUCCESS};
  try {
    rank = make_child(parent);
    mine.context = rank->locals[0].context->id;
    mine.hidden = rank->hidden->id;
  } catch (const std::bad_alloc&) {
    mine.error = MPI_ERR_NO_MEM;
  }
  const std::vector<Card> cards = exchange(parent, mine, call);
  for (const Card& card : cards) require(card.error == MPI_SUCCESS, card.error);
  LocalGroup* const group = receive_group(parent, cards, duplicate, call).group;
  if (!group) return nullptr;  // the contexts go with the rank that is not needed
  const std::vector<std::uint32_t> ranks = order(cards, color);
  rank->rank = static_cast<int>(std::ranges::find(ranks, static_cast<std::uint32_t>(parent.rank)) - ranks.begin());
  rank->size = group->size;
  rank->handle = group->handle;
  rank->group = group;
  rank->set_members(group->members);
  rank->all = static_cast<const Members*>(group->members.get());
  rank->locals[0].number = static_cast<std::uint32_t>(rank->rank);
  rank->locals[0].lanes = p2p::Lanes(rank->peers.size());
  rank->locals[0].context->handle = rank->hidden->handle = p2p::to_bits(group->handle);
  group->ranks[static_cast<std::size_t>(rank->seat)] = rank.get();
  rank->free_now = free_now;
  Rank& made = *rank.release();
  collective::meet_team(made, exchange(made, collective::take_flags(made), call));
  return &made;
}

Rank* split_by_node(Rank& parent, bool none, int key, p2p::Call call) {
  // The lowest rank of the node. Other processes are reached by shared memory if, and only if, both ways.
  const auto lowest = std::ranges::find_if(parent.peers, [](const p2p::Peer& p) { return p.process < 0; });
  return split(parent, none ? MPI_UNDEFINED : static_cast<int>(lowest - parent.peers.begin()), key, call);
}

int compare(const Rank& one, const Rank& other) {
  if (&one == &other) return MPI_IDENT;
  auto a = places(one);
  auto b = places(other);
  if (a == b) return MPI_CONGRUENT;
  std::ranges::sort(a);
  std::ranges::sort(b);
  return a == b ? MPI_SIMILAR : MPI_UNEQUAL;
}

Rank& duplicate(Rank& parent, p2p::Call call) {
  Rank& made = *split(parent, 0, 0, call, true);
  made.topology = parent.topology;
  return made;
}

void free_rank(Rank& rank) {
  require(!rank.group->region, MPI_ERR_COMM);
  collective::end_use_by_program(rank);
}

}  // namespace plait::threadcomm
