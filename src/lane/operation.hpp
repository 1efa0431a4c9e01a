// An operation: one send or one receive of an endpoint, from its start to its completion. The request behind an MPI_Isend,
// MPI_Irecv and their like; blocking calls have one for as long as they take.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/list.hpp"
#include "lane/memory.hpp"
#include "lane/peer_heaps.hpp"
#include "lane/request.hpp"
#include "transport/ring.hpp"

namespace plait::lane {

class Endpoint;
struct MatchContext;
struct LaneIn;
struct LaneOut;

inline constexpr std::int32_t kAnyTag = -1;

/// Errors by name; src/mpi turns them into MPI's.
enum class Error : std::uint8_t { none, truncated, cancelled, unreachable, no_memory };

/// Members stand in the order of their use: a small message touches the first three cache lines only.
struct Operation : Request {
  /// May it be retired? release by whoever completes it, acquire by whoever waits: the payload is there.
  std::atomic<bool> complete{false};
  bool is_send = false;
  bool synchronous = false;  ///< a send that is not complete before it is matched
  bool freed = false;        ///< by the program: it goes at its completion
  bool posted = false;       ///< a receive in its context's lists
  bool nobody = false;       ///< to or from MPI_PROC_NULL
  bool buffered = false;     ///< a persistent send that takes a copy at each start
  Error error = Error::none;
  std::int32_t tag = 0;
  std::int32_t to_rank = 0;  ///< send: for messages to people
  Endpoint* endpoint = nullptr;
  MatchContext* context = nullptr;  ///< of this side

  Link<Operation> link;  ///< in the list of what it waits for
  /// Send: the receiver's number of the context, and this side's number in the communicator. Receive: sources
  /// [first_source, end_source).
  union {
    std::uint32_t remote_context = 0;
    std::uint32_t first_source;
  };
  union {
    std::uint32_t source = 0;
    std::uint32_t end_source;
  };
  Memory memory;

  std::uint64_t order = 0;  ///< receive: its age among those posted in its context; send: which of the endpoint's rendezvous
  // What the status says of a receive.
  std::uint32_t from = 0;
  std::int32_t with_tag = 0;
  std::uint64_t received = 0;
  std::uint64_t wanted = 0;    ///< receive: bytes that will come
  std::byte* owned = nullptr;  ///< memory of plait's for its payload, freed with it

  // A message that is met and whose payload stays with the sender.
  LaneOut* out = nullptr;  ///< send
  LaneIn* in = nullptr;    ///< receive
  transport::Rendezvous* rendezvous = nullptr;
  std::uint64_t address = 0;    ///< receive: of the sender's buffer, 0 if it cannot be read
  std::uint64_t moved = 0;      ///< send: bytes that this side has written or put into chunks
  Part left;                    ///< send: what this side has taken on itself and could not write
  std::uint64_t last_seen = 0;  ///< receive: when the last piece came
  std::uint64_t matched = 0;    ///< receive: when it was, where the way is chosen by what it takes; else 0
  MappedBuffer mapped;          ///< the other side's buffer

  /// `receiver`: the receiver's number of the match context. `number`: this endpoint's in the communicator. `its_tag`: the message's.
  /// `rank`: the destination, for the watchdog.
  void become_send(LaneOut& lane, std::uint32_t receiver, std::uint32_t number, std::int32_t its_tag, std::int32_t rank) noexcept {
    is_send = true;
    out = &lane;
    remote_context = receiver;
    source = number;
    tag = its_tag;
    to_rank = rank;
  }
  /// A receive from one of [first, end).
  void become_receive(std::uint32_t first, std::uint32_t end, std::int32_t its_tag) noexcept {
    is_send = false;
    first_source = first;
    end_source = end;
    tag = its_tag;
  }
  /// Is this receive one for such a message?
  [[nodiscard]] bool fits(std::uint32_t from_source, std::int32_t its_tag) const noexcept {
    return from_source >= first_source && from_source < end_source && (tag == its_tag || tag == kAnyTag);
  }
};
static_assert(sizeof(Operation) <= request::kSlotBytes);

}  // namespace plait::lane
