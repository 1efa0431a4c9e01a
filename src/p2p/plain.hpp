// The inline path for the commonest sends and receives: a rank and a tag without wildcards, a predefined datatype without gaps, and
// the first stream of this process. Any other message, and one that finds no room, takes the path of message.hpp.
#pragma once

#include "lane/eager.hpp"
#include "p2p/message.hpp"
#include "p2p/types.hpp"
#include "transport/network.hpp"

namespace plait::p2p {

/// Are rank and tag numbers of `c`, no wildcards, and is there a stream?
[[nodiscard, gnu::always_inline]] inline bool is_plain(const Communicator& c, int rank, int tag) noexcept {
  // Negative ones are too large.
  return static_cast<unsigned>(rank) < static_cast<unsigned>(c.size) &&
         static_cast<unsigned>(tag) <= static_cast<unsigned>(tag_limit.load(std::memory_order_relaxed)) && !c.locals.empty();
}

[[nodiscard, gnu::always_inline]] inline LocalEndpoint& plain_local(Communicator& c, int rank, int tag) noexcept {
  return c.slots > 1 ? c.locals[c.slot_of(rank, tag)] : c.locals.front();
}

/// True: a few bytes are on their way, and the send is complete.
[[nodiscard, gnu::always_inline]] inline bool send_plain(Communicator& c, const void* buffer, MPI_Count count, MPI_Datatype type, int rank,
                                                         int tag) noexcept {
  const int size = plain_size(type);
  const auto elements = static_cast<std::uint64_t>(count);
  if (size < 0 || !lane::fits_cell(elements, static_cast<std::uint64_t>(size)) || !is_plain(c, rank, tag) ||
      transport::packets_in_line.load(std::memory_order_relaxed) != 0) [[unlikely]]
    return false;
  const std::size_t bytes = elements * static_cast<std::size_t>(size);
  std::uint32_t peer = c.first[static_cast<std::size_t>(rank)];
  if (peer == c.first[static_cast<std::size_t>(rank) + 1]) [[unlikely]]
    return false;
  LocalEndpoint& local = plain_local(c, rank, tag);
  peer += local.first_peer;
  const lane::EndpointGuard guard(*local.endpoint);
  lane::LaneOut* const lane = local.lanes.find(peer);
  if (!lane || !lane::Endpoint::send_inline(*lane, c.peers[peer].context, local.number, tag, buffer, bytes)) return false;
  local.context->sent.count(bytes);
  return true;
}

/// A receive that has started, or null.
[[nodiscard, gnu::always_inline]] inline lane::Operation* receive_plain(Communicator& c, void* buffer, MPI_Count count, MPI_Datatype type,
                                                                        int rank, int tag) noexcept {
  const int size = plain_size(type);
  if (size < 0 || count < 0 || !is_plain(c, rank, tag)) [[unlikely]]
    return nullptr;
  LocalEndpoint& local = plain_local(c, rank, tag);
  lane::Endpoint& endpoint = *local.endpoint;
  const lane::EndpointGuard guard(endpoint);
  lane::Operation* const o = endpoint.used_operation();
  if (!o) [[unlikely]]
    return nullptr;
  o->kind = &kOperation;
  local.context->adopt(*o);
  o->memory.at = static_cast<std::byte*>(buffer);
  o->memory.bytes = static_cast<std::uint64_t>(count) * static_cast<std::uint64_t>(size);
  o->become_receive(c.first[static_cast<std::size_t>(rank)], c.first[static_cast<std::size_t>(rank) + 1], tag);
  endpoint.start_receive(*o);
  return o;
}

}  // namespace plait::p2p
