#include "p2p/communicator.hpp"

#include <sched.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <numeric>
#include <system_error>
#include <utility>

#include "base/error.hpp"
#include "base/mpi_lock.hpp"
#include "base/settings.hpp"
#include "layout/quiet.hpp"
#include "p2p/duplicate.hpp"
#include "p2p/report.hpp"
#include "p2p/world.hpp"
#include "progress/helper.hpp"

namespace plait::p2p {

constinit std::atomic<int> communicators{0};
constinit HandleTable<Communicator*> communicators_by_handle;
constinit std::atomic<int> tag_limit{32767};
constinit std::atomic<std::size_t> carried_endpoints{0};
constinit std::atomic<lane::Use> carried_use{lane::Use::serial};

namespace {

std::mutex table_lock;

}  // namespace

void enter(Communicator& c) {
  const std::lock_guard guard(table_lock);
  communicators_by_handle.insert(to_bits(c.handle), &c);
  communicators.fetch_add(1, std::memory_order_relaxed);
}

void leave(Communicator& c) noexcept {
  const std::lock_guard guard(table_lock);
  communicators_by_handle.erase(to_bits(c.handle));
  communicators.fetch_sub(1, std::memory_order_relaxed);
}

namespace {

/// What each process tells the others of each of its endpoints.
struct Card {
  RegionName region;
  std::uint64_t offset;
  std::uint64_t node;  ///< hash of its name
  std::uint32_t context;
  std::uint32_t streams;  ///< that its process has, whatever they are attached to
  bool queue;
};

void attach(Communicator& c, std::span<const Attachment> endpoints) {
  c.locals.reserve(endpoints.size());
  for (const Attachment& a : endpoints) {
    require(a.endpoint, MPI_ERR_ARG);
    LocalEndpoint& local = c.locals.emplace_back();
    local.stream = a.stream;
    local.endpoint = a.endpoint;
    local.context = &lane::make_context(*a.endpoint);
    local.context->handle = to_bits(c.handle);
  }
}

/// Does every process say so?
bool all_agree(MPI_Comm comm, bool here) {
  int mine = here ? 1 : 0;
  int all = 0;
  check(PMPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, comm));
  return all == 1;
}

void number_endpoints(Communicator& c, Members& members, const std::vector<int>& counts) {
  members.first.resize(counts.size() + 1);
  for (std::size_t r = 0; r < counts.size(); ++r) {
    members.first[r + 1] = members.first[r] + static_cast<std::uint32_t>(counts[r]);
  }
  members.peers.resize(members.first.back());
  auto rank_of = std::make_shared<std::vector<std::uint32_t>>();
  for (std::size_t r = 0; r < counts.size() && c.multiplex; ++r) {
    rank_of->insert(rank_of->end(), static_cast<std::size_t>(counts[r]), static_cast<std::uint32_t>(r));
  }
  for (std::size_t i = 0; i < c.locals.size(); ++i) {
    c.locals[i].number = members.first[static_cast<std::size_t>(c.rank)] + static_cast<std::uint32_t>(i);
    c.locals[i].lanes = Lanes(members.peers.size());
    if (c.multiplex) c.locals[i].context->rank_of = rank_of;
  }
}

std::vector<Card> exchange_cards(Communicator& c, std::span<const Attachment> endpoints, const std::vector<int>& counts) {
  std::vector<Card> mine;
  mine.reserve(c.locals.size());
  const std::uint64_t node = node_hash();
  const auto streams = static_cast<std::uint32_t>(lane::endpoints_in_use() - carried_endpoints.load(std::memory_order_relaxed));
  for (std::size_t i = 0; i < c.locals.size(); ++i) {
    const LocalEndpoint& l = c.locals[i];
    mine.push_back({lane::Node::get().region().name(), l.endpoint->address().offset, node, l.context->id, streams, endpoints[i].queue});
  }
  std::vector<int> bytes(counts.size());
  std::vector<int> places(counts.size());
  for (std::size_t r = 0; r < counts.size(); ++r) {
    bytes[r] = counts[r] * static_cast<int>(sizeof(Card));
    places[r] = static_cast<int>(c.first[r] * sizeof(Card));
  }
  std::vector<Card> cards(c.peers.size());
  check(PMPI_Allgatherv(mine.data(), static_cast<int>(mine.size() * sizeof(Card)), MPI_BYTE, cards.data(), bytes.data(), places.data(),
                        MPI_BYTE, c.handle));
  return cards;
}

/// Which ranks share memory with this one, both ways.
std::vector<char> find_neighbours(const Communicator& c, const std::vector<Card>& cards) {
  std::vector<char> here(static_cast<std::size_t>(c.size));
  for (std::size_t r = 0; r < here.size(); ++r) {
    const Card& card = cards[c.first[r]];
    here[r] = card.node == cards[c.first[static_cast<std::size_t>(c.rank)]].node && lane::Node::get().attach(card.region) ? 1 : 0;
  }
  std::vector<char> there(here.size());
  check(PMPI_Alltoall(here.data(), 1, MPI_CHAR, there.data(), 1, MPI_CHAR, c.handle));
  for (std::size_t r = 0; r < here.size(); ++r) here[r] = here[r] && there[r] ? 1 : 0;
  return here;
}

/// How to reach every endpoint. False if one cannot be reached.
bool find_ways(const Communicator& c, Members& members, const std::vector<Card>& cards) {
  const std::vector<char> neighbours = find_neighbours(c, cards);
  const std::vector<int> processes = GroupOf(c.handle).processes();
  bool all = true;
  for (std::size_t r = 0; r < neighbours.size(); ++r) {
    for (std::uint32_t i = c.first[r]; i < c.first[r + 1]; ++i) {
      members.peers[i] = {{cards[i].region.id(), cards[i].offset}, neighbours[r] ? -1 : processes[r], cards[i].context};
    }
    if (neighbours[r]) continue;
    all &= processes[r] != MPI_UNDEFINED && open_network();
  }
  return all;
}

/// Streams of this node against the cores that its processes may use, which may be bound apart. The cores are those of
/// all nodes laid over each other, since nodes number theirs alike.
void share_load(const Communicator& c, const std::vector<Card>& cards) {
  cpu_set_t mine;
  cpu_set_t all;
  CPU_ZERO(&mine);
  sched_getaffinity(0, sizeof mine, &mine);
  check(PMPI_Allreduce(&mine, &all, sizeof mine, MPI_BYTE, MPI_BOR, c.handle));
  std::map<std::int32_t, std::uint32_t> streams;
  for (std::size_t i = 0; i < cards.size(); ++i) {
    if (c.peers[i].process < 0) streams[cards[i].region.id()] = std::max(cards[i].streams, 1U);
  }
  const auto add = [](int sum, const auto& of_process) { return sum + static_cast<int>(of_process.second); };
  progress::set_endpoints_here(std::accumulate(streams.begin(), streams.end(), 0, add), CPU_COUNT(&all));
}

}  // namespace

