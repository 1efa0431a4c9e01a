// Driver: a round from start to end, and the calls that post its operations.
#pragma once

#include "driver.hpp"

#define TRY(call_name, ...) RANDOM_P2P_TRY(where_, call_name, __VA_ARGS__)

namespace random_p2p {

inline Driver::Driver(const Shape& shape, const Types& types, const Communicators& comms, std::vector<int> endpoints, Fault fault,
                      const Quirks& quirks, Where& where)
    : shape_(shape),
      types_(types),
      comms_(comms),
      endpoints_(std::move(endpoints)),
      where_(where),
      pool_(where, quirks, shape.features.has(Feature::get_status)),
      fault_(fault),
      quirks_(quirks) {
  for (const int k : endpoints_) {
    const EndpointId me{where.process, k};
    for (int c = 0; c < shape.communicators(); ++c) {
      if (!shape.is_multiplex(c) && c % shape.endpoints != k) continue;
      const auto members = static_cast<std::size_t>(shape.members(c));
      Incoming in{.communicator = c, .to = me, .inbox = {}, .pairs = {}, .receives = {}, .slots = {}};
      in.pairs.resize(members);
      in.slots.resize(members);
      incoming_.push_back(std::move(in));
      for (std::size_t i = 0; i < members; ++i) {
        outgoing_.push_back({.communicator = c, .from = me, .to = shape.member(c, static_cast<int>(i)), .pair = {}, .slot = {}});
      }
    }
  }
}

inline void Driver::play(std::uint32_t number) {
  where_.round.store(number, std::memory_order_relaxed);
  round_ = plan_round(shape_, number);
  rng_ = Rng(hash(shape_.seed, 5, number, where_.process, endpoints_.front()));
  prepare(round_);
  run(Phase::early);
  if (round_.ready) comms_.wait(Fence::group, endpoints_, where_);
  run(Phase::middle);
  run(Phase::late);
  for (const std::size_t at : cancel_later_) TRY(MPI_Cancel, &pool_.request(at));
  pool_.complete_all(rng_, on_completion());
  for (Record& r : records_) {
    if (r.kind == Record::Kind::receive && r.receive->wild) resolve_wild(r);
  }
  comms_.wait(round_.fence, endpoints_, where_);
  where_.steps.fetch_add(1, std::memory_order_relaxed);
}

inline void Driver::prepare(const Round& round) {
  arena_.reset();
  records_.clear();
  cancel_later_.clear();
  queues_used_ = 0;
  buffer_left_ = buffered_bytes * endpoints_.size();
  const auto new_queue = [this]() -> std::vector<Operation>& {
    if (queues_used_ == queues_.size()) queues_.emplace_back();
    queues_[queues_used_].clear();
    return queues_[queues_used_++];
  };
  for (Outgoing& out : outgoing_) {
    generate_pair(shape_, round, plan_inbox(shape_, round, out.communicator, out.to), out.communicator, out.from, out.to, out.pair);
    if (out.pair.messages.empty()) continue;
    std::vector<Operation>& queue = new_queue();
    for (const Message& m : out.pair.messages) queue.push_back({.out = &out, .message = &m});
  }
  for (Incoming& in : incoming_) {
    in.inbox = plan_inbox(shape_, round, in.communicator, in.to);
    for (std::size_t i = 0; i < in.pairs.size(); ++i) {
      generate_pair(shape_, round, in.inbox, in.communicator, shape_.member(in.communicator, static_cast<int>(i)), in.to, in.pairs[i]);
      if (in.pairs[i].receives.empty()) continue;
      std::vector<Operation>& queue = new_queue();
      for (const Receive& r : in.pairs[i].receives) queue.push_back({.in = &in, .receive = &r});
    }
    if (in.inbox.mode == Mode::exact) continue;
    // One queue for all sources: in a wild inbox the receives' order matters across sources too.
    generate_wild_receives(shape_, round, in.inbox, in.communicator, in.to, in.pairs, in.receives);
    std::vector<Operation>& queue = new_queue();
    for (const Receive& r : in.receives) queue.push_back({.in = &in, .receive = &r});
  }
  next_.assign(queues_used_, 0);
}

inline void Driver::run(Phase phase) {
  // Each queue keeps its order; which queue is next is random.
  turns_.clear();
  for (std::size_t q = 0; q < queues_used_; ++q) {
    for (std::size_t i = next_[q]; i < queues_[q].size() && queues_[q][i].phase() == phase; ++i) turns_.push_back(q);
  }
  rng_.shuffle(turns_);
  operations_.clear();
  for (const std::size_t q : turns_) operations_.push_back(queues_[q][next_[q]++]);
  for (std::size_t i = 0; i < operations_.size(); ++i) {
    where_.steps.fetch_add(1, std::memory_order_relaxed);
    if (rng_.one_in(24)) extra();
    const Operation& op = operations_[i];
    if (i + 1 < operations_.size() && rng_.one_in(2)) {
      const Operation& other = operations_[i + 1];
      if (op.sends() != other.sends() && op.communicator() == other.communicator() && op.blocking() == other.blocking() &&
          !shape_.is_multiplex(op.communicator())) {
        if (op.sends() ? perform_both(op, other) : perform_both(other, op)) {
          ++i;
          continue;
        }
      }
    }
    perform(op);
  }
}

inline void Driver::perform(const Operation& op) {
  const bool multiplex = shape_.is_multiplex(op.communicator());
  if (!op.sends()) {
    if (multiplex) return receive_multiplex(op);
    return op.blocking() ? receive_blocking(op) : receive_nonblocking(op);
  }
  const Buffer b = send_buffer(*op.message);
  if (multiplex) return send_multiplex(op, b);
  op.blocking() ? send_blocking(op, b) : send_nonblocking(op, b);
}

inline std::size_t Driver::pend(MPI_Request request, int record, int communicator, Pool::After after) {
  const Record& r = records_[record];
  const bool wild = r.kind == Record::Kind::receive && r.receive->wild;
  return pool_.add(request, {.owner = record,
                             .needs_status = wild || r.kind == Record::Kind::cancelled,
                             .quirky = after != Pool::After::gone && !held_to_standard(communicator),
                             .after = after});
}

/// The calls that send and receive at once, or two persistent requests started together. False: not this time.
inline bool Driver::perform_both(const Operation& send, const Operation& receive) {
  const bool blocking = send.blocking(), persistent = rng_.one_in(2);
  [[maybe_unused]] const bool status_lost = quirks(receive.communicator()).isendrecv_status_lost;
#if MPI_VERSION >= 4
  const bool isendrecv = !blocking && !persistent && has(Feature::isendrecv) && !(status_lost && receive.receive->wild);
#else
  const bool isendrecv = false;
#endif
  if (blocking ? !has(Feature::sendrecv) : persistent ? !has(Feature::persistent) : !isendrecv) return false;
  const Buffer from = send_buffer(*send.message), to = receive_buffer(receive);
  const int dest = send.out->to.process, tag = send.message->tag, source = source_rank(*receive.receive), want = mpi_tag(*receive.receive);
  if (blocking) {
    MPI_Status status;
    const int record = expect_receive("MPI_Sendrecv", receive, to);
    TRY(MPI_Sendrecv, from.data(), from.count, from.type(), dest, tag, to.data(), to.count, to.type(), source, want, comm(send), &status);
    completed(record, &status);
    return true;
  }
#if MPI_VERSION >= 4
  if (isendrecv) {
    MPI_Request request = MPI_REQUEST_NULL;
    TRY(MPI_Isendrecv, from.data(), from.count, from.type(), dest, tag, to.data(), to.count, to.type(), source, want, comm(send), &request);
    const int record = expect_receive("MPI_Isendrecv", receive, to);
    records_[record].status_lost = status_lost;
    pend(request, record, receive.communicator());
    return true;
  }
#endif
  MPI_Request both[2];
  TRY(MPI_Send_init, from.data(), from.count, from.type(), dest, tag, comm(send), &both[0]);
  TRY(MPI_Recv_init, to.data(), to.count, to.type(), source, want, comm(send), &both[1]);
  TRY(MPI_Startall, 2, both);
  pend(both[0], expect(Record::Kind::send, "MPI_Startall", nullptr, from), send.communicator(), Pool::After::free);
  pend(both[1], expect_receive("MPI_Startall", receive, to), receive.communicator(), Pool::After::free);
  return true;
}

inline void Driver::send_blocking(const Operation& op, const Buffer& b) {
  const int dest = op.out->to.process, tag = op.message->tag;
  switch (rng_.below(8)) {
    case 0:
    case 1:
      if (!has(Feature::synchronous)) break;
      TRY(MPI_Ssend, b.data(), b.count, b.type(), dest, tag, comm(op));
      return;
    case 2:
      if (!has(Feature::sendrecv) || !has(Feature::nobody)) break;
      TRY(MPI_Sendrecv, b.data(), b.count, b.type(), dest, tag, nullptr, 0, MPI_BYTE, MPI_PROC_NULL, 0, comm(op), MPI_STATUS_IGNORE);
      return;
    case 3:
      if (!may_buffer(op)) break;
      TRY(MPI_Bsend, b.data(), b.count, b.type(), dest, tag, comm(op));
      return;
    case 4:
    case 5:
      if (!op.message->ready || !has(Feature::ready)) break;
      TRY(MPI_Rsend, b.data(), b.count, b.type(), dest, tag, comm(op));
      return;
    default:
      break;
  }
  TRY(MPI_Send, b.data(), b.count, b.type(), dest, tag, comm(op));
}

inline void Driver::send_nonblocking(const Operation& op, const Buffer& b) {
  const int dest = op.out->to.process, tag = op.message->tag;
  MPI_Request request = MPI_REQUEST_NULL;
  const auto sent = [&](const char* call, Pool::After after = Pool::After::gone) {
    pend(request, expect(Record::Kind::send, call, nullptr, b), op.communicator(), after);
  };
  if (op.message->slot && rng_.below(4) != 0) {
    Slot& slot = const_cast<Outgoing*>(op.out)->slot;
    if (slot.request == MPI_REQUEST_NULL) {
      slot.buffer = b;
      slot.buffer.region.buffer = slot_arena_.allocate(b.layout->span(b.count));
      TRY(MPI_Send_init, slot.buffer.data(), b.count, b.type(), dest, tag, comm(op), &slot.request);
    }
    fill(slot.buffer, *op.message);
    TRY(MPI_Start, &slot.request);
    request = slot.request;
    return sent("MPI_Start", Pool::After::keep);
  }
  const std::uint32_t draw = rng_.below(20);
  if (draw < 3 && has(Feature::synchronous)) {
    TRY(MPI_Issend, b.data(), b.count, b.type(), dest, tag, comm(op), &request);
    return sent("MPI_Issend");
  }
  if (draw < 5 && may_buffer(op)) {
    if (rng_.one_in(2)) {
      TRY(MPI_Bsend, b.data(), b.count, b.type(), dest, tag, comm(op));
      return;
    }
    TRY(MPI_Ibsend, b.data(), b.count, b.type(), dest, tag, comm(op), &request);
    return sent("MPI_Ibsend");
  }
  if (draw >= 5 && draw < 7 && has(Feature::persistent)) {
    if (op.message->ready && has(Feature::ready)) {
      TRY(MPI_Rsend_init, b.data(), b.count, b.type(), dest, tag, comm(op), &request);
    } else if (rng_.one_in(3) && has(Feature::synchronous)) {
      TRY(MPI_Ssend_init, b.data(), b.count, b.type(), dest, tag, comm(op), &request);
    } else if (rng_.one_in(3) && may_buffer(op)) {
      TRY(MPI_Bsend_init, b.data(), b.count, b.type(), dest, tag, comm(op), &request);
    } else {
      TRY(MPI_Send_init, b.data(), b.count, b.type(), dest, tag, comm(op), &request);
    }
    TRY(MPI_Start, &request);
    return sent("MPI_Start", Pool::After::free);
  }
  if (draw < 12 && op.message->ready && has(Feature::ready)) {
    TRY(MPI_Irsend, b.data(), b.count, b.type(), dest, tag, comm(op), &request);
    return sent("MPI_Irsend");
  }
  TRY(MPI_Isend, b.data(), b.count, b.type(), dest, tag, comm(op), &request);
  if (draw < 14 && may_free(op.communicator())) {
    TRY(MPI_Request_free, &request);
    if (request != MPI_REQUEST_NULL) fail(where_, "a freed request is not null");
    return;
  }
  sent("MPI_Isend");
}

inline void Driver::send_multiplex([[maybe_unused]] const Operation& op, [[maybe_unused]] const Buffer& b) {
#ifdef PLAIT_LINKED
  const int dest = op.out->to.process, tag = op.message->tag, from = op.out->from.index, to = op.out->to.index;
  if (op.blocking()) {
    TRY(MPIX_Stream_send, b.data(), b.count, b.type(), dest, tag, comm(op), from, to);
    return;
  }
  MPI_Request request = MPI_REQUEST_NULL;
  TRY(MPIX_Stream_isend, b.data(), b.count, b.type(), dest, tag, comm(op), from, to, &request);
  if (rng_.one_in(10) && may_free(op.communicator())) {
    TRY(MPI_Request_free, &request);
  } else {
    pend(request, expect(Record::Kind::send, "MPIX_Stream_isend", nullptr, b), op.communicator());
  }
#endif
}

inline void Driver::receive_multiplex([[maybe_unused]] const Operation& op) {
#ifdef PLAIT_LINKED
  const Buffer b = receive_buffer(op);
  const Receive& r = *op.receive;
  if (op.blocking()) {
    MPI_Status status;
    const int record = expect_receive("MPIX_Stream_recv", op, b);
    TRY(MPIX_Stream_recv, b.data(), b.count, b.type(), source_rank(r), mpi_tag(r), comm(op), r.source.index, op.in->to.index, &status);
    return completed(record, &status);
  }
  MPI_Request request = MPI_REQUEST_NULL;
  TRY(MPIX_Stream_irecv, b.data(), b.count, b.type(), source_rank(r), mpi_tag(r), comm(op), r.source.index, op.in->to.index, &request);
  pend(request, expect_receive("MPIX_Stream_irecv", op, b), op.communicator());
#endif
}

inline void Driver::receive_nonblocking(const Operation& op) {
  const Receive& r = *op.receive;
  const int source = source_rank(r), tag = mpi_tag(r);
  if (!r.wild && r.tag == slot_tag && rng_.below(4) != 0) {
    Slot& slot = op.in->slots[r.pair];
    if (slot.request == MPI_REQUEST_NULL) {
      slot.buffer = receive_buffer(op);
      Region& region = slot.buffer.region;
      const std::ptrdiff_t at = region.buffer - region.base;
      region.base = slot_arena_.allocate(region.size);
      region.buffer = region.base + at;
      TRY(MPI_Recv_init, region.buffer, slot.buffer.count, slot.buffer.type(), source, tag, comm(op), &slot.request);
    }
    std::memset(slot.buffer.region.base, static_cast<int>(canary), slot.buffer.region.size);
    TRY(MPI_Start, &slot.request);
    pend(slot.request, expect_receive("MPI_Start", op, slot.buffer), op.communicator(), Pool::After::keep);
    return;
  }
  const Buffer b = receive_buffer(op);
  MPI_Request request = MPI_REQUEST_NULL;
  if (rng_.one_in(10) && has(Feature::persistent)) {
    TRY(MPI_Recv_init, b.data(), b.count, b.type(), source, tag, comm(op), &request);
    TRY(MPI_Start, &request);
    pend(request, expect_receive("MPI_Start", op, b), op.communicator(), Pool::After::free);
    return;
  }
  TRY(MPI_Irecv, b.data(), b.count, b.type(), source, tag, comm(op), &request);
  pend(request, expect_receive("MPI_Irecv", op, b), op.communicator());
}

inline void Driver::receive_blocking(const Operation& op) {
  const Receive& r = *op.receive;
  const int source = source_rank(r), tag = mpi_tag(r);
  MPI_Status probed, status;
  std::uint32_t draw = rng_.below(8);
  if ((draw == 0 && (!has(Feature::sendrecv) || !has(Feature::nobody))) || ((draw == 3 || draw == 4) && !has(Feature::probe)) ||
      (draw > 4 && !has(Feature::matched))) {
    draw = 1;
  }
  if (draw < 3) {
    const Buffer b = receive_buffer(op);
    const bool ignore = !r.wild && rng_.one_in(4);
    const int record = expect_receive(draw == 0 ? "MPI_Sendrecv" : "MPI_Recv", op, b);
    if (draw == 0) {
      TRY(MPI_Sendrecv, nullptr, 0, MPI_BYTE, MPI_PROC_NULL, 0, b.data(), b.count, b.type(), source, tag, comm(op),
          ignore ? MPI_STATUS_IGNORE : &status);
    } else {
      TRY(MPI_Recv, b.data(), b.count, b.type(), source, tag, comm(op), ignore ? MPI_STATUS_IGNORE : &status);
    }
    return completed(record, ignore ? nullptr : &status);
  }
  // Looks first. The message was sent early, so it comes.
  MPI_Message message = MPI_MESSAGE_NULL;
  const char* call = "";
  int flag = 0;
  if (draw == 3) {
    TRY(MPI_Probe, source, tag, comm(op), &probed);
    call = "MPI_Probe and MPI_Recv";
  } else if (draw == 4) {
    while (flag == 0) {
      TRY(MPI_Iprobe, source, tag, comm(op), &flag, &probed);
      if (flag == 0) sched_yield();
    }
    call = "MPI_Iprobe and MPI_Recv";
  } else if (draw < 7) {
    TRY(MPI_Mprobe, source, tag, comm(op), &message, &probed);
    call = "MPI_Mprobe and MPI_Mrecv";
  } else {
    while (flag == 0) {
      TRY(MPI_Improbe, source, tag, comm(op), &flag, &message, &probed);
      if (flag == 0) sched_yield();
    }
    call = "MPI_Improbe and MPI_Mrecv";
  }
  int elements = -1;
  const Element element = r.wild ? op.in->inbox.element : op.in->pairs[r.pair].messages[r.message].element;
  MPI_Get_count(&probed, types_.get(element, 0).type, &elements);
  if (elements < 0 || elements > static_cast<int>(shape_.max_bytes)) fail(where_, "%s: a count of %d", call, elements);
  const Buffer b = receive_buffer(op, elements);
  const int record = expect_receive(call, op, b);
  if (!r.wild) compare_status(records_[record], expected(records_[record]), r.source, probed, true);
  if (message == MPI_MESSAGE_NULL) {
    TRY(MPI_Recv, b.data(), b.count, b.type(), probed.MPI_SOURCE, probed.MPI_TAG, comm(op), &status);
  } else if (message == MPI_MESSAGE_NO_PROC) {
    fail(where_, "%s: a message from nobody", call);
  } else if (rng_.one_in(2)) {
    TRY(MPI_Mrecv, b.data(), b.count, b.type(), &message, &status);
  } else {
    MPI_Request request = MPI_REQUEST_NULL;
    TRY(MPI_Imrecv, b.data(), b.count, b.type(), &message, &request);
    pend(request, record, op.communicator());
    return;
  }
  int came = -1;
  MPI_Get_count(&status, types_.get(element, 0).type, &came);
  if (status.MPI_SOURCE != probed.MPI_SOURCE || status.MPI_TAG != probed.MPI_TAG || came != elements) {
    fail(where_, "%s: probed source %d tag %d count %d, received source %d tag %d count %d", call, probed.MPI_SOURCE, probed.MPI_TAG,
         elements, status.MPI_SOURCE, status.MPI_TAG, came);
  }
  completed(record, &status);
}

/// What is not a message of the program, and must not disturb any.
inline void Driver::extra() {
  const Incoming& in = incoming_[rng_.below(incoming_.size())];
  if (shape_.is_ordinary(in.communicator) && !has(Feature::ordinary)) return;
  switch (rng_.below(4)) {
    case 0:
      return has(Feature::nobody) ? extra_nobody(in) : void();
    case 1:
      return has(Feature::cancel) ? extra_cancel(in) : void();
    case 2:
      return shape_.is_multiplex(in.communicator) ? void() : extra_probe(in);
    default:
      return pool_.poke(rng_, on_completion());
  }
}

inline void Driver::extra_nobody(const Incoming& in) {
  const MPI_Comm c = comms_[in.communicator];
  const Buffer b{.layout = &types_.get(Element::byte, 0), .count = 8, .region = allocate(8, true)};
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Status status;
  if (shape_.is_multiplex(in.communicator)) {
#ifdef PLAIT_LINKED
    if (rng_.one_in(2)) {
      TRY(MPIX_Stream_irecv, b.data(), 8, MPI_BYTE, MPI_PROC_NULL, 3, c, 0, in.to.index, &request);
      pend(request, expect(Record::Kind::from_nobody, "MPIX_Stream_irecv", nullptr, b), in.communicator);
    } else {
      TRY(MPIX_Stream_isend, b.data(), 8, MPI_BYTE, MPI_PROC_NULL, 3, c, in.to.index, 0, &request);
      pend(request, expect(Record::Kind::send, "MPIX_Stream_isend", nullptr, b), in.communicator);
    }
#endif
    return;
  }
  std::uint32_t draw = rng_.below(7);
  if ((draw == 4 && !has(Feature::probe)) || (draw == 5 && !has(Feature::matched)) ||
      (draw == 6 && (!has(Feature::persistent) || quirks(in.communicator).persistent_nobody_lost))) {
    draw = 1;
  }
  switch (draw) {
    case 0:
      TRY(MPI_Isend, b.data(), 8, MPI_BYTE, MPI_PROC_NULL, 3, c, &request);
      pend(request, expect(Record::Kind::send, "MPI_Isend", nullptr, b), in.communicator);
      return;
    case 1:
      TRY(MPI_Irecv, b.data(), 8, MPI_BYTE, MPI_PROC_NULL, MPI_ANY_TAG, c, &request);
      pend(request, expect(Record::Kind::from_nobody, "MPI_Irecv", nullptr, b), in.communicator);
      return;
    case 2:
      TRY(MPI_Send, b.data(), 8, MPI_BYTE, MPI_PROC_NULL, 3, c);
      if (has(Feature::synchronous)) TRY(MPI_Ssend, b.data(), 8, MPI_BYTE, MPI_PROC_NULL, 3, c);
      return;
    case 3:
      TRY(MPI_Recv, b.data(), 8, MPI_BYTE, MPI_PROC_NULL, 3, c, &status);
      break;
    case 4:
      TRY(MPI_Probe, MPI_PROC_NULL, 3, c, &status);
      break;
    case 5: {
      MPI_Message message = MPI_MESSAGE_NULL;
      TRY(MPI_Mprobe, MPI_PROC_NULL, MPI_ANY_TAG, c, &message, &status);
      if (message != MPI_MESSAGE_NO_PROC) fail(where_, "expected MPI_MESSAGE_NO_PROC");
      check_nobody(status);
      TRY(MPI_Mrecv, b.data(), 8, MPI_BYTE, &message, &status);
      break;
    }
    default:
      TRY(MPI_Recv_init, b.data(), 8, MPI_BYTE, MPI_PROC_NULL, 3, c, &request);
      TRY(MPI_Start, &request);
      pend(request, expect(Record::Kind::from_nobody, "MPI_Start", nullptr, b), in.communicator, Pool::After::free);
      return;
  }
  check_nobody(status);
}

/// A receive that nothing can match, cancelled at once or when all has been posted.
inline void Driver::extra_cancel(const Incoming& in) {
  const MPI_Comm c = comms_[in.communicator];
  const Buffer b{.layout = &types_.get(Element::byte, 0), .count = 64, .region = allocate(64, true)};
  const int source = has(Feature::wildcard) && rng_.one_in(3) ? MPI_ANY_SOURCE : static_cast<int>(rng_.below(shape_.processes));
  MPI_Request request = MPI_REQUEST_NULL;
  if (shape_.is_multiplex(in.communicator)) {
#ifdef PLAIT_LINKED
    TRY(MPIX_Stream_irecv, b.data(), 64, MPI_BYTE, source, nobody_tag, c, any, in.to.index, &request);
#endif
  } else {
    TRY(MPI_Irecv, b.data(), 64, MPI_BYTE, source, nobody_tag, c, &request);
  }
  if (request == MPI_REQUEST_NULL) return;
  const bool at_once = rng_.one_in(2);
  if (at_once) TRY(MPI_Cancel, &request);
  const std::size_t at = pend(request, expect(Record::Kind::cancelled, "MPI_Cancel", nullptr, b), in.communicator);
  if (!at_once) cancel_later_.push_back(at);
}

/// Looks for what nobody has sent.
inline void Driver::extra_probe(const Incoming& in) {
  const int source = has(Feature::wildcard) && rng_.one_in(2) ? MPI_ANY_SOURCE : static_cast<int>(rng_.below(shape_.processes));
  int flag = -1;
  MPI_Message message = MPI_MESSAGE_NULL;
  if (rng_.one_in(2)) {
    if (!has(Feature::probe)) return;
    TRY(MPI_Iprobe, source, nobody_tag, comms_[in.communicator], &flag, MPI_STATUS_IGNORE);
  } else {
    if (!has(Feature::matched)) return;
    TRY(MPI_Improbe, source, nobody_tag, comms_[in.communicator], &flag, &message, MPI_STATUS_IGNORE);
  }
  if (flag != 0) fail(where_, "found a message with a tag that nobody uses");
}

/// The attached buffer is shared by all endpoints of the process. A fence at the end of the round tells that what lay in
/// it has been received.
inline bool Driver::may_buffer(const Operation& op) {
  if (round_.fence == Fence::none || !has(Feature::buffered)) return false;
  const std::size_t bytes = op.message->bytes() + MPI_BSEND_OVERHEAD + 128;
  if (op.message->bytes() > 4096 || bytes > buffer_left_) return false;
  buffer_left_ -= bytes;
  return true;
}

/// A send request may be freed where a fence tells when its buffer may be reused.
inline bool Driver::may_free(int communicator) const {
  if (!has(Feature::free)) return false;
  return round_.fence == Fence::all || (round_.fence == Fence::group && !shape_.is_multiplex(communicator));
}

inline const Layout& Driver::draw_layout(Element element, std::uint32_t elements, bool fits_exactly) {
  // Millions of pieces of a few bytes would only test patience.
  const bool large = elements > (1U << 15);
  const int family = rng_.one_in(2) || !has(Feature::derived) ? 0 : static_cast<int>(rng_.below(families));
  const Layout& layout = types_.get(element, family);
  const bool fine_pieces = family > 1 && family < 5;
  if ((fits_exactly && elements % layout.elements != 0) || (large && fine_pieces)) return types_.get(element, 0);
  return layout;
}

inline Driver::Region Driver::allocate(std::size_t bytes, bool any_alignment) {
  const std::size_t shift = any_alignment ? rng_.below(16) : 0;
  Region region{.base = nullptr, .size = margin + shift + bytes + margin, .buffer = nullptr};
  region.base = arena_.allocate(region.size);
  region.buffer = region.base + margin + shift;
  std::memset(region.base, static_cast<int>(canary), region.size);
  return region;
}

inline Driver::Buffer Driver::send_buffer(const Message& m) {
  const Layout& layout = draw_layout(m.element, m.elements, true);
  Buffer b{.layout = &layout, .count = static_cast<int>(m.elements / layout.elements), .region = {}};
  b.region.buffer = arena_.allocate(layout.span(b.count) + 16) + (m.element == Element::byte ? rng_.below(16) : 0);
  fill(b, m);
  return b;
}

inline void Driver::fill(const Buffer& b, const Message& m) {
  if (b.layout->dense()) return fill_payload(m.id, b.region.buffer, m.bytes());
  packed_.resize(m.bytes());
  fill_payload(m.id, packed_.data(), m.bytes());
  scatter(*b.layout, packed_.data(), m.bytes(), b.region.buffer);
}

/// Room for what may come, often for more.
inline Driver::Buffer Driver::receive_buffer(const Operation& op, std::int64_t known_elements) {
  const Receive& r = *op.receive;
  const Message* m = r.wild ? nullptr : &op.in->pairs[r.pair].messages[r.message];
  const Element element = m != nullptr ? m->element : op.in->inbox.element;
  std::uint32_t room = m != nullptr ? m->elements : op.in->inbox.limit / packed_bytes(element);
  if (known_elements >= 0) room = static_cast<std::uint32_t>(known_elements);
  const Layout& layout = draw_layout(element, room, false);
  if (known_elements < 0 && rng_.one_in(2)) room += rng_.below(2 * layout.elements + 8);
  Buffer b{.layout = &layout, .count = static_cast<int>((room + layout.elements - 1) / layout.elements), .region = {}};
  b.region = allocate(layout.span(b.count), element == Element::byte);
  return b;
}

inline void Driver::end() {
  where_.call.store("the last round");
  comms_.wait(Fence::all, endpoints_, where_);
  for (Incoming& in : incoming_) {
    for (Slot& s : in.slots) {
      if (s.request != MPI_REQUEST_NULL) TRY(MPI_Request_free, &s.request);
    }
    if (shape_.is_multiplex(in.communicator) || !has(Feature::probe) || !has(Feature::any_tag) || !has(Feature::wildcard)) continue;
    int flag = -1;
    MPI_Status status;
    TRY(MPI_Iprobe, MPI_ANY_SOURCE, MPI_ANY_TAG, comms_[in.communicator], &flag, &status);
    if (flag != 0) fail(where_, "a message is left: source %d tag %d", status.MPI_SOURCE, status.MPI_TAG);
  }
  for (Outgoing& out : outgoing_) {
    if (out.slot.request != MPI_REQUEST_NULL) TRY(MPI_Request_free, &out.slot.request);
  }
}

}  // namespace random_p2p

#undef TRY
