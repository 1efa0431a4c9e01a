#include "p2p/carried.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <memory>
#include <numeric>
#include <span>
#include <vector>

#include "base/error.hpp"
#include "lane/endpoints.hpp"
#include "lane/node.hpp"
#include "p2p/communicator.hpp"
#include "p2p/world.hpp"
#include "plait/mpix.h"
#include "progress/helper.hpp"

namespace plait::p2p {
namespace {

/// A process of MPI_COMM_WORLD.
struct Process {
  std::int32_t region = 0;
  bool near = false;  ///< it shares memory with this one
};

/// Set while there is one thread.
struct World {
  bool open = false;
  lane::Use use = lane::Use::serial;
  std::vector<Process> processes;
};

World& carried_world() {
  static World& world = *new World;  // never destroyed: exit handlers may still send
  return world;
}

/// What each process tells all others, once.
struct Card {
  RegionName region;
  std::uint64_t node;  ///< hash of its name
  bool ok;
};

/// Meets the other processes; false on all where one cannot be reached.
bool meet_all() {
  Card mine{};
  try {
    mine = {lane::Node::get().region().name(), node_hash(), true};
  } catch (const std::exception&) {
    mine.ok = false;
  }
  int rank = 0;
  int size = 0;
  check(PMPI_Comm_rank(MPI_COMM_WORLD, &rank));
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
  for (std::size_t i = 0; i < cards.size(); ++i) {
    world.processes[i] = {cards[i].region.id(), here[i] && there[i]};
    near &= world.processes[i].near;
  }
  int mine_reached = near || open_network() ? 1 : 0;
  int all_reached = 0;
  check(PMPI_Allreduce(&mine_reached, &all_reached, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD));
  return all_reached != 0;
}

/// This process's part, and what it tells the others. Throws std::bad_alloc, std::system_error.
Draft begin_carrying(int rank, int size, const std::shared_ptr<Members>& members, Ticket* mine) {
  Draft draft(new Communicator);
  Communicator& c = *draft;
  c.ordinary = true;
  c.rank = rank;
  c.size = size;
  members->first.resize(static_cast<std::size_t>(size) + 1);
  std::iota(members->first.begin(), members->first.end(), 0U);
  members->peers.resize(static_cast<std::size_t>(size));
  c.locals.reserve(1);
  LocalEndpoint local;
  local.stream = MPIX_STREAM_NULL;
  local.number = static_cast<std::uint32_t>(rank);
  local.lanes = Lanes(members->peers.size());
  local.endpoint = &take_carried_endpoint();
  c.locals.push_back(std::move(local));
  c.locals.front().context = &lane::make_context(*c.locals.front().endpoint);
  c.set_members(members);
  *mine = {c.locals.front().endpoint->address().offset, c.locals.front().context->id, 1};
  return draft;
}

/// All have told: `processes` by rank in MPI_COMM_WORLD.
void end_carrying(Communicator& c, Members& members, MPI_Comm handle, std::span<const Ticket> all,
                  std::span<const int> processes) noexcept {
  c.handle = handle;
  c.locals.front().context->handle = to_bits(handle);
  for (std::size_t r = 0; r < all.size(); ++r) {
    const Process& process = carried_world().processes[static_cast<std::size_t>(processes[r])];
    members.peers[r] = {{process.region, all[r].endpoint}, process.near ? -1 : processes[r], all[r].context};
  }
}

}  // namespace

lane::Endpoint& take_carried_endpoint() {
  lane::Endpoint& taken = lane::take_endpoint(carried_world().use);
  carried_endpoints.fetch_add(1, std::memory_order_relaxed);
  return taken;
}

void carry(MPI_Comm made) noexcept try {
  if (!carried_world().open || made == MPI_COMM_NULL) return;
  int inter = 0;
  int rank = 0;
  int size = 0;
  std::vector<int> processes;
  {
    const progress::Blocking blocking;
    check(PMPI_Comm_test_inter(made, &inter));
    if (inter) return;
    check(PMPI_Comm_rank(made, &rank));
    check(PMPI_Comm_size(made, &size));
    processes = GroupOf(made).processes();
  }
  // Of two worlds: then all of its processes see one that is not theirs.
  if (std::ranges::find(processes, MPI_UNDEFINED) != processes.end()) return;
  Ticket mine{};
  const auto members = std::make_shared<Members>();
  Draft draft;
  std::vector<Ticket> all(processes.size());
  try {
    draft = begin_carrying(rank, size, members, &mine);
  } catch (const std::exception&) {
    mine.ok = 0;
  }
  {
    const progress::Blocking blocking;
    check(PMPI_Allgather(&mine, sizeof mine, MPI_BYTE, all.data(), sizeof mine, MPI_BYTE, made));
  }
  if (!std::ranges::all_of(all, [](const Ticket& t) { return t.ok != 0; })) return;
  end_carrying(*draft, *members, made, all, processes);
  enter(*draft);
  static_cast<void>(draft.release());  // NOLINT(bugprone-unused-return-value): found by its handle from now on
} catch (...) {                        // NOLINT(bugprone-empty-catch): the MPI carries it
}

void carry_all(bool threads) noexcept try {
  World& world = carried_world();
  world.use = threads ? lane::Use::biased : lane::Use::serial;
  tag_limit.store(ask_tag_limit(), std::memory_order_relaxed);
  world.open = meet_all();
  carry(MPI_COMM_WORLD);
  carry(MPI_COMM_SELF);
} catch (...) {
  carried_world().open = false;
}

}  // namespace plait::p2p
