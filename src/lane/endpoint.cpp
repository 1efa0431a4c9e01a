#include "lane/endpoint.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <new>

#include "base/clock.hpp"
#include "lane/remote.hpp"
#include "layout/layout.hpp"

namespace plait::lane {

using transport::Block;
using transport::Cell;
using transport::Chunk;
using transport::InBlock;
using transport::Kind;
using transport::Offer;
using transport::Rendezvous;

namespace {

/// Cells taken from one lane before the others have their turn.
constexpr int kTurn = 64;
/// Sent unasked to another process, up to so many bytes; beyond them the time to ask is little beside that for copying in
/// pieces. Inside a process what is larger than a small block is copied once.
constexpr std::size_t kUnasked = 32768;
/// A payload is copied in pieces: while the receiver takes one the sender makes the next.
constexpr std::size_t kLeastPiece = 16384;
constexpr std::uint64_t kPieces = 4;
/// How long a receiver waits for the sender to push before it fetches the rest itself.
constexpr std::uint64_t kPatience = 20'000;  // ns
/// Fetched at once where it has to be unpacked.
constexpr std::size_t kFetch = 65536;

constexpr std::uint64_t key(Address a) noexcept { return static_cast<std::uint64_t>(a.pid) << 40 | (a.offset / 64 + 1); }
constexpr Address unkey(std::uint64_t key) noexcept {
  return {static_cast<std::int32_t>(key >> 40), ((key & ((std::uint64_t{1} << 40) - 1)) - 1) * 64};
}

template <class T>
T read_payload(const Cell& cell) noexcept {
  T value;
  std::memcpy(&value, cell.payload, sizeof value);
  return value;
}

/// The sender's, by its offset.
Block& block_at(const LaneIn& lane, std::uint64_t offset) { return *static_cast<Block*>(Node::get().at({lane.pid, offset})); }

void write_envelope(Cell& c, std::uint32_t context, std::uint32_t source, std::int32_t tag) noexcept {
  c.context = context;
  c.source = source;
  c.tag = tag;
}

}  // namespace

// ---- making

constinit std::atomic<std::size_t> endpoints_made{0};
constinit std::atomic<std::size_t> lanes_made{0};

namespace {

/// Endpoints are few and stay, so that their list is walked without a lock.
constexpr std::size_t kRollPiece = 64;
constexpr std::size_t kRollPieces = 1024;
constinit std::atomic<std::atomic<Endpoint*>*> roll[kRollPieces];

void enroll(Endpoint& endpoint) {
  static std::mutex lock;
  const std::lock_guard guard(lock);
  const std::size_t at = endpoints_made.load(std::memory_order_relaxed);
  if (at == kRollPiece * kRollPieces) throw std::bad_alloc();
  std::atomic<std::atomic<Endpoint*>*>& piece = roll[at / kRollPiece];
  if (at % kRollPiece == 0) piece.store(new std::atomic<Endpoint*>[kRollPiece], std::memory_order_relaxed);
  piece.load(std::memory_order_relaxed)[at % kRollPiece].store(&endpoint, std::memory_order_relaxed);
  // release: the entry.
  endpoints_made.store(at + 1, std::memory_order_release);
}

template <class Visitor>
bool any_endpoint(Visitor visitor) noexcept {
  const std::size_t n = endpoints_made.load(std::memory_order_acquire);
  bool any = false;
  for (std::size_t i = 0; i < n; ++i) {
    any |= visitor(*roll[i / kRollPiece].load(std::memory_order_relaxed)[i % kRollPiece].load(std::memory_order_relaxed));
  }
  return any;
}

}  // namespace

constinit std::atomic<const Elsewhere*> elsewhere{nullptr};

namespace {

const Elsewhere* neglected_elsewhere() noexcept {
  // acquire: the functions.
  const Elsewhere* const e = elsewhere.load(std::memory_order_acquire);
  return e && e->neglected() ? e : nullptr;
}

bool endpoint_neglected() noexcept {
  return any_endpoint([](const Endpoint& e) { return e.neglected(); });
}

}  // namespace

bool any_neglected() noexcept { return neglected_elsewhere() || endpoint_neglected(); }

bool visit_neglected() noexcept {
  const Elsewhere* const e = neglected_elsewhere();
  const bool moved = e && e->visit();
  if (!endpoint_neglected()) return moved;
  const bool driven = transport::drive_network();
  return any_endpoint([](Endpoint& endpoint) { return endpoint.neglected() && endpoint.visit(); }) || driven || moved;
}

bool Endpoint::visit() noexcept {
  if (shared ? !mutex.try_lock() : !guard.visit()) return false;
  const bool moved = progress();
  if (shared) {
    mutex.unlock();
  } else {
    guard.leave();
  }
  if (moved) wake();  // what moved may be what its thread has begun to wait for
  return moved;
}

Endpoint::Endpoint() {
  Node& node = Node::get();
  const Region::Place place = node.region().take(sizeof(transport::EndpointMemory));
  memory_ = new (place.memory) transport::EndpointMemory{};
  address_ = {node.pid(), place.offset};
  enroll(*this);
}

LaneOut& Endpoint::lane_to(Address to) {
  std::unique_ptr<LaneOut>& known = out_[key(to)];
  if (known) return *known;
  Node& node = Node::get();
  auto lane = std::make_unique<LaneOut>();
  const Region::Place place = node.region().take(sizeof(transport::LaneMemory));
  lane->memory = static_cast<transport::LaneMemory*>(place.memory);  // zeroes are a new lane
  lane->memory->sender = address_.offset;
  lane->receiver = static_cast<transport::EndpointMemory*>(node.at(to));
  lane->same_process = to.pid == node.pid();
  // release: the receiver sees the lane as we made it.
  const std::uint64_t entry = key({node.pid(), place.offset});
  std::uint64_t top = lane->receiver->new_lanes.load(std::memory_order_relaxed);
  do lane->memory->next_new = top;
  while (!lane->receiver->new_lanes.compare_exchange_weak(top, entry, std::memory_order_release, std::memory_order_relaxed));
  lane->receiver->spot.wake_if_parked();
  lanes_made.fetch_add(1, std::memory_order_relaxed);
  known = std::move(lane);
  return *known;
}

void Endpoint::adopt_lanes() noexcept {
  Node& node = Node::get();
  // acquire: the lanes as they were made, the whole stack of them, for each was pushed by a read-modify-write on the last.
  std::uint64_t entry = memory_->new_lanes.exchange(0, std::memory_order_acquire);
  while (entry) {
    const Address at = unkey(entry);
    auto lane = std::make_unique<LaneIn>();
    lane->memory = static_cast<transport::LaneMemory*>(node.at(at));
    lane->sender = static_cast<transport::EndpointMemory*>(node.at({at.pid, lane->memory->sender}));
    lane->pid = at.pid;
    lane->same_process = at.pid == node.pid();
    entry = lane->memory->next_new;
    in_.push_back(std::move(lane));
  }
}

// ---- arriving

bool Endpoint::poll(LaneIn& lane) noexcept {
  bool moved = false;
  for (int i = 0; i < kTurn; ++i) {
    const Cell& cell = lane.memory->cells[lane.position % transport::kCells];
    // acquire: pairs with LaneOut::publish.
    const std::uint64_t head = cell.head.load(std::memory_order_acquire);
    if (head >> 32 != lane.position + 1) break;
    // Only where cells come in a row: a line that the sender has yet to write had better stay with it.
    if (i > 0) __builtin_prefetch(&lane.memory->cells[(lane.position + transport::kAhead / 2) % transport::kCells]);
    take_cell(lane, cell, static_cast<std::uint32_t>(head));
    moved = true;
    if (++lane.position % transport::kReportEvery == 0) {
      // release: we have read the cells.
      lane.memory->consumed.store(lane.position, std::memory_order_release);
      lane.sender->spot.wake_if_parked();
    }
  }
  return moved;
}

void Endpoint::take_cell(LaneIn& lane, const Cell& cell, std::uint32_t kind_bytes) noexcept {
  const auto kind = static_cast<Kind>(kind_bytes >> transport::kKindShift);
  const std::uint32_t bytes = kind_bytes & ((std::uint32_t{1} << transport::kKindShift) - 1);
  if (kind == Kind::kChunk) {
    take_chunk(lane, cell, bytes);
  } else {
    take_message(lane, cell, kind, bytes);
  }
}

void Endpoint::take_message(LaneIn& lane, const Cell& cell, Kind kind, std::uint32_t bytes) noexcept {
  if (cell.context != lane.place_of) [[unlikely]] {
    lane.place_of = cell.context;
    lane.place = place(cell.context);
  }
  Context* const context = context_in(lane.place, cell.context);
  Operation* const receive = context ? context->take_posted(cell.source, cell.tag) : nullptr;
  if (!receive) [[unlikely]] {
    keep_or_drop(context, lane, cell, kind, bytes);
    return;
  }
  if (kind == Kind::kRendezvous) [[unlikely]] {
    accept(*receive, lane, cell.source, cell.tag, read_payload<Offer>(cell));
    return;
  }
  meet(*receive, cell.source, cell.tag, bytes);
  if (kind == Kind::kInline && !receive->memory.layout) [[likely]] {
    copy_small(receive->memory.at, cell.payload, receive->wanted);
  } else if (kind == Kind::kInline) {
    unpack(cell.payload, receive->memory, 0, receive->wanted);
  } else {
    Block& block = block_at(lane, read_payload<InBlock>(cell).block);
    unpack(block.data(), receive->memory, 0, receive->wanted);
    release_block(lane, block);
  }
  receive->received = receive->wanted;
  end_receive(*receive);
}

void Endpoint::release_block(LaneIn& lane, Block& block) noexcept {
  // release: we have read it.
  block.busy.store(0, std::memory_order_release);
  lane.sender->spot.wake_if_parked();
}

/// Nobody waits for the message yet, or its communicator is gone.
void Endpoint::keep_or_drop(Context* context, LaneIn& lane, const Cell& cell, Kind kind, std::uint32_t bytes) noexcept {
  auto message = std::make_unique<Unexpected>();
  message->source = cell.source;
  message->tag = cell.tag;
  message->bytes = bytes;
  message->lane = &lane;
  switch (kind) {
    case Kind::kRendezvous:
      message->offer = read_payload<Offer>(cell);
      message->bytes = message->offer.bytes;
      message->offered = true;
      break;
    case Kind::kBlock: {
      Block& block = block_at(lane, read_payload<InBlock>(cell).block);
      message->large = std::make_unique_for_overwrite<std::byte[]>(bytes);
      std::memcpy(message->large.get(), block.data(), bytes);
      release_block(lane, block);
      break;
    }
    default:
      copy_small(message->small.data(), cell.payload, bytes);
      break;
  }
  if (context) {
    context->keep(*message.release());
  } else {
    drop(*message);
  }
}

void Endpoint::drop(Unexpected& message) noexcept {
  if (message.process >= 0) {
    answer_remote(message.process, message.operation);
    return;
  }
  if (!message.offered) return;
  auto& r = *static_cast<Rendezvous*>(Node::get().at({message.lane->pid, message.offer.rendezvous}));
  r.state.store(Rendezvous::kFree, std::memory_order_release);
  message.lane->sender->spot.wake_if_parked();
}

void Endpoint::discard(Context& context) noexcept {
  while (Unexpected* const u = context.first_unexpected()) {
    context.take(*u);
    drop(*u);
    delete u;
  }
}

// ---- payloads that stay with the sender

void Endpoint::accept(Operation& receive, LaneIn& lane, std::uint32_t source, std::int32_t tag, const Offer& offer) noexcept {
  meet(receive, source, tag, offer.bytes);
  receive.in = &lane;
  receive.rendezvous = static_cast<Rendezvous*>(Node::get().at({lane.pid, offer.rendezvous}));
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
  receiving_.push_back(receive);
  // release: the two fields above.
  receive.rendezvous->state.store(Rendezvous::kWanted, std::memory_order_release);
  lane.sender->spot.wake_if_parked();
}

/// The sender is a thread of this process and leaves its operation and buffer alone until we say that we have it.
void Endpoint::copy_from_thread(Operation& receive, const Offer& offer) noexcept {
  const auto* const send = reinterpret_cast<const Operation*>(offer.operation);  // NOLINT(performance-no-int-to-ptr): it was one
  copy(send->memory, receive.memory, 0, receive.wanted);
  receive.received = receive.wanted;
}

/// We have all: the sender may go on.
void Endpoint::finish_rendezvous(Operation& receive) noexcept {
  // release: we have read the sender's buffer.
  receive.rendezvous->state.store(Rendezvous::kFree, std::memory_order_release);
  receive.in->sender->spot.wake_if_parked();
  end_receive(receive);
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
    receiving_.remove(receive);
    finish_rendezvous(receive);
  }
}

