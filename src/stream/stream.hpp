// Streams and stream communicators: the objects behind MPIX_Stream and behind an MPI_Comm whose point-to-point messages
// are plait's.
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "lane/context.hpp"
#include "lane/endpoint.hpp"
#include "stream/table.hpp"

namespace plait::stream {

/// A serial context of the program's. Its endpoint goes back to a pool when it is freed, lanes and all, so that programs
/// that make and free streams do not grow.
struct Stream {
  int handle;
  lane::Endpoint* endpoint;
  int communicators = 0;  ///< that it is attached to
};

/// Handles are numbers that are not used again. Any thread. Throw std::bad_alloc.
[[nodiscard]] Stream& create();
/// Null for what is no stream (any more).
[[nodiscard]] Stream* find(int handle) noexcept;
void destroy(Stream& stream) noexcept;
/// How many there are.
[[nodiscard]] std::size_t count() noexcept;

/// The endpoint of all that is done without a stream; its users lock it.
[[nodiscard]] lane::Endpoint& shared_endpoint();
/// Whether it exists, for those that only progress it.
[[nodiscard]] lane::Endpoint* shared_endpoint_if_any() noexcept;

/// Where messages to one endpoint of a communicator go.
struct Peer {
  lane::Address address;
  std::int32_t process = -1;  ///< on another node: its rank in MPI_COMM_WORLD
  std::uint32_t context = 0;  ///< the receiver's number for the communicator
};

/// One of this process's streams in a communicator.
struct Local {
  int stream = 0;  ///< handle; MPIX_STREAM_NULL's for the shared endpoint
  lane::Endpoint* endpoint = nullptr;
  lane::Context* context = nullptr;   ///< outlives the communicator where operations are left
  std::uint32_t number = 0;           ///< among all endpoints of the communicator: the `source` of its messages
  std::vector<lane::LaneOut*> lanes;  ///< by peer, made at first use
};

/// The endpoints of a communicator, numbered through: those of rank r from first[r] to first[r + 1]. It does not change.
struct Members {
  std::vector<std::uint32_t> first;
  std::vector<Peer> peers;
};

/// What find_communicator gives. Where threads are ranks, each has its own.
struct Communicator {
  MPI_Comm handle = MPI_COMM_NULL;
  int rank = 0;
  int size = 0;
  bool multiplex = false;
  std::shared_ptr<const Members> members;
  std::span<const std::uint32_t> first;  ///< of the members
  std::span<const Peer> peers;           ///< of the members
  std::vector<Local> locals;
  /// Where threads are ranks: that of the calling thread, or one without locals if it is none of them. Null elsewhere.
  Communicator* (*of_thread)(Communicator&) noexcept = nullptr;

  [[nodiscard]] std::uint32_t streams_of(int r) const noexcept {
    return first[static_cast<std::size_t>(r) + 1] - first[static_cast<std::size_t>(r)];
  }
  [[nodiscard]] lane::LaneOut& lane(Local& from, std::uint32_t to) {
    lane::LaneOut*& known = from.lanes[to];
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

/// What create_communicator makes, as yet unknown to find_communicator and with a handle that is the caller's to free.
/// Its Locals are those of `streams`, which know that they are attached. Null where no process brings a stream: then
/// `ordinary` is the communicator. Collective over `parent`.
[[nodiscard]] std::unique_ptr<Communicator> build_communicator(MPI_Comm parent, std::span<const int> streams, bool multiplex,
                                                               MPI_Comm* ordinary);
/// Makes it known. Throws std::bad_alloc.
void enter(Communicator& communicator);
void leave(Communicator& communicator) noexcept;
/// Frees what a Local has.
void detach(Local& local) noexcept;

/// Collective over `parent`. Each process brings its streams, by handle; MPIX_STREAM_NULL for none. Returns the MPI's error
/// code, which it has reported; where all processes bring no stream, the new communicator is an ordinary one.
/// Throws MPIError, std::bad_alloc, std::system_error: then on all processes.
[[nodiscard]] MPI_Comm create_communicator(MPI_Comm parent, std::span<const int> streams, bool multiplex);

/// Duplicates of MPI_COMM_WORLD for messages between nodes, made when the MPI is initialised; and their end, when no process
/// will send or receive any more. `serialized`: the MPI does not let several threads in at once.
void set_world(std::vector<MPI_Comm> duplicates, bool serialized);
/// The first of them, or MPI_COMM_NULL.
[[nodiscard]] MPI_Comm world() noexcept;
[[nodiscard]] bool world_is_serialized() noexcept;
void close_world() noexcept;

/// Nodes are told apart by name, as MPIs do: a hash of this one's. Throws MPIError.
[[nodiscard]] std::uint64_t node_hash();

/// Before the MPI frees it.
void destroy_communicator(Communicator& communicator) noexcept;

/// MPI_TAG_UB, known once there is a communicator. relaxed.
extern std::atomic<int> tag_limit;

/// Null for an ordinary one.
[[nodiscard, gnu::always_inline]] inline Communicator* find_communicator(MPI_Comm handle) noexcept {
  if (!communicators_exist()) [[likely]]
    return nullptr;
  Communicator* const c = look_up(handle);
  return c && c->of_thread ? c->of_thread(*c) : c;
}

}  // namespace plait::stream