Draft build_communicator(MPI_Comm parent, std::span<const Attachment> endpoints, bool multiplex, MPI_Comm* ordinary) {
  Draft draft(new Communicator);      // discarded without the lock around the MPI: it asks for endpoints
  const progress::Blocking blocking;  // all of this waits for others
  Communicator& c = *draft;
  int inter = 0;
  check(PMPI_Comm_test_inter(parent, &inter));
  if (inter) throw MPIError{MPI_ERR_COMM, false};
  wait_until_made(parent);
  check(PMPI_Comm_dup(parent, &c.handle));
  check(PMPI_Comm_rank(c.handle, &c.rank));
  check(PMPI_Comm_size(c.handle, &c.size));
  tag_limit.store(ask_tag_limit(), std::memory_order_relaxed);
  c.multiplex = multiplex;
  // Errors up to here leave the others waiting in a collective call, as they do in the MPI's own.
  int error = MPI_SUCCESS;
  try {
    attach(c, endpoints);
  } catch (const MPIError& e) {
    error = e.code;
  } catch (const std::bad_alloc&) {
    error = MPI_ERR_NO_MEM;
  } catch (const std::system_error&) {
    error = MPI_ERR_UNSUPPORTED_OPERATION;
  }
  const int mine = error == MPI_SUCCESS ? static_cast<int>(endpoints.size()) : -1;
  std::vector<int> counts(static_cast<std::size_t>(c.size));
  check(PMPI_Allgather(&mine, 1, MPI_INT, counts.data(), 1, MPI_INT, c.handle));
  if (std::ranges::find(counts, -1) != counts.end()) throw MPIError{error != MPI_SUCCESS ? error : MPI_ERR_OTHER, false};
  const bool none = std::ranges::all_of(endpoints, [](const Attachment& a) { return a.endpoint == lane::shared_endpoint_if_any(); });
  if (all_agree(c.handle, none)) {
    *ordinary = std::exchange(c.handle, MPI_COMM_NULL);
    return nullptr;
  }
  require(settings::text(settings::Id::communicators) != "none", MPI_ERR_UNSUPPORTED_OPERATION);
  const auto members = std::make_shared<Members>();
  number_endpoints(c, *members, counts);
  c.set_members(members);
  const std::vector<Card> cards = exchange_cards(c, endpoints, counts);
  c.queues = static_cast<int>(std::ranges::count(cards, true, &Card::queue));
  const bool reachable = find_ways(c, *members, cards);
  // The network may have found only now that a lock is needed: then `blocking` has none.
  const MpiLock lock;
  if (!all_agree(c.handle, reachable)) throw MPIError{MPI_ERR_UNSUPPORTED_OPERATION, false};
  share_load(c, cards);
  return draft;
}