/// The sender has not pushed for a while (it computes, or has no core): takes on what is left and fetches it.
bool Endpoint::pull(Operation& receive) noexcept {
  const std::uint64_t time = now();
  if (receive.last_seen == 0) receive.last_seen = time;
  if (receive.address == 0 || time - receive.last_seen < kPatience) return false;
  Rendezvous& r = *receive.rendezvous;
  std::byte probe{};
  if (!Node::read(receive.in->pid, receive.address, &probe, 1)) {
    receive.address = 0;  // not allowed here: only the sender can
    if (errno != ESRCH) return false;
    receive.error = Error::unreachable;  // it has ended; what it had put into the lane has been taken
    receiving_.remove(receive);
    finish_rendezvous(receive);
    return true;
  }
  // relaxed: decides who moves what; the bytes themselves were there before the offer was.
  const std::uint64_t begin = r.position.exchange(receive.wanted, std::memory_order_relaxed);
  const std::uint64_t left = receive.wanted - begin;
  if (left > 0) {
    receive.address += begin;
    fetch(receive, begin, left);
  }
  receive.address = 0;  // nothing is left to be pulled; the chunks before come by the lane
  if (left == 0) return false;
  receive.received += left;
  if (receive.received == receive.wanted) {
    receiving_.remove(receive);
    finish_rendezvous(receive);
  }
  return true;
}

