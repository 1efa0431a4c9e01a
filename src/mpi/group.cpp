// The exported functions on groups. Groups of threads are plait's; of others the MPI's own. No thread is a process: the two
// have nothing in common.
#include "threadcomm/group.hpp"

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "mpi/communicator.hpp"
#include "mpi/naming.hpp"
#include "mpi/native.hpp"
#include "mpi/threads.hpp"

namespace plait::mpi {
namespace {

using threadcomm::Group;
using threadcomm::Place;
using GroupBits = HandleBits<MPI_Group>;

Group& our_group(MPI_Group h) {
  Request& r = GroupBits::request(h);
  require(threadcomm::is_group(r), MPI_ERR_GROUP);
  return static_cast<Group&>(r);
}

/// The members of a group that may be the MPI's, where that makes sense only if it is empty.
std::span<const Place> members(MPI_Group h) {
  if (is_our_group(h)) return our_group(h).members;
  int size = 0;
  check(PMPI_Group_size(h, &size));
  require(size == 0, MPI_ERR_GROUP);
  return {};
}

MPI_Group handle(const Place& me, std::vector<Place> some) {
  return some.empty() ? MPI_GROUP_EMPTY : GroupBits::handle(threadcomm::make_group(me, std::move(some)));
}

using Combine = std::vector<Place> (*)(std::span<const Place>, std::span<const Place>);

int combine(MPI_Group one, MPI_Group other, MPI_Group* made, Combine how, const char* call = __builtin_FUNCTION()) {
  const auto body = [&] {
    require(made, MPI_ERR_ARG);
    const Group& known = our_group(is_our_group(one) ? one : other);
    *made = handle(known.me, how(members(one), members(other)));
  };
  return guarded(body, call);
}

using Pick = std::vector<Place> (*)(const Group&, std::span<const int>);

int pick(MPI_Group group, int n, const int* ranks, MPI_Group* made, Pick how, const char* call = __builtin_FUNCTION()) {
  const auto body = [&] {
    require(made && n >= 0 && (ranks || n == 0), MPI_ERR_ARG);
    const Group& g = our_group(group);
    *made = handle(g.me, how(g, std::span(ranks, static_cast<std::size_t>(n))));
  };
  return guarded(body, call);
}

int pick_ranges(MPI_Group group, int n, int ranges[][3], MPI_Group* made, Pick how, const char* call = __builtin_FUNCTION()) {
  const auto body = [&] {
    require(made && n >= 0 && (ranges || n == 0), MPI_ERR_ARG);
    const Group& g = our_group(group);
    *made = handle(g.me, how(g, threadcomm::ranks_of(std::span<const int[3]>(ranges, static_cast<std::size_t>(n)))));
  };
  return guarded(body, call);
}

void translate(MPI_Group from, std::span<const int> ranks, MPI_Group to, int* found) {
  int size = 0;
  if (is_our_group(from)) {
    size = our_group(from).size();
  } else {
    check(PMPI_Group_size(from, &size));
  }
  for (const int r : ranks) require(r == MPI_PROC_NULL || (r >= 0 && r < size), MPI_ERR_RANK);
  const bool both = is_our_group(from) && is_our_group(to);
  const threadcomm::Index known(both ? our_group(to).members : std::span<const Place>());
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (ranks[i] == MPI_PROC_NULL) {
      found[i] = MPI_PROC_NULL;
    } else if (both) {
      found[i] = known.rank_of(our_group(from).members[static_cast<std::size_t>(ranks[i])]);
    } else {
      found[i] = MPI_UNDEFINED;
    }
  }
}

int compare(MPI_Group one, MPI_Group other) {
  if (!is_our_group(one) || !is_our_group(other)) return MPI_UNEQUAL;
  std::vector<Place> a = our_group(one).members;
  std::vector<Place> b = our_group(other).members;
  if (a == b) return MPI_IDENT;
  std::ranges::sort(a);
  std::ranges::sort(b);
  return a == b ? MPI_SIMILAR : MPI_UNEQUAL;
}

}  // namespace
}  // namespace plait::mpi

#pragma GCC visibility push(default)

using plait::require;
using plait::mpi::gated;
using plait::mpi::guarded;
using plait::mpi::is_our_group;
using plait::mpi::on;
using plait::mpi::our_group;
using plait::mpi::threads;

extern "C" int MPI_Comm_group(MPI_Comm comm, MPI_Group* group) {
  plait::p2p::Communicator* const c = threads(comm);
  if (!c) return gated([&] { return PMPI_Comm_group(comm, group); });
  return on(comm, [&] {
    require(group, MPI_ERR_ARG);
    *group = plait::mpi::GroupBits::handle(plait::threadcomm::group_of(plait::threadcomm::rank_of(*c)));
  });
}

