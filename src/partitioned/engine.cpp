#include "partitioned/engine.hpp"

#include <algorithm>
#include <new>

#include "base/fatal.hpp"
#include "base/mpi_lock.hpp"
#include "p2p/world.hpp"
#include "transport/packets.hpp"

namespace plait::partitioned {

using transport::must_work;

namespace {

/// Control messages have the first tag, chunks those behind it.
constexpr int kControlTag = 0;
constexpr int kFirstChunkTag = 1;
/// Between nodes, unless the program says otherwise: a message this large takes TCP about as long as ten small ones do.
constexpr std::uint64_t kChunk = std::uint64_t{128} << 10;

}  // namespace

Engine& Engine::get() {
  static Engine& engine = *new Engine;  // never destroyed: exit handlers may still free requests
  return engine;
}

void Engine::open(MPI_Comm comm, bool serialized) noexcept try {
  node_ = p2p::node_hash();
  if (!control_.open(comm, node_, serialized)) {
    PMPI_Comm_free(&comm);
    return;
  }
  comm_ = comm;
  serialized_ = serialized;
  next_tag_ = kFirstChunkTag;
  PMPI_Comm_rank(comm, &process_);
  tag_limit_ = p2p::ask_tag_limit();
  open_ids();
} catch (...) {  // NOLINT(bugprone-empty-catch): there are no partitioned messages; calls that need them say so
}

// ---- taking part

void Engine::begin_use() noexcept {
  // Control messages are exchanged by whichever thread comes, the helper too.
  if (serialized_) need_mpi_lock();
  used_.store(true, std::memory_order_relaxed);
}

void Engine::add(std::unique_ptr<Sender> sender) {
  const std::lock_guard guard(lock_);
  begin_use();
  reap();
  if (sender->side().nobody()) {
    sender->number = next_number_++;
    senders_[sender->number] = std::move(sender);
    return;
  }
  const Side& side = sender->side();
  ControlMessage message;
  message.number = sender->number = next_number_++;
  message.from = process_;
  message.tag = side.tag;
  message.comm = side.comm_id->id;
  message.node = node_;
  message.chunk = side.chunk;
  message.source.region = lane::Node::get().region().name();
  message.source.offset = sender->channel()->address().offset;
  message.source.bytes = side.memory.bytes;
  const lane::Memory& from = sender->readable();
  message.source.address = from.layout ? 0 : reinterpret_cast<std::uint64_t>(from.at);
  if (!from.layout) message.source.buffer = SharedHeap::get().find(from.at, from.bytes);
  const int to = side.process;
  senders_[message.number] = std::move(sender);
  send(message, to);
  static_cast<void>(exchange_messages());
}

void Engine::add(std::unique_ptr<Receiver> receiver) {
  const std::lock_guard guard(lock_);
  begin_use();
  receiver->order = next_order_++;
  Receiver& made = *receiver;
  receivers_.push_back(std::move(receiver));
  if (made.side().nobody()) return;
  waiting_[made.key()].push_back(&made);
  static_cast<void>(exchange_messages());
  match(made.key());
}

void Engine::remove(Sender& sender) noexcept try {
  const std::lock_guard guard(lock_);
  sender.freed = true;
  if (sender.delivered()) take_out(senders_.find(sender.number));
} catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch): its memory stays
}

void Engine::take_out(Senders::iterator at) {
  std::unique_ptr<Sender> owned = std::move(at->second);
  senders_.erase(at);
  owned->end();
  if (owned->side().nobody()) return;
  const bool left = owned->channel()->left();  // or between nodes: nobody looks at the channel
  const bool withdrawn = !owned->started();
  ControlMessage message;
  message.kind = ControlMessage::Kind::withdraw;
  message.number = owned->number;
  message.from = process_;
  message.tag = owned->side().tag;
  message.comm = owned->side().comm_id->id;
  const int to = owned->side().process;
  if (!left) unreleased_.push_back(std::move(owned));
  if (!withdrawn) return;
  // Even if the receiver has answered: it waits for a message that will not come.
  send(message, to);
  static_cast<void>(exchange_messages());
}

void Engine::remove(Receiver& receiver) noexcept try {
  const std::lock_guard guard(lock_);
  const auto at = std::ranges::find_if(receivers_, [&](const auto& r) { return r.get() == &receiver; });
  const std::unique_ptr<Receiver> owned = std::move(*at);
  *at = std::move(receivers_.back());
  receivers_.pop_back();
  if (owned->side().nobody()) return;
  const Key key = owned->key();
  if (!owned->matched()) {
    std::erase(waiting_[key], owned.get());
    return;
  }
  const bool untouched = !owned->started();
  std::unique_ptr<Offer> offer = untouched ? owned->unmatch() : nullptr;
  if (offer) {  // the next one gets it
    if (offer->channel) offer->channel->unmatch();
    offers_[key].push_front(std::move(offer));
    match(key);
  } else if (Offer* const last = owned->offer()) {
    end(*last);
  }
} catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch): its memory stays
}