void Endpoint::fetch(Operation& receive, std::uint64_t begin, std::uint64_t bytes) noexcept {
  bool ok = true;
  if (!receive.memory.layout) {
    ok = Node::read(receive.in->pid, receive.address, receive.memory.at + begin, bytes);
  } else {
    const auto buffer = std::make_unique_for_overwrite<std::byte[]>(kFetch);
    for (std::uint64_t at = 0; at < bytes && ok; at += kFetch) {
      const std::size_t n = std::min<std::uint64_t>(kFetch, bytes - at);
      ok = Node::read(receive.in->pid, receive.address + at, buffer.get(), n);
      unpack(buffer.get(), receive.memory, begin + at, n);
    }
  }
  if (!ok) receive.error = Error::unreachable;  // the sender has ended
}

// ---- receiving

bool Endpoint::start_with_unexpected(Operation& receive) noexcept {
  Context& context = *receive.context;
  Unexpected* const u = context.find(receive.first_source, receive.end_source, receive.tag);
  if (!u) return false;
  context.take(*u);
  start_with(receive, *u);
  return true;
}

void Endpoint::start_receive(Operation& receive, Unexpected& message) noexcept {
  count_unfinished(1);
  start_with(receive, message);
}

void Endpoint::start_with(Operation& receive, Unexpected& message) noexcept {
  const std::unique_ptr<Unexpected> owned(&message);
  if (message.process >= 0) {
    meet(receive, message.source, message.tag, message.bytes);
    if (message.offered) {
      accept_remote(receive, message.process, message.operation);
      return;
    }
    answer_remote(message.process, message.operation);  // a synchronous one
  } else if (message.offered) {
    accept(receive, *message.lane, message.source, message.tag, message.offer);
    return;
  }
  meet(receive, message.source, message.tag, message.bytes);
  unpack(message.data(), receive.memory, 0, receive.wanted);
  receive.received = receive.wanted;
  end_receive(receive);
}

