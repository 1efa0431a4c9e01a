// Communicators whose point-to-point messages are plait's: the objects behind the MPI_Comm of a stream communicator, and of each
// rank of a thread communicator.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/handle_table.hpp"
#include "lane/endpoint.hpp"
#include "lane/match_context.hpp"
#include "p2p/handle_bits.hpp"

namespace plait::p2p {

/// Where messages to one endpoint of a communicator go.
struct Peer {
  lane::Address address;
  std::int32_t process = -1;  ///< on another node: its rank in MPI_COMM_WORLD
  std::uint32_t context = 0;  ///< the receiver's number for the communicator
};

/// One endpoint's lanes to the endpoints of a communicator. Lanes, and the table's pieces, are made at first use: most endpoints send
/// to few peers.
class Lanes {
 public:
  Lanes() = default;
  explicit Lanes(std::size_t peers) : peers_(peers), pieces_((peers + kPiece - 1) / kPiece) {}

  /// Null where there is none yet.
  [[nodiscard, gnu::always_inline]] lane::LaneOut* find(std::uint32_t to) const noexcept {
    const auto& piece = pieces_[to / kPiece];
    return piece ? piece[to % kPiece] : nullptr;
  }
  /// Where it stands, or is to stand. Throws std::bad_alloc.
  [[nodiscard]] lane::LaneOut*& at(std::uint32_t to) {
    auto& piece = pieces_[to / kPiece];
    if (!piece) [[unlikely]]
      piece = std::make_unique<lane::LaneOut*[]>(std::min(kPiece, peers_ - to / kPiece * kPiece));
    return piece[to % kPiece];
  }

 private:
  static constexpr std::size_t kPiece = 256;
  std::size_t peers_ = 0;
  std::vector<std::unique_ptr<lane::LaneOut*[]>> pieces_;
};

/// One of this process's streams in a communicator.
struct LocalEndpoint {
  int stream = 0;  ///< the handle of what the endpoint is attached for; MPIX_STREAM_NULL for the shared one
  lane::Endpoint* endpoint = nullptr;
  lane::MatchContext* context = nullptr;  ///< outlives the communicator where operations are left
  std::uint32_t number = 0;               ///< among all endpoints of the communicator: the `source` of its messages
  std::uint32_t first_peer = 0;           ///< with slots: the number of the first peer that has the same slot
  Lanes lanes;                            ///< by peer
};

/// The endpoints of a communicator, numbered through: those of rank r from first[r] to first[r + 1]. It does not change. With slots each
/// rank has one of these, and its others are among `peers` alone, slot by slot behind them.
struct Members {
  std::vector<std::uint32_t> first;
  std::vector<Peer> peers;
};

/// What find_communicator gives. Where threads are ranks, each has its own.
struct Communicator {
  Communicator() = default;
  virtual ~Communicator() = default;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  MPI_Comm handle = MPI_COMM_NULL;
  int rank = 0;
  int size = 0;
  bool multiplex = false;
  bool ordinary = false;     ///< plait carries it: its endpoint goes with it, and the handle is not plait's
  bool collectives = false;  ///< an ordinary one whose collective calls are plait's, too: it is a collective::Rank
  /// One that spans nodes, some of whose blocking collective calls are plait's in the nodes and the MPI's between them: likewise.
  bool by_leaders = false;
  bool queued = false;  ///< its calls are put on a queue: it is a queue::Communicator
  int queues = 0;       ///< how many of its processes have brought a queue
  /// Endpoints in each process among which messages are shared out by their tags: a power of two. Several where all processes of an
  /// ordinary one have promised to take no tag for any; then tags can be matched apart, and threads with tags of their own do not meet.
  std::uint32_t slots = 1;
  bool slots_by_process = false;  ///< they have promised the same of sources: messages are shared out by sender and receiver, too
  std::shared_ptr<const Members> members;
  std::span<const std::uint32_t> first;  ///< of the members
  std::span<const Peer> peers;           ///< of the members
  std::vector<LocalEndpoint> locals;
  /// Where threads are ranks: that of the calling thread, or one without locals if it is none of them. Null elsewhere.
  Communicator* (*of_thread)(Communicator&) noexcept = nullptr;

