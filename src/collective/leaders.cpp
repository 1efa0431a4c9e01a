#include "collective/leaders.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

#include "base/error.hpp"
#include "base/scratch.hpp"
#include "collective/algorithms.hpp"
#include "collective/team.hpp"
#include "p2p/duplicate.hpp"
#include "p2p/report.hpp"
#include "progress/helper.hpp"

namespace plait::collective {

bool leads_node(const Rank& rank) noexcept {
  const auto me = static_cast<std::uint32_t>(rank.rank);
  return rank.all->ranks_of[rank.all->group_of[me]].front() == me;
}

// ---- their communicator

namespace {

/// So many a process: the program needs its own, and MPIs have few (MPICH 5.0.2: some 2,000).
constexpr int kMostCommunicators = 256;
constinit std::atomic<int> communicators{0};

}  // namespace

bool Leaders::ready(const Rank& rank) {
  if (!known_) [[unlikely]]
    make(rank);
  return usable_;
}

void Leaders::make(const Rank& rank) {
  p2p::wait_until_made(rank.handle);
  const progress::Blocking blocking;
  // relaxed: threads that make some at the same time may make a few more.
  const int mine = communicators.load(std::memory_order_relaxed) < kMostCommunicators ? 1 : 0;
  int all = 0;
  check(PMPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, rank.handle));
  if (all != 0) {
    // Not MPI_Comm_create_group: Open MPI 5.0.11 copies the program's attributes there.
    check(PMPI_Comm_split(rank.handle, leads_node(rank) ? 0 : MPI_UNDEFINED, rank.rank, &comm_));
    usable_ = true;
  } else {
    p2p::tell_left(p2p::Left::collectives_between_nodes);
  }
  known_ = true;
  if (comm_ == MPI_COMM_NULL) return;
  communicators.fetch_add(1, std::memory_order_relaxed);
  // The handler of the program's communicator is told.
  check(PMPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN));
}

void Leaders::free() noexcept {
  if (comm_ == MPI_COMM_NULL) return;
  const progress::Blocking blocking;
  PMPI_Comm_free(&comm_);
  communicators.fetch_sub(1, std::memory_order_relaxed);
}

// ---- calls

namespace {

/// One call on this rank. It keeps an error until its end, since the others of the node and the other leaders wait for what it brings.
class NodeCall {
 public:
  NodeCall(Rank& rank, p2p::Call call) noexcept : rank_(rank), call_(call), leads_(leads_node(rank)) {}

  [[nodiscard]] bool leads() const noexcept { return leads_; }
  [[nodiscard]] bool alone() const noexcept { return !rank_.team; }
  [[nodiscard]] int error() const noexcept { return error_; }

  /// Where the root is.
  struct Place {
    int node;
    bool here;         ///< on this node
    bool leads;        ///< the root is its node's leader
    std::size_t rank;  ///< in its node's team
  };
  [[nodiscard]] Place place_of(int root) const {
    const auto r = static_cast<std::uint32_t>(root);
    const std::uint32_t node = rank_.all->group_of[r];
    const std::vector<std::uint32_t>& ranks = rank_.all->ranks_of[node];
    const auto at = static_cast<std::size_t>(std::ranges::lower_bound(ranks, r) - ranks.begin());
    return {static_cast<int>(node), node == rank_.all->group_of[static_cast<std::size_t>(rank_.rank)], at == 0, at};
  }

  /// What the node's ranks do together, if there are others.
  template <class Body>
  void meet(Body body) {
    if (alone()) return;
    try {
      body(*rank_.team);
    } catch (const MPIError& e) {
      keep(e.code);
    }
  }
  /// What the leaders do together: `body` is a call of the MPI's on their communicator. While it blocks, what plait has started moves on
  /// by its helper, as it does for all calls of the MPI's that block.
  template <class Body>
  void ask_mpi(Body body) {
    if (!leads_) return;
    const progress::Blocking blocking;
    keep(body(rank_.leaders.communicator()));
  }
  /// The leader gives, the others take; or all learn of its error. All of the node's ranks take part, also those that do not want it.
  void share(const lane::Memory& data, bool wants = true) {
    meet([&](Team& team) {
      if (leads_ && error_ != MPI_SUCCESS) {
        hand_out_error(team, class_of(error_), call_);
      } else if (leads_) {
        hand_out(team, data, call_);
      } else {
        require(receive_from(team, 0, data, call_) <= data.bytes || !wants, MPI_ERR_TRUNCATE);
      }
    });
  }

 private:
  void keep(int error) noexcept {
    if (error_ == MPI_SUCCESS) error_ = error;
  }
  /// Codes are a process's own.
  static int class_of(int error) noexcept {
    const MpiLock lock;
    int found = MPI_ERR_OTHER;
    PMPI_Error_class(error, &found);
    return found;
  }