void Endpoint::cancel(Operation& receive) noexcept {
  if (!receive.posted) return;
  receive.context->unpost(receive);
  receive.error = Error::cancelled;
  receive.received = 0;
  end_receive(receive);
}

// ---- sending

void Endpoint::start_send(Operation& send) noexcept {
  LaneOut& lane = *send.out;
  count_unfinished(1);
  if (lane.waiting.empty() && write(send)) return;
  lane.waiting.push_back(send);
  if (!lane.listed) {
    lane.listed = true;
    sending_.push_back(&lane);
  }
}

/// Puts the message, or the offer of it, into the lane; false where there is no room.
bool Endpoint::write(Operation& send) noexcept {
  LaneOut& lane = *send.out;
  if (lane.process >= 0) return write_record(send);
  Cell* const cell = lane.cell();
  if (!cell) return false;
  if (!send.synchronous && send.memory.bytes <= transport::kInline) {
    write_envelope(*cell, send.remote_context, send.source, send.tag);
    pack(send.memory, 0, cell->payload, send.memory.bytes);
    lane.publish(*cell, Kind::kInline, send.memory.bytes);
    end_send(send);
    return true;
  }
  const bool unasked = !send.synchronous && send.memory.bytes <= (lane.same_process ? transport::kSmallBlock : kUnasked);
  if (unasked && write_block(send, *cell, send.memory.bytes <= transport::kSmallBlock ? small_ : large_)) return true;
  return write_offer(send, *cell);
}