/// Frees those whose receivers have left.
void Engine::reap() noexcept {
  std::erase_if(unreleased_, [](const auto& s) { return s->channel()->left(); });
}

// ---- matching

void Engine::match(const Key& key) {
  auto& receivers = waiting_[key];
  auto& offers = offers_[key];
  while (!receivers.empty() && !offers.empty()) {
    Receiver& first = *receivers.front();
    receivers.pop_front();
    std::unique_ptr<Offer> offer = std::move(offers.front());
    offers.pop_front();
    connect(first, std::move(offer));
  }
  if (receivers.empty()) waiting_.erase(key);
  if (offers.empty()) offers_.erase(key);
}

void Engine::connect(Receiver& receiver, std::unique_ptr<Offer> offer) {
  const ControlMessage& message = offer->message;
  if (!offer->channel && !offer->net && message.node == node_) offer->channel = ChannelReceiver::attach(message.source);
  if (!offer->channel) {
    const bool first = !offer->net;
    const std::uint64_t asked = message.chunk ? message.chunk : receiver.side().chunk ? receiver.side().chunk : kChunk;
    const Cut cut = first ? Cut::of(message.source.bytes, asked) : offer->net->cut();
    const Route route = first ? Route{comm_, message.from, take_tags(cut.chunks())} : offer->net->route();
    offer->net = std::make_unique<NetReceiver>(receiver.side().memory, message.source.bytes, cut, route);
    if (first) {
      ControlMessage answer;
      answer.kind = ControlMessage::Kind::answer;
      answer.number = message.number;
      answer.from = process_;
      answer.tag = route.tag;
      answer.chunk = cut.chunk;
      send(answer, message.from);
    }
  }
  receiver.match(std::move(offer));
}

int Engine::take_tags(std::uint32_t n) {
  std::vector<int>& free = free_tags_[n];
  if (!free.empty()) {
    const int tag = free.back();
    free.pop_back();
    return tag;
  }
  if (tag_limit_ - next_tag_ < static_cast<int>(n)) {
    fatal("the MPI has no tags left for partitioned messages between nodes; larger chunks need fewer");
  }
  const int tag = next_tag_;
  next_tag_ += static_cast<int>(n);
  return tag;
}

/// Nobody looks at it any more.
void Engine::end(Offer& offer) {
  if (offer.channel) offer.channel->leave();
  if (offer.net) ended_.push_back(std::move(offer.net));
}

// ---- control messages

transport::Traffic Engine::traffic() noexcept {
  const std::lock_guard guard(lock_);
  return traffic_;
}

/// To be sent by the next exchange.
void Engine::send(const ControlMessage& message, int to) {
  if (to == process_) {
    take(message);
  } else {
    unsent_.push_back({MPI_REQUEST_NULL, std::make_unique<ControlMessage>(message), to});
    ++traffic_.sent;
    has_unsent_.store(true, std::memory_order_relaxed);
  }
}

/// Under the lock.
bool Engine::exchange_messages() {
  if (!is_open()) return false;
  const bool moved = exchange_in_node();
  return exchange_by_mpi() || moved;
}

bool Engine::exchange_in_node() {
  bool moved = false;
  for (ControlMessage message; control_.take(message); moved = true) {
    ++traffic_.received;
    take(message);
  }
  std::vector<int> full;  // what goes to one process stays in order
  const auto sent = std::erase_if(unsent_, [&](const Sent& s) {
    if (!control_.reaches(s.to) || std::ranges::find(full, s.to) != full.end()) return false;
    if (control_.put(*s.message, s.to)) return true;
    full.push_back(s.to);
    return false;
  });
  has_unsent_.store(!unsent_.empty(), std::memory_order_relaxed);
  return moved || sent > 0;
}

