#include "queue/communicator.hpp"

#include <cstdio>
#include <vector>

#include "base/error.hpp"
#include "base/mpi_lock.hpp"
#include "lane/match_context.hpp"
#include "p2p/hang.hpp"
#include "p2p/world.hpp"
#include "progress/helper.hpp"
#include "progress/wait.hpp"
#include "queue/engine.hpp"

namespace plait::queue {
namespace {

/// What a process tells the others, where all have a queue.
struct Ticket {
  std::uint64_t node;  ///< hash of its name
  std::uint32_t hidden;
  bool ok;
};

/// Makes a rank of it whose collective calls are plait's. Collective. Throws on all processes.
void make_collective(collective::Rank& rank, collective::Members& members, MPI_Comm handle) {
  Ticket mine{p2p::node_hash(), 0, false};
  try {
    rank.hidden = &lane::make_context(rank.endpoint());
    rank.hidden->handle = p2p::to_bits(handle);
    mine.hidden = rank.hidden->id;
    mine.ok = true;
  } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch): told to the others
  }
  std::vector<Ticket> all(static_cast<std::size_t>(rank.size));
  {
    const progress::Blocking blocking;
    check(PMPI_Allgather(&mine, sizeof mine, MPI_BYTE, all.data(), sizeof mine, MPI_BYTE, handle));
  }
  std::vector<std::uint64_t> nodes;
  for (std::uint32_t r = 0; r < all.size(); ++r) {
    if (!all[r].ok) throw std::bad_alloc();
    members.hidden.push_back(all[r].hidden);
    const auto at = static_cast<std::size_t>(std::ranges::find(nodes, all[r].node) - nodes.begin());
    if (at == nodes.size()) {
      nodes.push_back(all[r].node);
      members.ranks_of.emplace_back();
    }
    members.group_of.push_back(static_cast<std::uint32_t>(at));
    members.ranks_of[at].push_back(r);
  }
}

}  // namespace

Communicator::~Communicator() {
  if (inner) inner->detach();
}

p2p::Draft take_over(p2p::Draft made, QueuePointer queue) {
  const bool everywhere = made->queues == made->size;
  if (!queue) return made;
  // All of its threads that call the MPI are to take the lock from here on: the engine's is one.
  if (p2p::world_is_serialized()) need_mpi_lock();
  p2p::Draft draft(new Communicator);
  auto& c = static_cast<Communicator&>(*draft);
  c.queued = true;
  c.queue = std::move(queue);
  c.everywhere = everywhere;
  c.inner = std::make_shared<collective::Rank>();
  collective::Rank& inner = *c.inner;
  const auto members = std::make_shared<collective::Members>();
  static_cast<p2p::Members&>(*members) = *made->members;
  inner.rank = c.rank = made->rank;
  inner.size = c.size = made->size;
  inner.locals = std::move(made->locals);
  made->locals.clear();
  inner.handle = c.handle = std::exchange(made->handle, MPI_COMM_NULL);
  if (everywhere) make_collective(inner, *members, c.handle);
  inner.all = members.get();
  inner.set_members(members);
  c.set_members(members);
  return draft;
}

void wait_until_over(Communicator& c, const char* call) {
  const std::function<std::string()> text = [&] {
    return std::to_string(c.queue->outstanding()) + " operations that are on the queue of " + p2p::name_of(p2p::to_bits(c.handle));
  };
  p2p::Hang hang(text);
  progress::wait_until(
      engine::where_steps_end(), progress::kForThreads, [] { return false; },
      [&] { return c.queue->outstanding() == 0 || c.queue->waits_for_caller(); }, [&] { hang.check({call, nullptr}); });
  if (c.queue->outstanding() == 0) return;
  std::fprintf(
      stderr,
      "plait: %s: operations are on the queue behind the function that makes this call; they would wait for it, and it for them, for "
      "ever: free the communicator after them, or outside of the queue\n",
      call);
  throw MPIError{MPI_ERR_ARG, false};
}

}  // namespace plait::queue