bool Endpoint::write_block(Operation& send, Cell& cell, Blocks& blocks) noexcept {
  OwnBlock* const own = take_block(*send.out, blocks);
  if (!own) return false;
  pack(send.memory, 0, own->block->data(), send.memory.bytes);
  write_envelope(cell, send.remote_context, send.source, send.tag);
  const InBlock where{own->offset};
  std::memcpy(cell.payload, &where, sizeof where);
  send.out->publish(cell, Kind::kBlock, send.memory.bytes);
  end_send(send);
  return true;
}

bool Endpoint::write_offer(Operation& send, Cell& cell) noexcept {
  OwnRendezvous* const own = take_rendezvous();
  if (!own) return false;
  own->held = true;
  send.order = static_cast<std::uint64_t>(own - rendezvous_.data());
  send.rendezvous = own->rendezvous;
  send.rendezvous->position.store(0, std::memory_order_relaxed);
  send.rendezvous->state.store(Rendezvous::kOffered, std::memory_order_relaxed);
  send.moved = 0;
  const Offer offer{send.memory.bytes, send.memory.layout ? 0 : reinterpret_cast<std::uint64_t>(send.memory.at), own->offset,
                    reinterpret_cast<std::uint64_t>(&send)};
  write_envelope(cell, send.remote_context, send.source, send.tag);
  std::memcpy(cell.payload, &offer, sizeof offer);
  offered_.push_back(send);
  send.out->publish(cell, Kind::kRendezvous, 0);  // the release covers all of the above
  return true;
}

/// Moves a payload that the receiver wants, as far as there is room; true if something moved.
bool Endpoint::push(Operation& send) noexcept {
  Rendezvous& r = *send.rendezvous;
  // acquire: what the receiver wants; or, when it is done, that it has read the buffer.
  const std::uint32_t state = r.state.load(std::memory_order_acquire);
  if (state == Rendezvous::kOffered) return false;
  if (state == Rendezvous::kFree) {
    end_offer(send);
    return true;
  }
  bool moved = false;
  const std::uint64_t piece = std::max(kLeastPiece, (r.wanted / kPieces + 4095) / 4096 * 4096);
  for (;;) {
    std::uint64_t begin = r.position.load(std::memory_order_relaxed);
    if (begin >= r.wanted) break;
    Cell* const cell = send.out->cell();
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
    pack(send.memory, begin, own->block->data(), n);
    write_envelope(*cell, 0, r.receive, 0);
    const Chunk chunk{begin, own->offset};
    std::memcpy(cell->payload, &chunk, sizeof chunk);
    send.out->publish(*cell, Kind::kChunk, n);
    send.moved += n;
    moved = true;
  }
  // Nothing of the buffer is left to be read; the rendezvous is the receiver's until it frees it.
  if (send.moved == r.wanted) end_offer(send);
  return moved;
}

void Endpoint::end_offer(Operation& send) noexcept {
  offered_.remove(send);
  rendezvous_[send.order].held = false;
  send.rendezvous = nullptr;
  end_send(send);
}

void Endpoint::end_send(Operation& send) noexcept {
  count_unfinished(-1);
  const bool freed = send.freed;
  send.complete.store(true, std::memory_order_release);
  if (freed) {
    --disowned_;
    retire(send);
  }
}

// ---- blocks and meetings

