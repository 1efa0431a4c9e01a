// Making and freeing the communicators of MPIX_Threadcomm_init.
#include <algorithm>
#include <mutex>
#include <numeric>
#include <system_error>

#include "base/error.hpp"
#include "base/mpi_lock.hpp"
#include "p2p/handle_bits.hpp"
#include "p2p/world.hpp"
#include "plait/mpix.h"
#include "progress/helper.hpp"
#include "threadcomm/attribute.hpp"
#include "threadcomm/parallel_region.hpp"
#include "threadcomm/threadcomm.hpp"

namespace plait::threadcomm {

namespace {

/// An endpoint for each thread; given back unless kept.
struct Endpoints {
  std::vector<lane::Endpoint*> all;
  ~Endpoints() {
    for (lane::Endpoint* const e : all) lane::give_endpoint(*e);
  }
};

/// Every thread brings its endpoint twice, for messages and for collective calls: so each has two contexts, which the
/// processes tell each other of. Odd ones are hidden from the program.
std::shared_ptr<const Members> sort_members(const p2p::Communicator& pairs) {
  auto all = std::make_shared<Members>();
  const std::size_t ranks = pairs.peers.size() / 2;
  all->first.resize(ranks + 1);
  std::iota(all->first.begin(), all->first.end(), 0U);
  all->peers.reserve(ranks);
  all->hidden.reserve(ranks);
  for (std::size_t r = 0; r < ranks; ++r) {
    all->peers.push_back(pairs.peers[2 * r]);
    all->hidden.push_back(pairs.peers[2 * r + 1].context);
  }
  all->ranks_of.resize(static_cast<std::size_t>(pairs.size));
  for (std::uint32_t p = 0; p < all->ranks_of.size(); ++p) {
    for (std::uint32_t r = pairs.first[p] / 2; r < pairs.first[p + 1] / 2; ++r) {
      all->group_of.push_back(p);
      all->ranks_of[p].push_back(r);
    }
  }
  return all;
}

std::unique_ptr<Rank> make_rank(LocalGroup& base, int seat, p2p::LocalEndpoint messages, const p2p::LocalEndpoint& collectives,
                                const std::shared_ptr<const Members>& all) {
  auto rank = std::make_unique<Rank>();
  rank->handle = base.handle;
  rank->rank = static_cast<int>(all->ranks_of[static_cast<std::size_t>(base.rank)][static_cast<std::size_t>(seat)]);
  rank->size = base.size;
  rank->group = &base;
  rank->seat = seat;
  rank->set_members(all);
  rank->all = all.get();
  rank->of_thread = of_thread;
  rank->hidden = collectives.context;
  messages.number = static_cast<std::uint32_t>(rank->rank);
  messages.lanes = p2p::Lanes(all->peers.size());
  // Endpoints are the ranks here.
  messages.context->rank_of.reset();
  collectives.context->rank_of.reset();
  rank->locals.push_back(std::move(messages));
  return rank;
}

}  // namespace

LocalGroup::LocalGroup() = default;
LocalGroup::~LocalGroup() = default;

namespace {

/// Collective over the processes.
void make_teams(const LocalGroup& base, const Members& all) {
  const progress::Blocking blocking;
  std::vector<std::uint64_t> mine;
  mine.reserve(base.ranks.size());
  for (Rank* const rank : base.ranks) mine.push_back(collective::take_flags(*rank));
  std::vector<int> counts;
  std::vector<int> places;
  counts.reserve(all.ranks_of.size());
  places.reserve(all.ranks_of.size());
  for (const std::vector<std::uint32_t>& ranks : all.ranks_of) {
    counts.push_back(static_cast<int>(ranks.size()));
    places.push_back(static_cast<int>(ranks.front()));
  }
  std::vector<std::uint64_t> offsets(all.peers.size());
  check(PMPI_Allgatherv(mine.data(), static_cast<int>(mine.size()), MPI_UINT64_T, offsets.data(), counts.data(), places.data(),
                        MPI_UINT64_T, base.handle));
  for (Rank* const rank : base.ranks) collective::meet_team(*rank, offsets);
}

}  // namespace

MPI_Comm create(MPI_Comm parent, int threads) {
  Endpoints endpoints;
  std::vector<p2p::Attachment> twice;
  endpoints.all.reserve(static_cast<std::size_t>(std::max(threads, 0)));
  for (int i = 0; i < threads; ++i) {
    endpoints.all.push_back(&lane::take_endpoint(lane::Use::serial));
    twice.insert(twice.end(), 2, {endpoints.all.back(), MPIX_STREAM_NULL});
  }
  // None: all processes see that one has failed.
  if (threads < 1) twice.push_back({});
  MPI_Comm ordinary = MPI_COMM_NULL;
  // Its handle and its contexts become the group's and the ranks'.
  const std::unique_ptr<p2p::Communicator> pairs(p2p::build_communicator(parent, twice, true, &ordinary).release());
  auto base = std::make_unique<LocalGroup>();
  base->handle = base->attributes_of = pairs->handle;
  base->rank = pairs->rank;
  base->of_thread = of_thread;
  base->base = base.get();
  base->size = static_cast<int>(pairs->peers.size() / 2);
  const std::shared_ptr<const Members> all = sort_members(*pairs);
  base->set_members(all);
  base->region = std::make_unique<ParallelRegion>(threads);
  base->ranks.reserve(static_cast<std::size_t>(threads));
  for (int i = 0; i < threads; ++i) {
    const auto at = 2 * static_cast<std::size_t>(i);
    base->ranks.push_back(make_rank(*base, i, std::move(pairs->locals[at]), pairs->locals[at + 1], all).release());
  }
  make_teams(*base, *all);
  if (p2p::world_is_serialized()) need_mpi_lock();
  p2p::enter(*base);
  base->endpoints = std::move(endpoints.all);
  endpoints.all.clear();
  return base.release()->handle;
}

void destroy(LocalGroup& base) {
  require(base.region != nullptr, MPI_ERR_COMM);
  {
    const std::lock_guard guard(base.region->lock);
    require(!base.region->on && base.region->here == 0, MPI_ERR_ARG);
  }
  for (Rank* const rank : base.ranks) delete_attributes(*rank);
  p2p::leave(base);
  for (Rank* const rank : base.ranks) delete rank;
  for (lane::Endpoint* const e : base.endpoints) lane::give_endpoint(*e);
  MPI_Comm handle = base.handle;
  delete &base;
  const progress::Blocking blocking;
  check(PMPI_Comm_free(&handle));
}

}  // namespace plait::threadcomm
