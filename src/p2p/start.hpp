// Operations: checking their arguments, making and starting them. Private to p2p/. By the thread that uses the endpoint; functions
// throw MPIError, std::bad_alloc, and then nothing is left.
#pragma once

#include <mpi.h>

#include <cstdint>

#include "base/error.hpp"
#include "lane/operation.hpp"
#include "p2p/communicator.hpp"
#include "p2p/envelope.hpp"
#include "p2p/types.hpp"

namespace plait::p2p {

/// Of one with slots. Wildcards that the program has promised not to use are errors.
[[nodiscard, gnu::noinline]] LocalEndpoint& local_of_slot(Communicator& c, int index, const Envelope& envelope);

/// The endpoint here of a message to or from there, by the number of its stream.
[[nodiscard]] inline LocalEndpoint& local_endpoint(Communicator& c, int index, const Envelope& envelope) {
  if (c.slots > 1) [[unlikely]]
    return local_of_slot(c, index, envelope);
  // Without any it is a thread communicator's, used by a thread that is no rank.
  if (index != 0 || c.locals.empty()) [[unlikely]]
    require(index >= 0 && static_cast<std::size_t>(index) < c.locals.size(), c.locals.empty() ? MPI_ERR_COMM : MPI_ERR_ARG);
  return c.locals[static_cast<std::size_t>(index)];
}

inline void check_tag(int tag, bool any) {
  require((tag >= 0 && tag <= tag_limit.load(std::memory_order_relaxed)) || (any && tag == MPI_ANY_TAG), MPI_ERR_TAG);
}

[[nodiscard]] inline std::uint32_t destination(const Communicator& c, const LocalEndpoint& local, const Envelope& to) {
  require(to.rank >= 0 && to.rank < c.size, MPI_ERR_RANK);
  check_tag(to.tag, false);
  const int stream = to.stream == kAnyStream ? 0 : to.stream;
  require(stream >= 0 && static_cast<std::uint32_t>(stream) < c.streams_of(to.rank), MPI_ERR_ARG);
  return local.first_peer + c.first[static_cast<std::size_t>(to.rank)] + static_cast<std::uint32_t>(stream);
}

struct Sources {
  std::uint32_t first, end;
};

[[nodiscard]] inline Sources sources(const Communicator& c, const Envelope& from) {
  require((from.rank >= 0 && from.rank < c.size) || from.rank == MPI_ANY_SOURCE, MPI_ERR_RANK);
  check_tag(from.tag, true);
  if (from.rank == MPI_ANY_SOURCE) return {0, static_cast<std::uint32_t>(c.peers.size())};
  const auto r = static_cast<std::size_t>(from.rank);
  if (from.stream == kAnyStream) return {c.first[r], c.first[r + 1]};
  require(from.stream >= 0 && static_cast<std::uint32_t>(from.stream) < c.streams_of(from.rank), MPI_ERR_ARG);
  const std::uint32_t one = c.first[r] + static_cast<std::uint32_t>(from.stream);
  return {one, one + 1};
}

[[nodiscard]] inline int tag_of(int tag) noexcept { return tag == MPI_ANY_TAG ? lane::kAnyTag : tag; }

[[nodiscard]] lane::Operation& make_operation(lane::Endpoint& endpoint, lane::MatchContext& context);
[[nodiscard]] lane::Operation& make_send(Communicator& c, LocalEndpoint& local, const void* buffer, MPI_Count count, MPI_Datatype type,
                                         const Envelope& to, Mode mode);
/// A receive from MPI_PROC_NULL is complete at once.
[[nodiscard]] lane::Operation& make_receive(Communicator& c, LocalEndpoint& local, void* buffer, MPI_Count count, MPI_Datatype type,
                                            const Envelope& from);
/// To or from MPI_PROC_NULL: complete from the start.
[[nodiscard]] lane::Operation& make_nobody(LocalEndpoint& local, bool is_send);
/// The arguments of one to or from MPI_PROC_NULL.
void check_null(MPI_Count count, MPI_Datatype type, int tag, bool any);
/// Copies the data of a buffered send. Throws std::bad_alloc; the operation is retired then.
void take_data(lane::Operation& o);
/// Starts a send, but what goes over the network may be held back.
[[nodiscard]] Request& start_send(Communicator& c, LocalEndpoint& local, const void* buffer, MPI_Count count, MPI_Datatype type,
                                  const Envelope& to, Mode mode);

}  // namespace plait::p2p
