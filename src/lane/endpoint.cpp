#include "lane/endpoint.hpp"

#include <sched.h>

#include <algorithm>
#include <new>

#include "base/delay.hpp"
#include "base/fatal.hpp"
#include "lane/cells.hpp"
#include "lane/eager.hpp"
#include "lane/remote.hpp"
#include "layout/layout.hpp"

namespace plait::lane {

using transport::Cell;
using transport::InBlock;
using transport::Kind;
using transport::Rendezvous;
using transport::Rts;

namespace {

/// Cells taken from one lane before the others have their turn.
constexpr int kTurn = 64;

constexpr std::uint64_t key(Address a) noexcept { return static_cast<std::uint64_t>(a.region) << 32 | (a.offset / 64 + 1); }
constexpr Address unkey(std::uint64_t key) noexcept { return {static_cast<std::int32_t>(key >> 32), ((key & 0xFFFFFFFF) - 1) * 64}; }

}  // namespace

// ---- its threads

bool Endpoint::visit() noexcept {
  const Use seen = use();
  if (seen == Use::shared ? !mutex_.try_lock() : !guard_.visit()) return false;
  if (use() == seen || (use() != Use::shared && seen != Use::shared)) [[likely]]
    return true;
  // Its use was changed before this thread came in. The next visit takes the right way.
  seen == Use::shared ? mutex_.unlock() : guard_.leave();
  return false;
}

void Endpoint::leave() noexcept { use() == Use::shared ? mutex_.unlock() : guard_.leave(); }

void Endpoint::set_use(Use wanted) noexcept {
  // Holds both ways in: the mutex, then the guard.
  const std::lock_guard lock(mutex_);
  if (wanted == Use::shared && use() == Use::shared) return;
  while (!guard_.visit()) sched_yield();
  use_.store(wanted, std::memory_order_relaxed);
  // Under Use::shared the owner stays: a thread that still takes the endpoint for biased must not become its owner.
  if (wanted != Use::shared) owner_.store(nullptr, std::memory_order_relaxed);
  guard_.leave();
}

void Endpoint::lock_for_threads() noexcept {
  if (use() == Use::biased) [[likely]] {
    // relaxed: whose it is orders nothing; the guard does.
    const void* const me = __builtin_thread_pointer();
    const void* owner = owner_.load(std::memory_order_relaxed);
    if (!owner && owner_.compare_exchange_strong(owner, me, std::memory_order_relaxed)) owner = me;
    if (owner == me) [[likely]] {
      guard_.lock();
      // relaxed: a visitor's word is seen by whoever takes the guard after it.
      if (use() == Use::biased) [[likely]]
        return;
      guard_.unlock();
    } else {
      set_use(Use::shared);
    }
  }
  if (mutex_.try_lock()) return;
  mutex_.lock();
  ++lock_waits_;
}

bool Endpoint::try_progress() noexcept {
  // relaxed: a hint. An owner that has come and gone since the last look moves its messages itself, and a visit would cost it a
  // barrier in all threads.
  const std::uint32_t uses = guard_.uses();
  if (use() != Use::shared && seen_uses_.exchange(uses, std::memory_order_relaxed) != uses) return false;
  if (!visit()) return false;
  const bool moved = progress();
  leave();
  if (moved) memory_->event.notify();  // what moved may be what its thread has begun to wait for
  return moved;
}

Endpoint::Endpoint(Use use) : use_(use) {
  Node& node = Node::get();
  const Region::Place place = node.region().take(sizeof(transport::EndpointMemory));
  memory_ = new (place.memory) transport::EndpointMemory{};
  address_ = {node.region_id(), place.offset};
  number_ = list_endpoint(*this);
}

void Endpoint::become_active() noexcept {
  active_ = true;
  set_active(number_);
}

void Endpoint::become_inactive() noexcept {
  active_ = false;
  set_inactive(number_);
}

std::chrono::nanoseconds Endpoint::Waiter::longest() const noexcept {
  using namespace std::chrono_literals;
  // A receive would sooner fetch than sleep.
  return endpoint_.rendezvous_receives_.empty() ? std::chrono::nanoseconds(10ms) : std::chrono::nanoseconds(20us);
}

LaneOut& Endpoint::lane_to(Address to) {
  std::unique_ptr<LaneOut>& known = out_[key(to)];
  if (known) return *known;
  Node& node = Node::get();
  auto lane = std::make_unique<LaneOut>();
  reserve_sending();
  const Region::Place place = node.region().take(sizeof(transport::LaneMemory));
  auto& memory = *static_cast<transport::LaneMemory*>(place.memory);  // zeroes are a new lane
  auto& receiver = *static_cast<transport::EndpointMemory*>(node.at(to));
  memory.sender = address_.offset;
  lane->ring = transport::RingSender(memory, receiver.event);
  lane->pid = node.pid_of(to.region);
  lane->same_process = to.region == node.region_id();
  // release: the receiver sees the lane as we made it.
  const std::uint64_t entry = key({node.region_id(), place.offset});
  std::uint64_t top = receiver.new_lanes.load(std::memory_order_relaxed);
  do memory.next_new = top;
  while (!receiver.new_lanes.compare_exchange_weak(top, entry, std::memory_order_release, std::memory_order_relaxed));
  delay();
  receiver.event.notify();
  lanes_made.fetch_add(1, std::memory_order_relaxed);
  known = std::move(lane);
  return *known;
}

void Endpoint::reserve_sending() {
  if (sending_.capacity() < out_.size()) sending_.reserve(std::max(out_.size(), 2 * sending_.capacity()));
}

void Endpoint::adopt_lanes() noexcept try {
  Node& node = Node::get();
  // acquire: the lanes as they were made, the whole stack of them, for each was pushed by a read-modify-write on the last.
  std::uint64_t entry = memory_->new_lanes.exchange(0, std::memory_order_acquire);
  while (entry) {
    const Address at = unkey(entry);
    RegionMap& region = node.map_of(at.region);
    auto& memory = *static_cast<transport::LaneMemory*>(region.at(at.offset));
    auto& sender = *static_cast<transport::EndpointMemory*>(region.at(memory.sender));
    auto lane = std::make_unique<LaneIn>(
        LaneIn{transport::RingReceiver(memory, sender.event), &region, node.pid_of(at.region), at.region == node.region_id()});
    entry = memory.next_new;
    in_.push_back(std::move(lane));
  }
} catch (const std::bad_alloc&) {
  fatal("no memory left for the lane of an endpoint that sends to this one");
}

// ---- arriving

bool Endpoint::poll(LaneIn& lane) noexcept {
  return lane.ring.poll(kTurn, [&](const Cell& cell, Kind kind, std::uint32_t bytes) {
    if (kind == Kind::kChunk) {
      take_chunk(lane, cell, bytes);
    } else if (kind == Kind::kMore) {
      take_piece(lane, bytes);
    } else {
      take_message(lane, cell, kind, bytes);
    }
  });
}

void Endpoint::take_message(LaneIn& lane, const Cell& cell, Kind kind, std::uint32_t bytes) noexcept {
  if (cell.context != lane.slot_of) [[unlikely]] {
    lane.slot_of = cell.context;
    lane.slot = context_slot(cell.context);
  }
  MatchContext* const context = context_in(lane.slot, cell.context);
  Operation* const receive = context ? context->take_posted(cell.source, cell.tag) : nullptr;
  if (!receive) [[unlikely]] {
    keep_or_drop(context, lane, cell, kind, bytes);
    return;
  }
  if (kind == Kind::kRts) [[unlikely]] {
    accept(*receive, lane, cell.source, cell.tag, read_payload<Rts>(cell));
    return;
  }
  meet(*receive, cell.source, cell.tag, bytes);
  if (kind == Kind::kInline && !receive->memory.layout) [[likely]] {
    copy_small(receive->memory.at, cell.payload, receive->wanted);
  } else if (kind == Kind::kInline) {
    unpack(cell.payload, receive->memory, 0, receive->wanted);
  } else {
    take_first(lane, read_payload<InBlock>(cell), {.receive = receive, .bytes = bytes});
    return;
  }
  receive->received = receive->wanted;
  end(*receive);
}

/// Nobody waits for the message yet, or its communicator is gone.
void Endpoint::keep_or_drop(MatchContext* context, LaneIn& lane, const Cell& cell, Kind kind, std::uint32_t bytes) noexcept {
  Unexpected* const message = context ? &new_unexpected(cell.source, cell.tag) : nullptr;
  if (message) {
    message->bytes = bytes;
    message->lane = &lane;
  }
  if (kind == Kind::kRts) {
    const auto offer = read_payload<Rts>(cell);
    if (message) {
      message->offered = true;
      message->offer = offer;
      message->bytes = offer.bytes;
    } else {
      decline(lane, offer);
    }
  } else if (kind == Kind::kBlock) {
    take_first(lane, read_payload<InBlock>(cell), {.message = message, .bytes = bytes});
  } else if (message) {
    copy_small(message->small.data(), cell.payload, bytes);
    message->here = bytes;
  }
  if (message) context->keep(*message);
}

Unexpected& Endpoint::new_unexpected(std::uint32_t source, std::int32_t tag) noexcept {
  Unexpected* const message = unexpected_.take();
  // No receive is there to be told.
  if (!message) fatal("no memory left for an unexpected message with tag %d", tag);
  message->source = source;
  message->tag = tag;
  return *message;
}

/// Answers an RTS that nobody will receive: the sender has its buffer back.
void Endpoint::decline(LaneIn& lane, const Rts& offer) noexcept {
  static_cast<Rendezvous*>(lane.region->at(offer.rendezvous))->state.store(Rendezvous::kFree, std::memory_order_release);
  lane.ring.notify_sender();
}

void Endpoint::discard(MatchContext& context) noexcept {
  while (Unexpected* const u = context.first_unexpected()) {
    context.take(*u);
    if (u->process >= 0) {
      answer_remote(u->process, u->operation);
    } else if (u->offered) {
      decline(*u->lane, u->offer);
    } else if (u->lane->arriving.message == u) {
      u->lane->arriving.message = nullptr;  // what is to come is for nobody
    }
    unexpected_.give(*u);
  }
}

// ---- receiving

bool Endpoint::start_with_unexpected(Operation& receive) noexcept {
  MatchContext& context = *receive.context;
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
  const auto give = [this](Unexpected* u) { unexpected_.give(*u); };
  const std::unique_ptr<Unexpected, decltype(give)> owned(&message, give);
  if (message.offered && message.lane) {
    accept(receive, *message.lane, message.source, message.tag, message.offer);
    return;
  }
  meet(receive, message.source, message.tag, message.bytes);
  if (message.process >= 0) {
    if (message.offered) {
      accept_remote(receive, message.process, message.operation);
      return;
    }
    answer_remote(message.process, message.operation);  // a synchronous one
  }
  if (message.lost) {
    receive.error = Error::no_memory;
    receive.wanted = 0;
  } else {
    unpack(message.data(), receive.memory, 0, std::min(message.here, receive.wanted));
  }
  if (message.lane && message.lane->arriving.message == &message) {
    message.lane->arriving.message = nullptr;
    message.lane->arriving.receive = &receive;
    return;
  }
  receive.received = receive.wanted;
  end(receive);
}

void Endpoint::cancel(Operation& receive) noexcept {
  if (!receive.posted) return;
  receive.context->unpost(receive);
  receive.error = Error::cancelled;
  receive.received = 0;
  end(receive);
}

// ---- sending

void Endpoint::start_send(Operation& send) noexcept {
  LaneOut& lane = *send.out;
  count_unfinished(1);
  send.context->sent.count(send.memory.bytes, lane.process >= 0);
  if (lane.waiting.empty() && write(send)) return;
  lane.waiting.push_back(send);
  if (!lane.listed) {
    lane.listed = true;
    sending_.push_back(&lane);  // lane_to has reserved the room
  }
}

/// Puts the message, or the offer of it, into the lane; false where there is no room.
bool Endpoint::write(Operation& send) noexcept {
  LaneOut& lane = *send.out;
  if (lane.process >= 0) return write_record(send);
  Cell* const cell = lane.ring.cell();
  if (!cell) return false;
  switch (protocol_of(send.memory.bytes, send.synchronous, lane.same_process)) {
    case Protocol::cell:
      write_envelope(*cell, send.remote_context, send.source, send.tag);
      pack(send.memory, 0, cell->payload, send.memory.bytes);
      lane.ring.publish(*cell, Kind::kInline, send.memory.bytes);
      end(send);
      return true;
    case Protocol::block:
      // Copied once is faster; or no block is free. By rendezvous.
      if (!(send.memory.bytes > kEagerLimitCopiedOnce && is_mappable(send.memory)) && write_block(send)) return true;
      break;
    case Protocol::rendezvous:
      break;
  }
  return write_rts(send, *cell);
}

/// False where there is no room for all of it.
bool Endpoint::write_block(Operation& send) noexcept {
  LaneOut& lane = *send.out;
  const Part all{0, send.memory.bytes};
  if (!lane.ring.has_room(pieces_of(all.bytes))) return false;
  OwnBlock* const own = take_room(lane, blocks_for(all.bytes), all.bytes);
  if (!own) return false;
  publish_block(lane, *own, send.memory, all, Kind::kBlock, [&](Cell& cell, InBlock where) {
    write_envelope(cell, send.remote_context, send.source, send.tag);
    write_payload(cell, where);
  });
  end(send);
  return true;
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
  for (Operation* send = rendezvous_sends_.front(); send;) {
    Operation* const next = List<Operation, &Operation::link>::next(*send);
    moved |= push(*send);
    send = next;
  }
  for (Operation* receive = rendezvous_receives_.front(); receive && !moved;) {
    Operation* const next = List<Operation, &Operation::link>::next(*receive);
    moved |= pull(*receive);
    receive = next;
  }
  return moved;
}

#ifndef NDEBUG
/// A stream is used by one thread at a time; two at once is an error of the program that would corrupt its queues.
void EndpointGuard::catch_second() noexcept {
  thread_local const char here = 0;
  const void* inside = nullptr;
  if (endpoint_.user.compare_exchange_strong(inside, &here, std::memory_order_relaxed)) return;
  fatal("two threads use one MPIX_Stream at the same time; a stream is a serial context");
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

void EndpointGuard::unlock_shared() noexcept { endpoint_.mutex_.unlock(); }

}  // namespace plait::lane