  Rank& rank_;
  p2p::Call call_;
  bool leads_;
  int error_ = MPI_SUCCESS;
};

// Counts that no int holds come by calls that only MPIs of MPI-4 have.
#if MPI_VERSION >= 4
constexpr auto native_bcast = PMPI_Bcast_c;
constexpr auto native_reduce = PMPI_Reduce_c;
constexpr auto native_allreduce = PMPI_Allreduce_c;
using Count = MPI_Count;
#else
constexpr auto native_bcast = PMPI_Bcast;
constexpr auto native_reduce = PMPI_Reduce;
constexpr auto native_allreduce = PMPI_Allreduce;
using Count = int;
#endif

/// Operations of MPI's own, all of which are commutative: what is combined in a node need not be neighbours of one another. Those of the
/// program's are left to the MPI, whatever they promise.
bool is_predefined(MPI_Op op) noexcept {
  static const std::array all{MPI_SUM, MPI_MAX, MPI_MIN,  MPI_PROD, MPI_LAND,   MPI_BAND,
                              MPI_LOR, MPI_BOR, MPI_LXOR, MPI_BXOR, MPI_MINLOC, MPI_MAXLOC};
  return std::ranges::find(all, op) != all.end();
}

/// Is a call on so many bytes faster by leaders? Intel MPI 2021.19's own on 32 KB and more take down to half the time. The bytes are the
/// same on all ranks, whatever datatypes they are laid out by.
bool fits_leaders([[maybe_unused]] std::uint64_t bytes) noexcept {
#ifdef I_MPI_VERSION
  constexpr std::uint64_t kUntil = std::uint64_t{32} << 10;
  if (bytes >= kUntil) {
    p2p::tell_left(p2p::Left::large_between_nodes);
    return false;
  }
#endif
  return true;
}

std::uint64_t bytes_of(const Reduction& r) noexcept {
  return static_cast<std::uint64_t>(r.count) * static_cast<std::uint64_t>(r.type.size);
}

/// MPI wants datatype, count and operation to be the same on all ranks, so all answer alike.
bool fits_leaders(const Reduction& r) noexcept {
  if (r.fits_team() && is_predefined(r.combine.operation())) return fits_leaders(bytes_of(r));
  if (r.count > 0) p2p::tell_left(p2p::Left::reductions_between_nodes);
  return false;
}

}  // namespace

std::optional<int> barrier_by_leaders(Rank& rank, p2p::Call call) {
  if (!rank.leaders.ready(rank)) return std::nullopt;
  NodeCall c(rank, call);
  c.meet([&](Team& team) {
    team.pass(call);
    if (c.leads()) team.wait_for_all(call);
  });
  c.ask_mpi([](MPI_Comm leaders) { return PMPI_Barrier(leaders); });
  c.share({});
  return c.error();
}

std::optional<int> broadcast_by_leaders(Rank& rank, const Buffer& buffer, const lane::Memory& data, int root, p2p::Call call) {
  if (!fits_leaders(data.bytes) || !rank.leaders.ready(rank)) return std::nullopt;
  NodeCall c(rank, call);
  const NodeCall::Place from = c.place_of(root);
  // A root that leads sends to the other nodes first, which takes longer.
  const bool first_here = from.here && !from.leads;
  if (first_here) c.meet([&](Team& team) { broadcast_in(team, data, from.rank, call); });
  c.ask_mpi([&](MPI_Comm leaders) { return native_bcast(buffer.at, static_cast<Count>(buffer.count), buffer.type, from.node, leaders); });
  if (!first_here) c.share(data);
  return c.error();
}

std::optional<int> reduce_by_leaders(Rank& rank, const Reduction& r, int root, p2p::Call call) {
  if (!fits_leaders(r) || !rank.leaders.ready(rank)) return std::nullopt;
  NodeCall c(rank, call);
  const NodeCall::Place to = c.place_of(root);
  const bool wants = rank.rank == root;
  Reduction mine = r;
  std::optional<Scratch> room;
  if (c.leads() && !wants && !c.alone()) {
    mine.to = room.emplace(Scratch::bytes<std::byte>(bytes_of(r))).take<std::byte>(bytes_of(r)).data();
  }
  c.meet([&](Team& team) { combine_in(team, mine, c.leads(), call); });
  c.ask_mpi([&](MPI_Comm leaders) {
    const void* const from = c.alone() ? r.from : mine.to;
    return native_reduce(to.here && from == mine.to ? MPI_IN_PLACE : from, to.here ? mine.to : nullptr, static_cast<Count>(r.count),
                         r.type.handle, r.combine.operation(), to.node, leaders);
  });
  if (to.here && !to.leads) c.share(c.leads() || wants ? memory_of(mine.to, r.count, r.type) : lane::Memory{}, wants);
  return c.error();
}

std::optional<int> allreduce_by_leaders(Rank& rank, const Reduction& r, p2p::Call call) {
  if (!fits_leaders(r) || !rank.leaders.ready(rank)) return std::nullopt;
  NodeCall c(rank, call);
  c.meet([&](Team& team) { combine_in(team, r, c.leads(), call); });
  c.ask_mpi([&](MPI_Comm leaders) {
    const void* const from = c.alone() ? r.from : r.to;
    return native_allreduce(from == r.to ? MPI_IN_PLACE : from, r.to, static_cast<Count>(r.count), r.type.handle, r.combine.operation(),
                            leaders);
  });
  c.share(memory_of(r.to, r.count, r.type));
  return c.error();
}

}  // namespace plait::collective
