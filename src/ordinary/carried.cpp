#include "ordinary/carried.hpp"

#include <sched.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <numeric>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "collective/rank.hpp"
#include "collective/team.hpp"
#include "lane/endpoints.hpp"
#include "lane/node.hpp"
#include "p2p/communicator.hpp"
#include "p2p/report.hpp"
#include "p2p/world.hpp"
#include "plait/mpix.h"
#include "progress/cores.hpp"
#include "progress/helper.hpp"

namespace plait::ordinary {
namespace {

using collective::Rank;

/// A process of MPI_COMM_WORLD.
struct Process {
  std::int32_t region = 0;
  std::uint64_t node = 0;  ///< hash of its name
  bool near = false;       ///< it shares memory with this one
};

/// Set while there is one thread.
struct World {
  bool open = false;
  std::vector<Process> processes;
};

/// What a process tells the others of its part in a communicator that is to be carried.
struct Ticket {
  std::uint64_t endpoint;  ///< its offset in the process's region
  std::uint64_t flags;     ///< of its ArrivalFlags; 0: it has none
  std::uint32_t context, hidden;
  bool ok;                         ///< it has memory
  bool near;                       ///< it shares memory with all of the communicator's processes on its node
  bool no_any_tag, no_any_source;  ///< what its program promises
};

/// More than the threads that usually share a communicator: several of their tags may fall into one slot.
constexpr std::uint32_t kSlots = 16;

/// What a process tells the others of its endpoints for the slots behind the first.
struct Ways {
  std::array<std::uint64_t, kSlots - 1> endpoints;  ///< as in a Ticket
  std::array<std::uint32_t, kSlots - 1> contexts;
  bool ok;
};

World& carried_world() {
  static World& world = *new World;  // never destroyed: exit handlers may still send
  return world;
}

/// What each process tells all others, once.
struct Card {
  RegionName region;
  std::uint64_t node;  ///< hash of its name
  cpu_set_t cores;     ///< that it may use
  bool ok;
};

/// Meets the other processes; false on all where one cannot be reached.
bool meet_all() {
  Card mine{};
  try {
    mine = {lane::Node::get().region().name(), p2p::node_hash(), {}, true};
    sched_getaffinity(0, sizeof mine.cores, &mine.cores);
  } catch (const std::exception&) {
    mine.ok = false;
  }
  int size = 0;
  check(PMPI_Comm_size(MPI_COMM_WORLD, &size));
  std::vector<Card> cards(static_cast<std::size_t>(size));
  check(PMPI_Allgather(&mine, sizeof mine, MPI_BYTE, cards.data(), sizeof mine, MPI_BYTE, MPI_COMM_WORLD));
  if (!std::ranges::all_of(cards, &Card::ok)) return false;
  std::vector<char> here(cards.size());
  std::vector<char> there(cards.size());
  std::ranges::transform(cards, here.begin(),
                         [&](const Card& c) { return c.node == mine.node && lane::Node::get().attach(c.region) ? 1 : 0; });
  check(PMPI_Alltoall(here.data(), 1, MPI_CHAR, there.data(), 1, MPI_CHAR, MPI_COMM_WORLD));
  World& world = carried_world();
  world.processes.resize(cards.size());
  bool near = true;
  int processes_here = 0;
  cpu_set_t cores;
  CPU_ZERO(&cores);
  for (std::size_t i = 0; i < cards.size(); ++i) {
    world.processes[i] = {cards[i].region.id(), cards[i].node, here[i] && there[i]};
    near &= world.processes[i].near;
    if (!world.processes[i].near) continue;
    ++processes_here;
    CPU_OR(&cores, &cores, &cards[i].cores);
  }
  progress::set_processes_here(processes_here);
  progress::set_endpoints_here(processes_here, CPU_COUNT(&cores));
  int mine_reached = near || p2p::open_network() ? 1 : 0;
  int all_reached = 0;
  check(PMPI_Allreduce(&mine_reached, &all_reached, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD));
  return all_reached != 0;
}

/// All of a communicator, by rank: `processes` are their ranks in MPI_COMM_WORLD. Where the messages go is not known yet.
std::shared_ptr<collective::Members> find_members(std::span<const int> processes) {
  auto all = std::make_shared<collective::Members>();
  all->first.resize(processes.size() + 1);
  std::iota(all->first.begin(), all->first.end(), 0U);
  all->hidden.resize(processes.size());
  std::map<std::uint64_t, std::uint32_t> nodes;
  for (std::uint32_t r = 0; r < processes.size(); ++r) {
    const int number = processes[r];
    const Process& process = carried_world().processes[static_cast<std::size_t>(number)];
    all->peers.push_back({{process.region, 0}, process.near ? -1 : number, 0});
    const auto [at, is_new] = nodes.try_emplace(process.node, static_cast<std::uint32_t>(nodes.size()));
    if (is_new) all->ranks_of.emplace_back();
    all->group_of.push_back(at->second);
    all->ranks_of[at->second].push_back(r);
  }
  return all;
}

/// The ranks on a rank's node.
const std::vector<std::uint32_t>& node_of(const collective::Members& all, int rank) {
  return all.ranks_of[all.group_of[static_cast<std::size_t>(rank)]];
}

/// One more endpoint, for so many peers. Throws std::bad_alloc, std::system_error.
p2p::LocalEndpoint& add_local(Rank& r, std::size_t peers) {
  p2p::LocalEndpoint local;
  local.stream = MPIX_STREAM_NULL;
  local.number = static_cast<std::uint32_t>(r.rank);
  local.first_peer = static_cast<std::uint32_t>(r.locals.size()) * static_cast<std::uint32_t>(r.size);
  local.lanes = p2p::Lanes(peers);
  r.locals.reserve(r.locals.size() + 1);
  local.endpoint = &p2p::take_carried_endpoint();
  p2p::LocalEndpoint& added = r.locals.emplace_back(std::move(local));
  added.context = &lane::make_context(*added.endpoint);
  return added;
}

/// This process's part, and what it tells the others. Throws std::bad_alloc, std::system_error.
p2p::Draft begin_carrying(int rank, const std::shared_ptr<collective::Members>& members, Ticket* mine) {
  auto* const made = new Rank;
  p2p::Draft draft(made);
  Rank& r = *made;
  r.ordinary = true;
  r.rank = rank;
  r.size = static_cast<int>(members->peers.size());
  add_local(r, members->peers.size());
  r.hidden = &lane::make_context(r.endpoint());
  r.set_members(members);
  r.all = members.get();
  r.free_now = [](Rank& unused) { p2p::discard(&unused); };
  const std::vector<std::uint32_t>& here = node_of(*members, rank);
  *mine = {r.endpoint().address().offset,
           collective::take_flags(r, here),
           r.locals.front().context->id,
           r.hidden->id,
           true,
           std::ranges::all_of(here, [&](std::uint32_t i) { return members->peers[i].process < 0; }),
           false,
           false};
  return draft;
}

/// Does the program say so of what it makes?
bool promises(MPI_Info info, const char* key) {
  if (info == MPI_INFO_NULL) return false;
  std::array<char, 8> value{};
  int found = 0;
  return PMPI_Info_get(info, key, static_cast<int>(value.size()) - 1, value.data(), &found) == MPI_SUCCESS && found &&
         std::string_view(value.data()) == "true";
}

/// Endpoints for the other slots, and what this process tells of them.
Ways begin_slots(Rank& r, collective::Members& members) noexcept try {
  Ways mine{};
  members.peers.resize(kSlots * members.hidden.size());
  r.peers = members.peers;
  r.locals.reserve(kSlots);
  for (std::uint32_t i = 0; i < kSlots - 1; ++i) {
    const p2p::LocalEndpoint& added = add_local(r, members.peers.size());
    mine.endpoints[i] = added.endpoint->address().offset;
    mine.contexts[i] = added.context->id;
  }
  mine.ok = true;
  return mine;
} catch (const std::exception&) {
  if (r.locals.back().context) return {};
  lane::give_endpoint(*r.locals.back().endpoint);  // all locals have contexts: who frees them looks at these
  p2p::carried_endpoints.fetch_sub(1, std::memory_order_relaxed);
  r.locals.pop_back();
  return {};
}

/// Collective. Where a process has no memory for it all is as without.
void add_slots(Rank& r, collective::Members& members, MPI_Comm handle) {
  const std::size_t size = members.hidden.size();
  std::vector<Ways> all(size);
  const Ways mine = begin_slots(r, members);
  {
    const progress::Blocking blocking;
    check(PMPI_Allgather(&mine, sizeof mine, MPI_BYTE, all.data(), sizeof mine, MPI_BYTE, handle));
  }
  if (!std::ranges::all_of(all, &Ways::ok)) return;
  for (std::size_t i = 0; i < kSlots - 1; ++i) {
    for (std::size_t rank = 0; rank < size; ++rank) {
      p2p::Peer& peer = members.peers[(i + 1) * size + rank] = members.peers[rank];
      peer.address.offset = all[rank].endpoints[i];
      peer.context = all[rank].contexts[i];
    }
    r.locals[i + 1].context->handle = p2p::to_bits(handle);
  }
  r.slots = kSlots;
}

/// Can the ranks of each node meet, and does a node have several? Then its leader talks for them to the others.
bool have_leaders(const collective::Members& members, std::span<const Ticket> all) {
  const auto meets = [&](const std::vector<std::uint32_t>& node) {
    return node.size() == 1 || std::ranges::all_of(node, [&](std::uint32_t r) { return all[r].flags != 0; });
  };
  return members.ranks_of.size() < all.size() && std::ranges::all_of(members.ranks_of, meets);
}

/// Whose collective calls are plait's: as all ranks say.
void choose_collectives(Rank& r, const collective::Members& members, std::span<const Ticket> all) {
  const bool near = std::ranges::all_of(all, &Ticket::near);
  const bool one_node = members.ranks_of.size() == 1;
  r.collectives = near && one_node;
  r.by_leaders = near && !one_node && have_leaders(members, all);
  if (r.collectives) return;
  if (!r.by_leaders) r.team.reset();
  p2p::tell_left(r.by_leaders ? p2p::Left::others_between_nodes : p2p::Left::collectives_between_nodes);
}

/// All have told. Throws std::bad_alloc.
void end_carrying(Rank& r, collective::Members& members, MPI_Comm handle, std::span<const Ticket> all) {
  r.handle = handle;
  r.locals.front().context->handle = r.hidden->handle = p2p::to_bits(handle);
  std::vector<std::uint64_t> flags;
  for (std::size_t i = 0; i < all.size(); ++i) {
    members.peers[i].address.offset = all[i].endpoint;
    members.peers[i].context = all[i].context;
    members.hidden[i] = all[i].hidden;
  }
  for (const std::uint32_t i : node_of(members, r.rank)) flags.push_back(all[i].flags);
  collective::meet_team(r, flags);
  choose_collectives(r, members, all);
}

}  // namespace

void carry(MPI_Comm made, MPI_Info info) noexcept try {
  if (!carried_world().open || made == MPI_COMM_NULL) return;
  int inter = 0;
  int rank = 0;
  std::vector<int> processes;
  {
    const progress::Blocking blocking;
    check(PMPI_Comm_test_inter(made, &inter));
    if (inter) {
      p2p::tell_left(p2p::Left::intercommunicators);
      return;
    }
    check(PMPI_Comm_rank(made, &rank));
    processes = p2p::GroupOf(made).processes();
  }
  // Of two worlds: then all of its processes see one that is not theirs.
  if (std::ranges::find(processes, MPI_UNDEFINED) != processes.end()) {
    p2p::tell_left(p2p::Left::other_worlds);
    return;
  }
  Ticket mine{};
  std::shared_ptr<collective::Members> members;
  p2p::Draft draft;
  std::vector<Ticket> all(processes.size());
  try {
    members = find_members(processes);
    draft = begin_carrying(rank, members, &mine);
  } catch (const std::exception&) {
    mine.ok = false;
  }
  {
    const progress::Blocking blocking;
    // A program whose threads call one at a time has nothing of them.
    mine.no_any_tag = p2p::carried_use.load(std::memory_order_relaxed) != lane::Use::serial && promises(info, "mpi_assert_no_any_tag");
    mine.no_any_source = promises(info, "mpi_assert_no_any_source");
    check(PMPI_Allgather(&mine, sizeof mine, MPI_BYTE, all.data(), sizeof mine, MPI_BYTE, made));
  }
  if (!std::ranges::all_of(all, &Ticket::ok)) {
    p2p::tell_left(p2p::Left::no_memory);
    return;
  }
  auto& rank_here = static_cast<Rank&>(*draft);
  end_carrying(rank_here, *members, made, all);
  if (std::ranges::all_of(all, &Ticket::no_any_tag)) {
    add_slots(rank_here, *members, made);
    rank_here.slots_by_process = std::ranges::all_of(all, &Ticket::no_any_source);
  }
  p2p::enter(*draft);
  static_cast<void>(draft.release());  // NOLINT(bugprone-unused-return-value): found by its handle from now on
} catch (...) {                        // NOLINT(bugprone-empty-catch): the MPI carries it
}

void end_world() noexcept {
  p2p::Communicator* const world = p2p::find_communicator(MPI_COMM_WORLD);
  if (world && world->by_leaders) static_cast<Rank*>(world)->leaders.free();
}

void free_carried(p2p::Communicator& c) noexcept {
  p2p::leave(c);
  for (p2p::LocalEndpoint& local : c.locals) p2p::detach(local);
  collective::end_use_by_program(static_cast<Rank&>(c));
}

void carry_all(bool threads) noexcept try {
  World& world = carried_world();
  p2p::carried_use.store(threads ? lane::Use::biased : lane::Use::serial, std::memory_order_relaxed);
  p2p::tag_limit.store(p2p::ask_tag_limit(), std::memory_order_relaxed);
  world.open = meet_all();
  carry(MPI_COMM_WORLD);
  carry(MPI_COMM_SELF);
} catch (...) {
  carried_world().open = false;
}

}  // namespace plait::ordinary
