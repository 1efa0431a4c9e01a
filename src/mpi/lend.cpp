// Lending: the board of the node, and the exported calls of plait/lend.h.
#include "mpi/lend.hpp"

#include <plait/lend.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <exception>
#include <new>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "base/settings.hpp"
#include "base/shared_memory.hpp"
#include "lend/shares.hpp"
#include "mpi/error.hpp"
#include "p2p/communicator.hpp"

namespace plait::mpi {
namespace {

using lend::Reason;
using lend::Shares;
using lend::Words;

/// The processes that can share memory.
class NodeComm {
 public:
  NodeComm() {
    check(PMPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &comm_));
    check(PMPI_Comm_rank(comm_, &rank_));
    check(PMPI_Comm_size(comm_, &size_));
  }
  ~NodeComm() { PMPI_Comm_free(&comm_); }
  NodeComm(const NodeComm&) = delete;
  NodeComm& operator=(const NodeComm&) = delete;

  [[nodiscard]] MPI_Comm handle() const noexcept { return comm_; }
  [[nodiscard]] int rank() const noexcept { return rank_; }
  [[nodiscard]] std::size_t size() const noexcept { return static_cast<std::size_t>(size_); }

 private:
  MPI_Comm comm_ = MPI_COMM_NULL;
  int rank_ = 0, size_ = 1;
};

/// In memory of the first process's, null where one cannot have it. Never given back: exit handlers may still wait.
Words* make_board(const NodeComm& node) {
  struct Where {
    RegionName name;
    std::uint64_t offset = 0;
  } where;
  Words* words = nullptr;
  try {
    if (node.rank() == 0) {
      Region& region = *new Region;
      const Region::Place place = region.take(sizeof(Words));
      where = {region.name(), place.offset};
      words = static_cast<Words*>(place.memory);
    }
    check(PMPI_Bcast(&where, sizeof where, MPI_BYTE, 0, node.handle()));
    if (node.rank() != 0 && where.name.file >= 0) words = static_cast<Words*>((new PeerRegion(where.name))->map().at(where.offset));
  } catch (const std::exception&) {
    if (node.rank() == 0) check(PMPI_Bcast(&where, sizeof where, MPI_BYTE, 0, node.handle()));
  }
  int all = words ? 1 : 0;
  check(PMPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_MIN, node.handle()));
  return all ? words : nullptr;
}

/// The reason why nothing is lent on this node, or none.
Reason start_on_node(const NodeComm& node) {
  cpu_set_t mine = lend::usable_cpus();
  std::vector<cpu_set_t> masks(node.size());
  check(PMPI_Allgather(&mine, sizeof mine, MPI_BYTE, masks.data(), sizeof mine, MPI_BYTE, node.handle()));
  Shares shares = lend::share(masks, static_cast<std::size_t>(node.rank()));
  if (shares.reason != Reason::none) return shares.reason;
  Words* const words = make_board(node);
  if (!words) return Reason::no_memory;
  lend::start(*words, node.rank(), std::move(shares.own), std::move(shares.others));
  return Reason::none;
}

using Nodes = std::array<int, lend::kReasons>;

/// Why nothing is lent here, and the same of all nodes: how many have that reason. Collective, and by all, whatever has failed before.
Reason agree(Nodes& nodes) noexcept {
  Reason mine = Reason::no_memory;
  bool first = true;  // of its node
  try {
    const NodeComm node;
    first = node.rank() == 0;
    mine = start_on_node(node);
  } catch (const MPIError&) {  // NOLINT(bugprone-empty-catch): the MPI has told its error handler
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "plait: PLAIT_LEND: no cores are lent by a process: it has no memory left\n");
  }
  if (first) nodes[static_cast<std::size_t>(mine)] = 1;
  PMPI_Allreduce(MPI_IN_PLACE, nodes.data(), nodes.size(), MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  return mine;
}

/// Spawned processes do as those that have spawned them: the calls of all shall meet where their communicators are merged.
bool is_child() noexcept {
  MPI_Comm parent = MPI_COMM_NULL;
  return PMPI_Comm_get_parent(&parent) == MPI_SUCCESS && parent != MPI_COMM_NULL;
}

/// Says once for the job on how many nodes nothing is lent, and why.
void tell_reasons(const Nodes& nodes) noexcept {
  int rank = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (std::size_t i = 1; i < nodes.size() && rank == 0; ++i) {
    if (nodes[i] == 0) continue;
    const char* const why = lend::text_of(static_cast<Reason>(i));
    const int all = std::accumulate(nodes.begin(), nodes.end(), 0);
    if (all == 1) {
      std::fprintf(stderr, "plait: PLAIT_LEND: no cores are lent: %s\n", why);
    } else {
      std::fprintf(stderr, "plait: PLAIT_LEND: no cores are lent on %d of %d nodes: %s\n", nodes[i], all, why);
    }
  }
}

}  // namespace

void start_lending() noexcept {
  Nodes nodes{};
  const Reason mine = agree(nodes);
  tell_reasons(nodes);
  if (mine != Reason::none && nodes[static_cast<std::size_t>(Reason::none)] == 0 && !is_child()) return;
  lend::poll();
  // Calls on ordinary communicators and requests find out that they are polled where they look for plait's.
  p2p::communicators.fetch_add(1, std::memory_order_relaxed);
  requests_used.store(true, std::memory_order_relaxed);
}

}  // namespace plait::mpi

#pragma GCC visibility push(default)

extern "C" int plait_lend_threads() {
  namespace lend = plait::lend;
  const std::size_t own = lend::own_cpus();
  const cpu_set_t usable = own == 0 ? lend::usable_cpus() : cpu_set_t{};
  return own == 0 ? std::max(CPU_COUNT(&usable), 1) : static_cast<int>(own + lend::free_to_borrow());
}

extern "C" int plait_lend_most() {
  namespace lend = plait::lend;
  int begun = 0;
  if (PMPI_Initialized(&begun) != MPI_SUCCESS || begun) return static_cast<int>(lend::most_borrowed());
  return plait::settings::flag(plait::settings::Id::lend) ? static_cast<int>(std::max(sysconf(_SC_NPROCESSORS_ONLN) - 1, 0L)) : 0;
}

extern "C" void plait_lend_enable() { plait::lend::set_enabled(true); }
extern "C" void plait_lend_disable() { plait::lend::set_enabled(false); }

extern "C" int plait_lend_begin(int most, int cpus[]) {
  const std::size_t room = most > 0 && cpus ? static_cast<std::size_t>(most) : 0;
  return static_cast<int>(plait::lend::begin_region({cpus, room}));
}

extern "C" void plait_lend_end(int count, const int cpus[]) {
  plait::lend::end_region({cpus, count > 0 && cpus ? static_cast<std::size_t>(count) : 0});
}

#pragma GCC visibility pop
