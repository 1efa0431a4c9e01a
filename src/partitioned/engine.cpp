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

/// Notes have the first tag, chunks those behind it.
constexpr int kNoteTag = 0;
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
  control_.open(comm, node_, serialized);
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
  // Notes are exchanged by whichever thread comes, the helper too.
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
  ControlMessage note;
  note.number = sender->number = next_number_++;
  note.from = process_;
  note.tag = side.tag;
  note.comm = side.name->id;
  note.node = node_;
  note.chunk = side.chunk;
  note.source.region = lane::Node::get().region().name();
  note.source.offset = sender->outlet()->address().offset;
  note.source.bytes = side.memory.bytes;
  note.source.address = side.memory.layout ? 0 : reinterpret_cast<std::uint64_t>(side.memory.at);
  if (!side.memory.layout) note.source.buffer = SharedHeap::get().find(side.memory.at, side.memory.bytes);
  const int to = side.process;
  senders_[note.number] = std::move(sender);
  send(note, to);
  static_cast<void>(exchange_notes());
}

void Engine::add(std::unique_ptr<Receiver> receiver) {
  const std::lock_guard guard(lock_);
  begin_use();
  receiver->order = next_order_++;
  Receiver& made = *receiver;
  receivers_.push_back(std::move(receiver));
  if (made.side().nobody()) return;
  waiting_[made.key()].push_back(&made);
  static_cast<void>(exchange_notes());
  match(made.key());
}

void Engine::remove(Sender& sender) noexcept try {
  const std::lock_guard guard(lock_);
  const auto at = senders_.find(sender.number);
  std::unique_ptr<Sender> owned = std::move(at->second);
  senders_.erase(at);
  if (owned->side().nobody()) return;
  const bool left = owned->outlet()->left();  // or linked: nobody looks at the channel
  const bool withdrawn = !owned->started();
  ControlMessage note;
  note.kind = ControlMessage::Kind::withdraw;
  note.number = owned->number;
  note.from = process_;
  note.tag = owned->side().tag;
  note.comm = owned->side().name->id;
  const int to = owned->side().process;
  if (!left) gone_.push_back(std::move(owned));
  if (!withdrawn) return;
  // Even if the receiver has answered: it waits for a message that will not come.
  send(note, to);
  static_cast<void>(exchange_notes());
} catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch): its memory stays
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
    if (offer->inlet) offer->inlet->part();
    offers_[key].push_front(std::move(offer));
    match(key);
  } else if (Offer* const last = owned->offer()) {
    end(*last);
  }
} catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch): its memory stays
}

/// Frees those whose receivers have left.
void Engine::reap() noexcept {
  std::erase_if(gone_, [](const auto& s) { return s->outlet()->left(); });
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
    join(first, std::move(offer));
  }
  if (receivers.empty()) waiting_.erase(key);
  if (offers.empty()) offers_.erase(key);
}

