// An endpoint's messages from and to other nodes.
#include "lane/remote.hpp"

#include <cstring>
#include <memory>
#include <new>

#include "base/fatal.hpp"
#include "lane/eager.hpp"
#include "lane/endpoint.hpp"

namespace plait::lane {

using transport::Network;
using transport::Record;

namespace {

/// Key of the lane to a process of another node; those inside the node have the pid's bits below 2^63.
constexpr std::uint64_t remote_key(std::int32_t process) noexcept { return std::uint64_t{1} << 63 | static_cast<std::uint32_t>(process); }

std::byte* payload_of(Arrival& arrival) noexcept { return reinterpret_cast<std::byte*>(&arrival + 1); }
const std::byte* payload_of(const Arrival& arrival) noexcept { return reinterpret_cast<const std::byte*>(&arrival + 1); }

Arrival* make_arrival(std::size_t payload) noexcept {
  void* const memory = ::operator new(sizeof(Arrival) + payload, std::nothrow);
  if (!memory) fatal("no memory left for a message from another node");  // it would be lost
  return new (memory) Arrival{};
}

Operation& operation_at(std::uint32_t slot) noexcept { return static_cast<Operation&>(request::in_slot(slot)); }

bool put(std::int32_t process, const Record& record, bool must) noexcept {
  Network& n = *transport::network();
  if (!n.begin(process, record, must)) return false;
  n.end(process, record);
  return true;
}

// ---- what the thread that drives the network does; the endpoint's own takes it from there

void on_record(const Record& record, const std::byte* payload) {
  const bool back = record.kind == Record::Kind::kCts || record.kind == Record::Kind::kFin;
  // The sender's operation stays until it has its answer.
  Endpoint* const endpoint = back ? operation_at(record.target).endpoint : find_endpoint(record.target);
  if (!endpoint) {  // the communicator is gone
    if (record.kind != Record::Kind::kMessage) answer_remote(record.process, record.operation);
    return;
  }
  Arrival* const arrival = make_arrival(record.bytes);
  arrival->record = record;
  std::memcpy(payload_of(*arrival), payload, record.bytes);
  endpoint->put_into_inbox(*arrival);
}

void on_moved(std::uint32_t operation, bool ok) {
  Arrival* const arrival = make_arrival(0);
  arrival->record.operation = operation;
  arrival->moved = true;
  arrival->ok = ok;
  operation_at(operation).endpoint->put_into_inbox(*arrival);
}

}  // namespace

constinit const transport::Sink remote_sink{on_record, on_moved};

void answer_remote(std::int32_t process, std::uint32_t operation) noexcept {
  if (operation == kNoAnswer) return;
  Record matched;
  matched.kind = Record::Kind::kFin;
  matched.target = operation;
  matched.process = transport::network()->process();
  static_cast<void>(put(process, matched, true));
}

LaneOut& Endpoint::lane_to_process(std::int32_t process) {
  std::unique_ptr<LaneOut>& known = out_[remote_key(process)];
  if (!known) {
    reserve_sending();
    known = std::make_unique<LaneOut>();
    known->process = process;
  }
  return *known;
}

void Endpoint::put_into_inbox(Arrival& arrival) noexcept {
  Arrival* top = inbox_.load(std::memory_order_relaxed);
  do arrival.next = top;
  // release: what is in the arrival.
  while (!inbox_.compare_exchange_weak(top, &arrival, std::memory_order_release, std::memory_order_relaxed));
  memory_->event.notify();
}

void Endpoint::take_inbox() noexcept {
  // acquire: all of the stack, for each was pushed by a read-modify-write on the last.
  Arrival* stack = inbox_.exchange(nullptr, std::memory_order_acquire);
  Arrival* queue = nullptr;
  while (stack) {
    Arrival* const next = stack->next;
    stack->next = queue;
    queue = stack;
    stack = next;
  }
  while (queue) {
    Arrival* const arrival = queue;
    queue = queue->next;
    take_arrival(*arrival);
    ::operator delete(arrival);
  }
}

void Endpoint::take_arrival(const Arrival& arrival) noexcept {
  const Record& record = arrival.record;
  if (arrival.moved) {
    end_transfer(operation_at(record.operation), arrival.ok);
  } else if (record.kind == Record::Kind::kCts || record.kind == Record::Kind::kFin) {
    take_answer(record);
  } else {
    take_record(record, payload_of(arrival));
  }
}

void Endpoint::take_record(const Record& record, const std::byte* payload) noexcept {
  MatchContext* const context = find_context(record.target);
  Operation* const receive = context ? context->take_posted(record.source, record.tag) : nullptr;
  if (!receive) {
    keep_or_drop_record(context, record, payload);
    return;
  }
  const bool offered = record.kind == Record::Kind::kRts;
  meet(*receive, record.source, record.tag, offered ? record.length : record.bytes);
  if (offered) {
    accept_remote(*receive, record.process, record.operation);
    return;
  }
  answer_remote(record.process, record.operation);
  unpack(payload, receive->memory, 0, receive->wanted);
  receive->received = receive->wanted;
  end(*receive);
}

void Endpoint::keep_or_drop_record(MatchContext* context, const Record& record, const std::byte* payload) noexcept {
  if (!context) {
    answer_remote(record.process, record.operation);
    return;
  }
  Unexpected& message = new_unexpected(record.source, record.tag);
  message.process = record.process;
  message.operation = record.operation;
  message.offered = record.kind == Record::Kind::kRts;
  message.bytes = message.offered ? record.length : record.bytes;
  if (!message.offered) message.keep(payload, record.bytes);
  context->keep(message);
}

/// The payload of a message stays with its sender: says where it is wanted.
void Endpoint::accept_remote(Operation& receive, std::int32_t process, std::uint32_t operation) noexcept {
  receive.received = 0;
  if (receive.wanted == 0) {
    answer_remote(process, operation);
    end(receive);
    return;
  }
  std::byte* to = receive.memory.at;
  if (receive.memory.layout) to = receive.owned = new (std::nothrow) std::byte[receive.wanted];
  if (!to) {
    receive.error = Error::no_memory;
    answer_remote(process, operation);
    end(receive);
    return;
  }
  transport::network()->fetch(process, operation, to, receive.wanted, receive.slot);
}

/// A receiver has matched a send.
void Endpoint::take_answer(const Record& record) noexcept {
  Operation& send = operation_at(record.target);
  if (record.kind == Record::Kind::kFin) {
    end(send);
    return;
  }
  const std::byte* from = send.memory.at;
  if (send.memory.layout) {
    send.owned = new (std::nothrow) std::byte[record.length];
    if (!send.owned) fatal("no memory left to pack a message to another node");  // the receiver waits for it
    pack(send.memory, 0, send.owned, record.length);
    from = send.owned;
  }
  transport::network()->provide(record, from, send.slot);
}

void Endpoint::end_transfer(Operation& operation, bool ok) noexcept {
  if (!ok) operation.error = Error::unreachable;
  if (ok && !operation.is_send && operation.memory.layout) unpack(operation.owned, operation.memory, 0, operation.wanted);
  delete[] operation.owned;
  operation.owned = nullptr;
  if (operation.is_send) {
    end(operation);
    return;
  }
  operation.received = ok ? operation.wanted : 0;
  end(operation);
}

/// Puts a send into what goes to its process next; false where there is no room.
bool Endpoint::write_record(Operation& send) noexcept {
  Network& n = *transport::network();
  const bool small = fits_packet(send.memory.bytes);
  Record record;
  record.kind = !small ? Record::Kind::kRts : send.synchronous ? Record::Kind::kSynchronous : Record::Kind::kMessage;
  record.bytes = small ? static_cast<std::uint32_t>(send.memory.bytes) : 0;
  record.length = send.memory.bytes;
  record.target = send.remote_context;
  record.source = send.source;
  record.tag = send.tag;
  record.process = n.process();
  record.operation = record.kind == Record::Kind::kMessage ? kNoAnswer : send.slot;
  std::byte* const payload = n.begin(send.out->process, record, false);
  if (!payload) return false;
  if (small) pack(send.memory, 0, payload, send.memory.bytes);
  n.end(send.out->process, record);
  if (record.kind == Record::Kind::kMessage) send.endpoint->end(send);
  return true;
}

bool Endpoint::send_record(LaneOut& lane, std::uint32_t context, std::uint32_t source, std::int32_t tag, const void* data,
                           std::size_t bytes) noexcept {
  if (lane.process < 0 || !lane.waiting.empty()) return false;
  Network& n = *transport::network();
  Record record;
  record.bytes = static_cast<std::uint32_t>(bytes);
  record.target = context;
  record.source = source;
  record.tag = tag;
  record.process = n.process();
  record.operation = kNoAnswer;
  std::byte* const payload = n.begin(lane.process, record, false);
  if (!payload) return false;
  if (bytes > 0) std::memcpy(payload, data, bytes);  // there may be no buffer then
  n.end(lane.process, record);
  return true;
}

}  // namespace plait::lane