MPI_Comm make_local_handle(MPI_Errhandler handler) {
  const MpiLock lock;
  MPI_Comm made = MPI_COMM_NULL;
  const std::lock_guard guard(layout::quiet_calls);
  const int code = PMPI_Comm_split(layout::quiet(), 0, 0, &made);
  require(code == MPI_SUCCESS, code);
  check(PMPI_Comm_set_errhandler(made, handler));
  return made;
}

HandlerOf::HandlerOf(MPI_Comm comm) { check(PMPI_Comm_get_errhandler(comm, &handler_)); }
HandlerOf::~HandlerOf() { PMPI_Errhandler_free(&handler_); }

std::uint64_t stand_in(MPI_Comm comm) noexcept try {
  // One for each error handler, which it keeps alive. They stay: their number is small, and who still tells one is not counted.
  static std::map<std::uint64_t, MPI_Comm>& all = *new std::map<std::uint64_t, MPI_Comm>;
  static std::mutex making;
  const MpiLock lock;
  const std::lock_guard guard(making);
  const HandlerOf handler(comm);
  MPI_Comm& made = all.try_emplace(to_bits(handler.get()), MPI_COMM_NULL).first->second;
  if (made == MPI_COMM_NULL) {
    made = make_local_handle(handler.get());
    PMPI_Comm_set_name(made, "that was freed");
  }
  return to_bits(made);
} catch (...) {
  return 0;
}

void detach(LocalEndpoint& l) noexcept {
  const lane::EndpointGuard guard(*l.endpoint);
  note_traffic(*l.context);
  l.endpoint->discard(*l.context);
  l.context->handle = l.context->operations > 0 ? stand_in(from_bits<MPI_Comm>(l.context->handle)) : 0;
  l.context->freed = true;
  if (l.context->operations == 0) lane::delete_context(*l.context);
  l.context = nullptr;
}

lane::Endpoint& take_carried_endpoint() {
  lane::Endpoint& taken = lane::take_endpoint(carried_use.load(std::memory_order_relaxed));
  carried_endpoints.fetch_add(1, std::memory_order_relaxed);
  return taken;
}

namespace {

void detach_all(Communicator& c) noexcept {
  for (LocalEndpoint& l : c.locals) {
    if (l.context) detach(l);
    if (!c.ordinary) continue;
    lane::give_endpoint(*l.endpoint);
    carried_endpoints.fetch_sub(1, std::memory_order_relaxed);
  }
}

}  // namespace

void discard(Communicator* c) noexcept {
  detach_all(*c);
  const MpiLock lock;
  if (c->handle != MPI_COMM_NULL && !c->ordinary) PMPI_Comm_free(&c->handle);
  delete c;
}

void destroy_communicator(Communicator& c) noexcept {
  leave(c);
  detach_all(c);
  delete &c;
}

}  // namespace plait::p2p