/// As far as the MPI lets us in.
bool Engine::exchange_by_mpi() {
  const MpiTryLock lock;
  if (!lock) return false;
  for (const auto& net : ended_) free_tags_[net->cut().chunks()].push_back(net->route().tag);
  ended_.clear();
  std::vector<ControlMessage> messages;
  for (;;) {
    int flag = 0;
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Status status;
    must_work(PMPI_Improbe(MPI_ANY_SOURCE, kControlTag, comm_, &flag, &message, &status));
    if (!flag) break;
    must_work(PMPI_Mrecv(&messages.emplace_back(), static_cast<int>(sizeof(ControlMessage)), MPI_BYTE, &message, MPI_STATUS_IGNORE));
  }
  traffic_.received += static_cast<std::int64_t>(messages.size());
  for (const ControlMessage& message : messages) take(message);
  const auto sent = std::erase_if(unsent_, [&](Sent& s) {
    if (control_.reaches(s.to)) return false;
    must_work(PMPI_Isend(s.message.get(), static_cast<int>(sizeof(ControlMessage)), MPI_BYTE, s.to, kControlTag, comm_, &s.request));
    sent_.push_back(std::move(s));
    return true;
  });
  has_unsent_.store(!unsent_.empty(), std::memory_order_relaxed);
  std::erase_if(sent_, [](Sent& s) {
    int flag = 0;
    must_work(PMPI_Test(&s.request, &flag, MPI_STATUS_IGNORE));
    return flag != 0;
  });
  return !messages.empty() || sent > 0;
}

void Engine::take(const ControlMessage& message) {
  switch (message.kind) {
    case ControlMessage::Kind::offer:
      take_offer(message);
      break;
    case ControlMessage::Kind::withdraw:
      take_withdrawal(message);
      break;
    case ControlMessage::Kind::answer:
      take_answer(message);
      break;
    case ControlMessage::Kind::released:
      for (const auto& s : unreleased_) {
        if (s->number == message.number) s->channel()->leave();
      }
      break;
  }
}

void Engine::take_offer(const ControlMessage& message) {
  auto offer = std::make_unique<Offer>();
  offer->message = message;
  offers_[message.key()].push_back(std::move(offer));
  match(message.key());
}

void Engine::take_withdrawal(const ControlMessage& message) {
  const auto is_it = [&](const Offer& o) { return o.message.number == message.number && o.message.key() == message.key(); };
  const Key key = message.key();
  std::unique_ptr<Offer> taken;
  Receiver* waits_again = nullptr;
  if (const auto found = offers_.find(key); found != offers_.end()) {
    const auto at = std::ranges::find_if(found->second, [&](const auto& o) { return is_it(*o); });
    if (at != found->second.end()) {
      taken = std::move(*at);
      found->second.erase(at);
    }
  }
  for (const auto& r : receivers_) {
    if (taken || !r->offer() || !is_it(*r->offer())) continue;
    taken = r->unmatch();
    if (taken) waits_again = r.get();
  }
  if (taken) {
    // The sender waits to be told, here or, on another node, by a message.
    if (!taken->channel && taken->message.node == node_) taken->channel = ChannelReceiver::attach(taken->message.source);
    end(*taken);
    if (!taken->channel) {
      ControlMessage released;
      released.kind = ControlMessage::Kind::released;
      released.number = message.number;
      released.from = process_;
      send(released, message.from);
    }
  }
  if (!waits_again) return;
  auto& line = waiting_[key];
  line.insert(std::ranges::find_if(line, [&](const Receiver* r) { return r->order > waits_again->order; }), waits_again);
  match(key);
}

void Engine::take_answer(const ControlMessage& message) {
  const auto at = senders_.find(message.number);
  if (at == senders_.end()) return;  // it was freed
  const lane::Memory& memory = at->second->readable();
  const Cut cut{std::max<std::uint64_t>(memory.bytes, 1), message.chunk};
  at->second->go_by_net(std::make_unique<NetSender>(memory, cut, Route{comm_, message.from, message.tag}));
}

// ---- moving on

bool Engine::exchange() noexcept try {
  const std::unique_lock guard(lock_, std::try_to_lock);
  return guard && exchange_messages();
} catch (const std::bad_alloc&) {
  fatal("no memory left for partitioned messages");
}

bool Engine::try_progress() noexcept try {
  const std::unique_lock guard(lock_, std::try_to_lock);
  if (!guard) return false;
  bool moved = false;
  bool alone = !unsent_.empty();  // is there one whose other side may still have to be found?
  for (auto at = senders_.begin(); at != senders_.end();) {
    const auto here = at++;
    Sender& sender = *here->second;
    moved |= sender.started() && sender.step();
    alone |= !sender.matched();
    if (sender.freed && sender.delivered()) take_out(here);
  }
  for (const auto& receiver : receivers_) {
    moved |= receiver->step();
    alone |= receiver->unsure();
  }
  return (alone && exchange_messages()) || moved;
} catch (const std::bad_alloc&) {
  fatal("no memory left for partitioned messages");
}

void Engine::close() noexcept {
  if (!is_open()) return;
  const std::lock_guard guard(lock_);
  for (Sent& s : sent_) {
    static_cast<void>(s.message.release());  // NOLINT(bugprone-unused-return-value): the MPI may still read it
    PMPI_Request_free(&s.request);
  }
  sent_.clear();
  ended_.clear();
  PMPI_Comm_free(&comm_);
}

}  // namespace plait::partitioned