void Engine::join(Receiver& receiver, std::unique_ptr<Offer> offer) {
  const ControlMessage& note = offer->note;
  if (!offer->inlet && !offer->link && note.node == node_) offer->inlet = ChannelReceiver::attach(note.source);
  if (!offer->inlet) {
    const bool first = !offer->link;
    const std::uint64_t asked = note.chunk ? note.chunk : receiver.side().chunk ? receiver.side().chunk : kChunk;
    const Cut cut = first ? Cut::of(note.source.bytes, asked) : offer->link->cut();
    const Route route = first ? Route{comm_, note.from, take_tags(cut.chunks())} : offer->link->route();
    offer->link = std::make_unique<NetReceiver>(receiver.side().memory, note.source.bytes, cut, route);
    if (first) {
      ControlMessage answer;
      answer.kind = ControlMessage::Kind::answer;
      answer.number = note.number;
      answer.from = process_;
      answer.tag = route.tag;
      answer.chunk = cut.chunk;
      send(answer, note.from);
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
  if (offer.inlet) offer.inlet->leave();
  if (offer.link) free_tags_[offer.link->cut().chunks()].push_back(offer.link->route().tag);
}

// ---- notes

/// To be sent by the next exchange.
void Engine::send(const ControlMessage& note, int to) {
  if (to == process_) {
    take(note);
  } else {
    unsent_.push_back({MPI_REQUEST_NULL, std::make_unique<ControlMessage>(note), to});
    has_unsent_.store(true, std::memory_order_relaxed);
  }
}

/// Under the lock.
bool Engine::exchange_notes() {
  if (!is_open()) return false;
  const bool moved = exchange_by_post();
  return exchange_by_mpi() || moved;
}

bool Engine::exchange_by_post() {
  bool moved = false;
  for (ControlMessage note; control_.take(note); moved = true) take(note);
  std::vector<int> full;  // what goes to one process stays in order
  const auto sent = std::erase_if(unsent_, [&](const Sent& s) {
    if (!control_.reaches(s.to) || std::ranges::find(full, s.to) != full.end()) return false;
    if (control_.put(*s.note, s.to)) return true;
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
  std::vector<ControlMessage> notes;
  for (;;) {
    int flag = 0;
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Status status;
    must_work(PMPI_Improbe(MPI_ANY_SOURCE, kNoteTag, comm_, &flag, &message, &status));
    if (!flag) break;
    must_work(PMPI_Mrecv(&notes.emplace_back(), static_cast<int>(sizeof(ControlMessage)), MPI_BYTE, &message, MPI_STATUS_IGNORE));
  }
  for (const ControlMessage& note : notes) take(note);
  const auto sent = std::erase_if(unsent_, [&](Sent& s) {
    if (control_.reaches(s.to)) return false;
    must_work(PMPI_Isend(s.note.get(), static_cast<int>(sizeof(ControlMessage)), MPI_BYTE, s.to, kNoteTag, comm_, &s.request));
    sent_.push_back(std::move(s));
    return true;
  });
  has_unsent_.store(!unsent_.empty(), std::memory_order_relaxed);
  std::erase_if(sent_, [](Sent& s) {
    int flag = 0;
    must_work(PMPI_Test(&s.request, &flag, MPI_STATUS_IGNORE));
    return flag != 0;
  });
  return !notes.empty() || sent > 0;
}

void Engine::take(const ControlMessage& note) {
  switch (note.kind) {
    case ControlMessage::Kind::offer:
      take_offer(note);
      break;
    case ControlMessage::Kind::withdraw:
      take_withdrawal(note);
      break;
    case ControlMessage::Kind::answer:
      take_answer(note);
      break;
    case ControlMessage::Kind::gone:
      for (const auto& s : gone_) {
        if (s->number == note.number) s->outlet()->leave();
      }
      break;
  }
}

void Engine::take_offer(const ControlMessage& note) {
  auto offer = std::make_unique<Offer>();
  offer->note = note;
  offers_[note.key()].push_back(std::move(offer));
  match(note.key());
}

void Engine::take_withdrawal(const ControlMessage& note) {
  const auto is_it = [&](const Offer& o) { return o.note.number == note.number && o.note.key() == note.key(); };
  const Key key = note.key();
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
    // The sender waits to be told, here or, on another node, by a note.
    if (!taken->inlet && taken->note.node == node_) taken->inlet = ChannelReceiver::attach(taken->note.source);
    end(*taken);
    if (!taken->inlet) {
      ControlMessage gone;
      gone.kind = ControlMessage::Kind::gone;
      gone.number = note.number;
      gone.from = process_;
      send(gone, note.from);
    }
  }
  if (!waits_again) return;
  auto& line = waiting_[key];
  line.insert(std::ranges::find_if(line, [&](const Receiver* r) { return r->order > waits_again->order; }), waits_again);
  match(key);
}

void Engine::take_answer(const ControlMessage& note) {
  const auto at = senders_.find(note.number);
  if (at == senders_.end()) return;  // it was freed
  const lane::Memory& memory = at->second->side().memory;
  const Cut cut{std::max<std::uint64_t>(memory.bytes, 1), note.chunk};
  at->second->link(std::make_unique<NetSender>(memory, cut, Route{comm_, note.from, note.tag}));
}

// ---- moving on

bool Engine::exchange() noexcept try {
  const std::unique_lock guard(lock_, std::try_to_lock);
  return guard && exchange_notes();
} catch (const std::bad_alloc&) {
  fatal("no memory left for partitioned messages");
}

bool Engine::try_progress() noexcept try {
  const std::unique_lock guard(lock_, std::try_to_lock);
  if (!guard) return false;
  bool moved = false;
  bool alone = !unsent_.empty();  // is there one whose other side may still have to be found?
  for (const auto& [number, sender] : senders_) {
    moved |= sender->started() && sender->step();
    alone |= !sender->matched();
  }
  for (const auto& receiver : receivers_) {
    moved |= receiver->step();
    alone |= receiver->unsure();
  }
  return (alone && exchange_notes()) || moved;
} catch (const std::bad_alloc&) {
  fatal("no memory left for partitioned messages");
}

void Engine::close() noexcept {
  if (!is_open()) return;
  const std::lock_guard guard(lock_);
  for (Sent& s : sent_) {
    static_cast<void>(s.note.release());  // NOLINT(bugprone-unused-return-value): the MPI may still read it
    PMPI_Request_free(&s.request);
  }
  sent_.clear();
  PMPI_Comm_free(&comm_);
}

}  // namespace plait::partitioned
