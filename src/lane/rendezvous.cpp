// Messages above the eager limit: the payload stays with the sender until it is matched (RTS), and then comes in pieces by the lane,
// or is copied at once inside a process, or is read from the sender's memory where the sender does not come.
#include <algorithm>
#include <cstring>
#include <new>

#include "base/clock.hpp"
#include "base/delay.hpp"
#include "lane/cells.hpp"
#include "lane/endpoint.hpp"
#include "lane/peer_memory.hpp"

namespace plait::lane {

using transport::Block;
using transport::Cell;
using transport::Chunk;
using transport::Kind;
using transport::Rendezvous;
using transport::Rts;

namespace {

/// A payload is copied in pieces: while the receiver takes one the sender makes the next.
constexpr std::size_t kLeastPiece = 16384;
constexpr std::uint64_t kPieces = 4;
/// How long a receiver waits for the sender to push before it fetches the rest itself.
constexpr std::uint64_t kPatience = 20'000;  // ns

}  // namespace

// ---- the receiver

void Endpoint::accept(Operation& receive, LaneIn& lane, std::uint32_t source, std::int32_t tag, const Rts& offer) noexcept {
  meet(receive, source, tag, offer.bytes);
  receive.in = &lane;
  receive.rendezvous = static_cast<Rendezvous*>(lane.region->at(offer.rendezvous));
  receive.address = offer.address;
  receive.received = 0;
  if (lane.same_process || receive.wanted == 0) {
    if (receive.wanted > 0) copy_from_thread(receive, offer);
    finish_rendezvous(receive);
    return;
  }
  receive.rendezvous->receive = receive.slot;
  receive.rendezvous->wanted = receive.wanted;
  receive.last_seen = now();
  rendezvous_receives_.push_back(receive);
  delay();
  // release: the two fields above.
  receive.rendezvous->state.store(Rendezvous::kCts, std::memory_order_release);
  lane.ring.notify_sender();
}

/// The sender is a thread of this process and leaves its operation and buffer alone until we say that we have it.
void Endpoint::copy_from_thread(Operation& receive, const Rts& offer) noexcept {
  const auto* const send = reinterpret_cast<const Operation*>(offer.operation);  // NOLINT(performance-no-int-to-ptr): it was one
  copy(send->memory, receive.memory, 0, receive.wanted);
  receive.received = receive.wanted;
}

/// We have all: the sender may go on.
void Endpoint::finish_rendezvous(Operation& receive) noexcept {
  delay();
  // release: we have read the sender's buffer.
  receive.rendezvous->state.store(Rendezvous::kFree, std::memory_order_release);
  receive.in->ring.notify_sender();
  end(receive);
}

void Endpoint::take_chunk(LaneIn& lane, const Cell& cell, std::uint32_t bytes) noexcept {
  auto& receive = static_cast<Operation&>(request::in_slot(cell.source));
  const auto chunk = read_payload<Chunk>(cell);
  Block& block = block_at(lane, chunk.block);
  unpack(block.data(), receive.memory, chunk.position, bytes);
  release_block(lane, block);
  receive.received += bytes;
  receive.last_seen = 0;  // the clock is looked at when there is time
  if (receive.received == receive.wanted) {
    rendezvous_receives_.remove(receive);
    finish_rendezvous(receive);
  }
}

/// The sender has not pushed for a while (it computes, or has no core): takes on what is left and fetches it.
bool Endpoint::pull(Operation& receive) noexcept {
  const std::uint64_t time = now();
  if (receive.last_seen == 0) receive.last_seen = time;
  if (receive.address == 0 || time - receive.last_seen < kPatience) return false;
  Rendezvous& r = *receive.rendezvous;
  const Access access = access_to(receive.in->pid, receive.address);
  if (access != Access::allowed) {
    receive.address = 0;  // only the sender can
    if (access == Access::forbidden) return false;
    receive.error = Error::unreachable;  // it has ended; what it had put into the lane has been taken
    rendezvous_receives_.remove(receive);
    finish_rendezvous(receive);
    return true;
  }
  // relaxed: decides who moves what; the bytes themselves were there before the offer was.
  const std::uint64_t begin = r.position.exchange(receive.wanted, std::memory_order_relaxed);
  const std::uint64_t left = receive.wanted - begin;
  delay();
  const Part rest{begin, left};
  if (left > 0 && !read_peer(receive.in->pid, receive.address, receive.memory, {&rest, 1})) {
    receive.error = Error::unreachable;  // the sender has ended
  }
  receive.address = 0;  // nothing is left to be pulled; the chunks before come by the lane
  if (left == 0) return false;
  receive.received += left;
  if (receive.received == receive.wanted) {
    rendezvous_receives_.remove(receive);
    finish_rendezvous(receive);
  }
  return true;
}

bool Endpoint::write_rts(Operation& send, Cell& cell) noexcept {
  OwnRendezvous* const own = take_rendezvous();
  if (!own) return false;
  own->held = true;
  send.order = static_cast<std::uint64_t>(own - rendezvous_.data());
  send.rendezvous = own->rendezvous;
  send.rendezvous->position.store(0, std::memory_order_relaxed);
  send.rendezvous->state.store(Rendezvous::kRtsSent, std::memory_order_relaxed);
  send.moved = 0;
  const Rts offer{send.memory.bytes, send.memory.layout ? 0 : reinterpret_cast<std::uint64_t>(send.memory.at), own->offset,
                  reinterpret_cast<std::uint64_t>(&send)};
  write_envelope(cell, send.remote_context, send.source, send.tag);
  std::memcpy(cell.payload, &offer, sizeof offer);
  rendezvous_sends_.push_back(send);
  send.out->ring.publish(cell, Kind::kRts, 0);  // the release covers all of the above
  return true;
}

/// Moves a payload that the receiver wants, as far as there is room; true if something moved.
bool Endpoint::push(Operation& send) noexcept {
  Rendezvous& r = *send.rendezvous;
  // acquire: what the receiver wants; or, when it is done, that it has read the buffer.
  const std::uint32_t state = r.state.load(std::memory_order_acquire);
  if (state == Rendezvous::kRtsSent) return false;
  if (state == Rendezvous::kFree) {
    end_rts(send);
    return true;
  }
  bool moved = false;
  const std::uint64_t piece = std::max(kLeastPiece, (r.wanted / kPieces + 4095) / 4096 * 4096);
  for (;;) {
    std::uint64_t begin = r.position.load(std::memory_order_relaxed);
    if (begin >= r.wanted) break;
    Cell* const cell = send.out->ring.cell();
    if (!cell) break;
    Blocks* from = &large_;
    OwnBlock* own = take_block(*send.out, large_);
    // So that lanes whose receivers do not come stop no other.
    if (!own && send.out->large_blocks == 0) own = take_block(*send.out, *(from = &small_));
    if (!own) break;
    const std::size_t n = std::min({from->bytes, piece, r.wanted - begin});
    // relaxed: see pull().
    if (!r.position.compare_exchange_strong(begin, begin + n, std::memory_order_relaxed)) {
      give_back(*own, *from);
      break;
    }
    delay();
    pack(send.memory, begin, own->block->data(), n);
    write_envelope(*cell, 0, r.receive, 0);
    const Chunk chunk{begin, own->offset};
    std::memcpy(cell->payload, &chunk, sizeof chunk);
    send.out->ring.publish(*cell, Kind::kChunk, n);
    send.moved += n;
    moved = true;
  }
  // Nothing of the buffer is left to be read; the rendezvous is the receiver's until it frees it.
  if (send.moved == r.wanted) end_rts(send);
  return moved;
}

void Endpoint::end_rts(Operation& send) noexcept {
  rendezvous_sends_.remove(send);
  rendezvous_[send.order].held = false;
  send.rendezvous = nullptr;
  end(send);
}

Endpoint::OwnRendezvous* Endpoint::take_rendezvous() noexcept {
  for (std::size_t i = 0; i < rendezvous_.size(); ++i) {
    OwnRendezvous& own = rendezvous_[next_rendezvous_];
    next_rendezvous_ = next_rendezvous_ + 1 == rendezvous_.size() ? 0 : next_rendezvous_ + 1;
    // acquire: the receiver does not look at it any more.
    if (!own.held && own.rendezvous->state.load(std::memory_order_acquire) == Rendezvous::kFree) return &own;
  }
  try {
    const Region::Place place = Node::get().region().take(sizeof(Rendezvous));
    return &rendezvous_.emplace_back(OwnRendezvous{static_cast<Rendezvous*>(place.memory), place.offset, false});
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

}  // namespace plait::lane