  /// The slot of messages between this process and that one, in both of them.
  [[nodiscard]] std::uint32_t slot_of(int other, int tag) const noexcept {
    auto key = static_cast<std::uint32_t>(tag);
    // Shifted so that a few tags times a few processes all have slots of their own.
    if (slots_by_process) key ^= static_cast<std::uint32_t>(rank ^ other) << 2;
    key ^= key >> 16;
    key ^= key >> 8;
    return (key ^ key >> 4) & (slots - 1);
  }
  [[nodiscard]] std::uint32_t streams_of(int r) const noexcept {
    return first[static_cast<std::size_t>(r) + 1] - first[static_cast<std::size_t>(r)];
  }
  [[nodiscard]] lane::LaneOut& lane(LocalEndpoint& from, std::uint32_t to) {
    lane::LaneOut*& known = from.lanes.at(to);
    if (!known) [[unlikely]]
      known = peers[to].process < 0 ? &from.endpoint->lane_to(peers[to].address) : &from.endpoint->lane_to_process(peers[to].process);
    return *known;
  }
  void set_members(std::shared_ptr<const Members> m) noexcept {
    members = std::move(m);
    first = members->first;
    peers = members->peers;
  }
};

/// An endpoint that a process brings to a communicator, and what for. None: the process has made a mistake, of which all learn.
struct Attachment {
  lane::Endpoint* endpoint = nullptr;
  int stream = 0;
  bool queue = false;  ///< the stream stands for a queue
};

/// Frees one that was never entered, and its handle. Other processes may have sent to it.
void discard(Communicator* communicator) noexcept;
/// Unknown to find_communicator as yet: calls discard unless it is released.
struct Discard {
  void operator()(Communicator* c) const noexcept { discard(c); }
};
using Draft = std::unique_ptr<Communicator, Discard>;

/// As yet unknown to find_communicator and with a handle that is the caller's to free. Null where no process brings more than the
/// shared endpoint: then `ordinary` is the communicator. Collective over `parent`. Throws MPIError, std::bad_alloc,
/// std::system_error: then on all processes.
[[nodiscard]] Draft build_communicator(MPI_Comm parent, std::span<const Attachment> endpoints, bool multiplex, MPI_Comm* ordinary);
/// Makes it known. Throws std::bad_alloc.
void enter(Communicator& communicator);
void leave(Communicator& communicator) noexcept;
/// The error handler of a communicator. By who holds the lock around the MPI.
class HandlerOf {
 public:
  explicit HandlerOf(MPI_Comm comm);
  ~HandlerOf();
  HandlerOf(const HandlerOf&) = delete;
  HandlerOf& operator=(const HandlerOf&) = delete;
  [[nodiscard]] MPI_Errhandler get() const noexcept { return handler_; }

 private:
  MPI_Errhandler handler_ = MPI_ERRHANDLER_NULL;
};

/// A new handle of the MPI's with this error handler. This process alone makes it, and no thread waits for another process's while it
/// holds the lock around the MPI. Throws MPIError.
[[nodiscard]] MPI_Comm make_local_handle(MPI_Errhandler handler);
/// One that has the error handler of a communicator, and stays when that is freed: errors of operations that go on are told to it.
/// 0 where there can be none.
[[nodiscard]] std::uint64_t stand_in(MPI_Comm comm) noexcept;
/// Frees what a LocalEndpoint has.
void detach(LocalEndpoint& local) noexcept;
/// Both, of one that was made by new. Before the MPI frees it.
void destroy_communicator(Communicator& communicator) noexcept;

/// Endpoints of ordinary communicators in this process. relaxed: what else is counted is known to who asks.
extern std::atomic<std::size_t> carried_endpoints;
/// How threads use them. relaxed: set before there is any.
extern std::atomic<lane::Use> carried_use;
/// Throws std::bad_alloc, std::system_error.
[[nodiscard]] lane::Endpoint& take_carried_endpoint();

/// MPI_TAG_UB, known once there is a communicator. relaxed.
extern std::atomic<int> tag_limit;

extern HandleTable<Communicator*> communicators_by_handle;
/// How many there are: what every call on a communicator asks first. relaxed: who has a handle was given it after that.
extern std::atomic<int> communicators;
[[nodiscard]] inline bool communicators_exist() noexcept { return communicators.load(std::memory_order_relaxed) != 0; }

/// Null for an ordinary one.
[[nodiscard, gnu::always_inline]] inline Communicator* find_communicator(MPI_Comm handle) noexcept {
  if (!communicators_exist()) [[likely]]
    return nullptr;
  Communicator* const c = communicators_by_handle.find(to_bits(handle), nullptr);
  return c && c->of_thread ? c->of_thread(*c) : c;
}

}  // namespace plait::p2p
