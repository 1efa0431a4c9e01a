// Messages above the eager limit: the payload stays with the sender until it is matched (RTS). Then it goes one of four ways. Inside a
// process, the receiver copies it at once. Where one side can map the other's buffer, or both can, they copy parts of it by loads and
// stores. Else both sides copy parts from buffer to buffer by the system's calls; or the sender puts it into the lane in chunks, and the
// receiver reads what is left where the sender does not come.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>

#include "base/clock.hpp"
#include "base/delay.hpp"
#include "lane/cells.hpp"
#include "lane/endpoint.hpp"
#include "lane/peer_memory.hpp"

namespace plait::lane {

using transport::Cell;
using transport::Chunk;
using transport::Kind;
using transport::Rendezvous;
using transport::Rts;

namespace {

/// Where both buffers are contiguous and each side may reach the other's, both copy parts of the payload straight from one to the other,
/// so that it is copied once and by two cores: two parts, and more where they stay large.
constexpr std::uint64_t kLeastPart = 16384;
constexpr std::uint64_t kLargestOfTwo = 131072;
constexpr std::uint64_t kLargestPart = 262144;
constexpr std::uint64_t pages(std::uint64_t bytes) noexcept { return (bytes + 4095) / 4096 * 4096; }
constexpr std::uint64_t part_of(std::uint64_t bytes) noexcept {
  return std::clamp(pages(std::max(bytes / 4, std::min(bytes / 2, kLargestOfTwo))), kLeastPart, kLargestPart);
}
/// Elsewhere the payload comes in chunks, a block each: while the receiver empties one the sender fills the next. So does what is smaller:
/// the system's copy takes longer. Between the two sizes both are tried.
constexpr std::uint64_t kLeastParts = 512 << 10;
constexpr std::uint64_t kAlwaysParts = 8 << 20;
Choice<2>& parts_or_chunks(LaneIn& lane, std::uint64_t bytes) noexcept { return lane.parts_or_chunks[bytes < 4 * kLeastParts ? 0 : 1]; }
/// How long a receiver waits for chunks before it fetches the rest itself.
constexpr std::uint64_t kPatience = 20'000;  // ns

/// Takes it on the caller to move what comes next; nothing is left where that has no bytes.
Part take_part(Rendezvous& r, std::uint64_t wanted, std::uint64_t most) noexcept {
  // relaxed: decides who moves what; the bytes themselves were there before the offer was.
  std::uint64_t begin = r.position.load(std::memory_order_relaxed);
  while (begin < wanted) {
    const std::uint64_t n = std::min(most, wanted - begin);
    if (r.position.compare_exchange_weak(begin, begin + n, std::memory_order_relaxed)) return {begin, n};
  }
  return {};
}

/// Does each side move parts, so that the other one has some to move?
bool in_parts(const Rendezvous& r) noexcept { return r.address != 0 || r.reads || r.mappable; }
/// What a side takes at a time.
std::uint64_t most_of(const Rendezvous& r) noexcept { return in_parts(r) ? part_of(r.wanted) : r.wanted; }

/// Smaller payloads, which go this way only where the sender wants to know that they are matched, are not worth looking for their buffers.
constexpr std::uint64_t kLeastMapped = 4096;

/// Where the other side can map the buffer of a payload; without a file: nowhere.
SharedHeap::Place place_of(const Memory& m, std::uint64_t bytes) noexcept {
  return bytes < kLeastMapped ? SharedHeap::Place{} : find_place(m);
}

/// Asks the system once.
bool may_reach(Access& known, std::int32_t pid, std::uint64_t address) noexcept {
  if (known == Access::unknown) known = access_to(pid, address);
  return known == Access::allowed;
}

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
  map_buffers(receive, offer);
  const bool parts = takes_parts(receive);
  receive.rendezvous->address = parts ? reinterpret_cast<std::uint64_t>(receive.memory.at) : 0;
  rendezvous_receives_.push_back(receive);
  delay();
  // release: the fields above.
  receive.rendezvous->state.store(Rendezvous::kCts, std::memory_order_release);
  lane.ring.notify_sender();
}

/// Which buffers lie where the other side can map them.
void Endpoint::map_buffers(Operation& receive, const Rts& offer) noexcept {
  Rendezvous& r = *receive.rendezvous;
  if (offer.mappable) receive.mapped = map_buffer(receive.in->heap, r.from);
  r.reads = receive.mapped.at != nullptr;
  const SharedHeap::Place mine = place_of(receive.memory, receive.wanted);
  r.mappable = mine.heap.file >= 0;
  if (r.mappable) r.to = mine;
}

/// Does the payload come in parts by the system's calls, or in chunks?
bool Endpoint::takes_parts(Operation& receive) noexcept {
  LaneIn& lane = *receive.in;
  receive.matched = 0;
  if (receive.rendezvous->reads || receive.rendezvous->mappable || receive.wanted < kLeastParts || receive.memory.layout ||
      receive.address == 0 || !may_reach(lane.access, lane.pid, receive.address))
    return false;
  if (receive.wanted >= kAlwaysParts) return true;
  receive.matched = receive.last_seen;
  return parts_or_chunks(lane, receive.wanted).next() == 0;
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
  receive.mapped = {};
  end(receive);
}

void Endpoint::take_chunk(LaneIn& lane, const Cell& cell, std::uint32_t bytes) noexcept {
  const auto chunk = read_payload<Chunk>(cell);
  auto& receive = static_cast<Operation&>(request::in_slot(cell.source));
  take_first(lane, chunk.in, {.receive = &receive, .chunk = true, .begin = chunk.position, .bytes = bytes});
}

void Endpoint::end_chunk(Operation& receive, std::uint64_t bytes) noexcept {
  receive.received += bytes;
  receive.last_seen = 0;  // the clock is looked at when there is time
  (void)finish_if_whole(receive);
}

bool Endpoint::finish_if_whole(Operation& receive) noexcept {
  // acquire: what the sender has written.
  const std::uint64_t written = receive.rendezvous->written.load(std::memory_order_acquire);
  if (receive.received + written < receive.wanted) return false;
  receive.received = receive.wanted;
  // Only where both were there all the time.
  const bool parts = receive.rendezvous->address != 0;
  if (receive.matched != 0 && (parts ? written > 0 : receive.address != 0))
    parts_or_chunks(*receive.in, receive.wanted).took(parts ? 0 : 1, receive.wanted, now() - receive.matched);
  rendezvous_receives_.remove(receive);
  finish_rendezvous(receive);
  return true;
}

/// Copies the next part out of the sender's buffer.
bool Endpoint::pull_mapped(Operation& receive) noexcept {
  const Part part = take_part(*receive.rendezvous, receive.wanted, most_of(*receive.rendezvous));
  delay();
  if (part.bytes == 0) return false;  // the sender has taken the last one, and is at work
  unpack(receive.mapped.at + part.begin, receive.memory, part.begin, part.bytes);
  receive.received += part.bytes;
  (void)finish_if_whole(receive);
  return true;
}

/// Fetches the next part; or, of what comes in chunks, all that is left, where none has come for a while: the sender computes, or has no
/// core.
bool Endpoint::pull(Operation& receive) noexcept {
  if (finish_if_whole(receive)) return true;
  if (receive.mapped.at) return pull_mapped(receive);
  if (receive.address == 0) return false;
  LaneIn& lane = *receive.in;
  const bool parts = receive.rendezvous->address != 0;
  if (!parts) {
    const std::uint64_t time = now();
    if (receive.last_seen == 0) receive.last_seen = time;
    if (time - receive.last_seen < kPatience) return false;
  }
  if (!may_reach(lane.access, lane.pid, receive.address)) {
    receive.address = 0;  // only the sender can
    if (lane.access == Access::forbidden) return false;
    receive.error = Error::unreachable;  // it has ended; what it had put into the lane has been taken
    rendezvous_receives_.remove(receive);
    finish_rendezvous(receive);
    return true;
  }
  const std::uint64_t address = receive.address;
  const Part part = take_part(*receive.rendezvous, receive.wanted, most_of(*receive.rendezvous));
  delay();
  if (part.bytes == 0 || !in_parts(*receive.rendezvous)) receive.address = 0;  // what is left comes by the sender
  if (part.bytes == 0) return false;
  if (!read_peer(lane.pid, address, receive.memory, {&part, 1})) {
    if (errno != ESRCH) {  // a device's memory, for example, which only the sender itself can read
      lane.access = Access::forbidden;
      receive.address = 0;
      // release: where the sender looks for it the part is nobody's.
      receive.rendezvous->returned.store(part.begin + 1, std::memory_order_release);
      lane.ring.notify_sender();
      return true;
    }
    receive.error = Error::unreachable;  // it has ended
  }
  receive.received += part.bytes;
  (void)finish_if_whole(receive);
  return true;
}

bool Endpoint::write_rts(Operation& send, Cell& cell) noexcept {
  OwnRendezvous* const own = take_rendezvous();
  if (!own) return false;
  own->held = true;
  send.order = static_cast<std::uint64_t>(own - rendezvous_.data());
  send.rendezvous = own->rendezvous;
  send.rendezvous->position.store(0, std::memory_order_relaxed);
  send.rendezvous->written.store(0, std::memory_order_relaxed);
  send.rendezvous->returned.store(0, std::memory_order_relaxed);
  send.rendezvous->state.store(Rendezvous::kRtsSent, std::memory_order_relaxed);
  send.moved = 0;
  send.left = {};
  const SharedHeap::Place mine = send.out->same_process ? SharedHeap::Place{} : place_of(send.memory, send.memory.bytes);
  const bool mappable = mine.heap.file >= 0;
  if (mappable) send.rendezvous->from = mine;
  const Rts offer{send.memory.bytes, send.memory.layout ? 0 : reinterpret_cast<std::uint64_t>(send.memory.at), own->offset,
                  reinterpret_cast<std::uint64_t>(&send), mappable};
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
  // acquire: pairs with the store in pull().
  if (const std::uint64_t returned = r.returned.load(std::memory_order_acquire); returned != 0 && send.left.bytes == 0) [[unlikely]] {
    r.returned.store(0, std::memory_order_relaxed);  // there is one at most
    send.left = {returned - 1, std::min(most_of(r), r.wanted - (returned - 1))};
  }
  const bool moved = push_next(send);
  // Nothing of the buffer is left to be read; the rendezvous is the receiver's until it frees it.
  if (send.moved == r.wanted) end_rts(send);
  return moved;
}

/// Moves what comes next, in the way that the two buffers allow.
bool Endpoint::push_next(Operation& send) noexcept {
  Rendezvous& r = *send.rendezvous;
  LaneOut& lane = *send.out;
  if (send.left.bytes > 0) return push_chunks(send);
  if (r.mappable && !send.mapped.at) send.mapped = map_buffer(lane.heap, r.to);
  if (send.mapped.at) return push_part(send);
  if (r.reads) return false;
  return !send.memory.layout && r.address != 0 && may_reach(lane.access, lane.pid, r.address) ? push_part(send) : push_chunks(send);
}

/// Writes the next part into the receiver's buffer.
bool Endpoint::push_part(Operation& send) noexcept {
  Rendezvous& r = *send.rendezvous;
  LaneOut& lane = *send.out;
  const Part part = take_part(r, r.wanted, most_of(r));
  if (part.bytes == 0) return false;
  delay();
  if (send.mapped.at) {
    pack(send.memory, part.begin, send.mapped.at + part.begin, part.bytes);
  } else if (!write_peer(lane.pid, r.address, send.memory.at, part)) {
    lane.access = Access::forbidden;
    send.left = part;
    return true;
  }
  send.moved += part.bytes;
  // release: the bytes are there. After the last ones the receiver may free the rendezvous.
  r.written.fetch_add(part.bytes, std::memory_order_release);
  lane.ring.notify_receiver();
  return true;
}

/// Puts into the lane what there is room for.
bool Endpoint::push_chunks(Operation& send) noexcept {
  Rendezvous& r = *send.rendezvous;
  bool moved = false;
  while (send.left.bytes > 0 || r.position.load(std::memory_order_relaxed) < r.wanted) {
    std::uint64_t most = large_.bytes;
    if (!send.out->ring.has_room(pieces_of(most))) break;
    OwnBlock* own = take_room(*send.out, large_, most);
    // So that lanes whose receivers do not come stop no other.
    if (!own && send.out->large.count == 0) own = take_room(*send.out, small_, most = kSmallMessage);
    if (!own) break;
    if (send.left.bytes == 0) send.left = take_part(r, r.wanted, most);
    if (send.left.bytes == 0) break;  // the receiver has been faster
    const Part part{send.left.begin, std::min(most, send.left.bytes)};
    send.left = {part.begin + part.bytes, send.left.bytes - part.bytes};
    delay();
    publish_block(*send.out, *own, send.memory, part, Kind::kChunk, [&](Cell& cell, transport::InBlock where) {
      write_envelope(cell, 0, r.receive, 0);
      write_payload(cell, Chunk{where, part.begin});
    });
    send.moved += part.bytes;
    send.context->sent.through_chunks += part.bytes;
    moved = true;
  }
  return moved;
}

void Endpoint::end_rts(Operation& send) noexcept {
  send.context->sent.rendezvous += send.memory.bytes;
  rendezvous_sends_.remove(send);
  rendezvous_[send.order].held = false;
  send.rendezvous = nullptr;
  send.mapped = {};
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