extern "C" int MPI_Comm_create(MPI_Comm comm, MPI_Group group, MPI_Comm* newcomm) {
  plait::p2p::Communicator* const c = threads(comm);
  if (!c && !is_our_group(group)) return plait::mpi::naming_child(comm, newcomm, [&] { return PMPI_Comm_create(comm, group, newcomm); });
  const plait::p2p::Call call{"MPI_Comm_create", __builtin_return_address(0)};
  return on(comm, [&] {
    require(newcomm, MPI_ERR_ARG);
    require(c, MPI_ERR_GROUP);
    const bool empty = plait::mpi::members(group).empty();
    *newcomm = plait::mpi::handle_of(plait::threadcomm::create(plait::threadcomm::rank_of(*c), empty ? nullptr : &our_group(group), call));
  });
}

extern "C" int MPI_Group_size(MPI_Group group, int* size) {
  if (!is_our_group(group)) return PMPI_Group_size(group, size);
  return guarded([&] { *size = our_group(group).size(); });
}

extern "C" int MPI_Group_rank(MPI_Group group, int* rank) {
  if (!is_our_group(group)) return PMPI_Group_rank(group, rank);
  return guarded([&] { *rank = our_group(group).rank_of(our_group(group).me); });
}

extern "C" int MPI_Group_translate_ranks(MPI_Group from, int n, const int ranks[], MPI_Group to, int found[]) {
  if (!is_our_group(from) && !is_our_group(to)) return gated([&] { return PMPI_Group_translate_ranks(from, n, ranks, to, found); });
  return guarded([&] {
    require(n >= 0 && ((ranks && found) || n == 0), MPI_ERR_ARG);
    if (n > 0) plait::mpi::translate(from, std::span(ranks, static_cast<std::size_t>(n)), to, found);
  });
}

extern "C" int MPI_Group_compare(MPI_Group one, MPI_Group other, int* result) {
  if (!is_our_group(one) && !is_our_group(other)) return gated([&] { return PMPI_Group_compare(one, other, result); });
  return guarded([&] { *result = plait::mpi::compare(one, other); });
}

extern "C" int MPI_Group_union(MPI_Group one, MPI_Group other, MPI_Group* made) {
  if (!is_our_group(one) && !is_our_group(other)) return gated([&] { return PMPI_Group_union(one, other, made); });
  return plait::mpi::combine(one, other, made, plait::threadcomm::unite);
}

extern "C" int MPI_Group_intersection(MPI_Group one, MPI_Group other, MPI_Group* made) {
  if (!is_our_group(one) && !is_our_group(other)) return gated([&] { return PMPI_Group_intersection(one, other, made); });
  return plait::mpi::combine(one, other, made, plait::threadcomm::intersect);
}

extern "C" int MPI_Group_difference(MPI_Group one, MPI_Group other, MPI_Group* made) {
  if (!is_our_group(one) && !is_our_group(other)) return gated([&] { return PMPI_Group_difference(one, other, made); });
  return plait::mpi::combine(one, other, made, plait::threadcomm::subtract);
}

extern "C" int MPI_Group_incl(MPI_Group group, int n, const int ranks[], MPI_Group* made) {
  if (!is_our_group(group)) return gated([&] { return PMPI_Group_incl(group, n, ranks, made); });
  return plait::mpi::pick(group, n, ranks, made, plait::threadcomm::include);
}

extern "C" int MPI_Group_excl(MPI_Group group, int n, const int ranks[], MPI_Group* made) {
  if (!is_our_group(group)) return gated([&] { return PMPI_Group_excl(group, n, ranks, made); });
  return plait::mpi::pick(group, n, ranks, made, plait::threadcomm::exclude);
}

extern "C" int MPI_Group_range_incl(MPI_Group group, int n, int ranges[][3], MPI_Group* made) {
  if (!is_our_group(group)) return gated([&] { return PMPI_Group_range_incl(group, n, ranges, made); });
  return plait::mpi::pick_ranges(group, n, ranges, made, plait::threadcomm::include);
}

extern "C" int MPI_Group_range_excl(MPI_Group group, int n, int ranges[][3], MPI_Group* made) {
  if (!is_our_group(group)) return gated([&] { return PMPI_Group_range_excl(group, n, ranges, made); });
  return plait::mpi::pick_ranges(group, n, ranges, made, plait::threadcomm::exclude);
}

extern "C" int MPI_Group_free(MPI_Group* group) {
  if (!group || !is_our_group(*group)) return gated([&] { return PMPI_Group_free(group); });
  return guarded([&] {
    plait::threadcomm::free_group(our_group(*group));
    *group = MPI_GROUP_NULL;
  });
}

#pragma GCC visibility pop