Endpoint::OwnBlock* Endpoint::take_block(LaneOut& lane, Blocks& from) noexcept {
  OwnBlock* found = nullptr;
  for (std::size_t i = 0; i < from.blocks.size() && !found; ++i) {
    OwnBlock& own = from.blocks[from.next];
    from.next = from.next + 1 == from.blocks.size() ? 0 : from.next + 1;
    // acquire: the receiver has copied what was in it.
    if (own.block->busy.load(std::memory_order_acquire)) continue;
    give_back(own, from);
    found = &own;
  }
  if (lane.*from.used >= from.of_lane) return nullptr;
  if (!found && (from.blocks.size() < from.usual || (from.more && lane.*from.used == 0))) found = make_block(from);
  if (!found) return nullptr;
  found->user = &lane;
  ++(lane.*from.used);
  // relaxed: only the sender reads it before the cell is published.
  found->block->busy.store(1, std::memory_order_relaxed);
  return found;
}

Endpoint::OwnBlock* Endpoint::make_block(Blocks& of) noexcept {
  try {
    const Region::Place place = Node::get().region().take(sizeof(Block) + of.bytes);
    return &of.blocks.emplace_back(OwnBlock{static_cast<Block*>(place.memory), place.offset, nullptr});
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

void Endpoint::give_back(OwnBlock& own, const Blocks& to) noexcept {
  if (own.user) --(own.user->*to.used);
  own.user = nullptr;
  own.block->busy.store(0, std::memory_order_relaxed);
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

// ---- all of it

bool Endpoint::progress() noexcept {
  bool moved = false;
  // relaxed: a hint; taking them acquires.
  if (memory_->new_lanes.load(std::memory_order_relaxed)) [[unlikely]]
    adopt_lanes();
  for (const auto& lane : in_) moved |= poll(*lane);
  if (inbox_.load(std::memory_order_relaxed)) [[unlikely]] {  // a hint too
    take_inbox();
    moved = true;
  }
  if (busy()) [[unlikely]]
    moved |= work();
  if (!tasks_.empty()) [[unlikely]]
    moved |= step_tasks();
  return moved;
}

bool Endpoint::step_tasks() noexcept {
  bool moved = false;
  for (Task* task = tasks_.front(); task;) {
    Task* const next = List<Task, &Task::in_endpoint_>::next(*task);
    moved |= task->step();
    task = next;
  }
  return moved;
}

bool Endpoint::work() noexcept {
  bool moved = false;
  for (std::size_t i = 0; i < sending_.size();) {
    LaneOut& lane = *sending_[i];
    while (Operation* const send = lane.waiting.pop_front()) {
      // It left the list first: its link is the next list's.
      if (!write(*send)) {
        lane.waiting.push_front(*send);
        break;
      }
      moved = true;
    }
    if (lane.waiting.empty()) {
      lane.listed = false;
      sending_[i] = sending_.back();
      sending_.pop_back();
    } else {
      ++i;
    }
  }
  for (Operation* send = offered_.front(); send;) {
    Operation* const next = List<Operation, &Operation::link>::next(*send);
    moved |= push(*send);
    send = next;
  }
  for (Operation* receive = receiving_.front(); receive && !moved;) {
    Operation* const next = List<Operation, &Operation::link>::next(*receive);
    moved |= pull(*receive);
    receive = next;
  }
  return moved;
}

void Endpoint::park(std::chrono::nanoseconds longest) noexcept {
  memory_->spot.prepare();
  bool moved = false;
  {
    const Use use(*this);
    moved = progress();
  }
  if (moved) {
    memory_->spot.cancel();
  } else {
    memory_->spot.sleep(longest);
  }
}

#ifndef NDEBUG
/// A stream is used by one thread at a time; two at once is an error of the program that would corrupt its queues.
void Use::catch_second() noexcept {
  thread_local const char here = 0;
  const void* inside = nullptr;
  if (endpoint_.user.compare_exchange_strong(inside, &here, std::memory_order_relaxed)) return;
  std::fputs("plait: two threads use one MPIX_Stream at the same time; a stream is a serial context\n", stderr);
  std::abort();
}
#endif

Operation* Endpoint::make_operation() noexcept {
  if (Operation* const operation = used_operation()) return operation;
  auto* const operation = request::make<Operation>();
  if (operation) operation->endpoint = this;
  return operation;
}

void Endpoint::drop_memory(Operation& operation) noexcept {
  delete[] operation.owned;
  operation.owned = nullptr;
  operation.memory.layout.reset();
}

void Use::lock_shared() noexcept { endpoint_.mutex.lock(); }
void Use::unlock_shared() noexcept { endpoint_.mutex.unlock(); }

}  // namespace plait::lane
