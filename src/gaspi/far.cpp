#include "gaspi/far.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <deque>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/fatal.hpp"
#include "gaspi/command.hpp"
#include "gaspi/group.hpp"
#include "gaspi/job.hpp"
#include "gaspi/one_sided.hpp"
#include "gaspi/passive.hpp"
#include "gaspi/segments.hpp"
#include "gaspi/slots.hpp"
#include "p2p/world.hpp"
#include "progress/helper.hpp"
#include "transport/network.hpp"

namespace plait::gaspi::far {
namespace {

using Code = Command::Code;
using transport::kOneSidedOperation;
using transport::Network;
using transport::Record;

/// Data of up to this is copied into the queue's batch; more goes into the network's packet at once.
constexpr std::size_t kInBatch = 2048;
/// Data in one record.
constexpr std::size_t kPiece = Outbox::kBytes - sizeof(Command);
static_assert(Outbox::kBytes == transport::kPacketPayload);
/// From here on data goes from memory to memory. Half a round trip between two simulated nodes, in packets and so (MPICH 5.0.2, Open MPI
/// 5.0.11, Intel MPI 2021.19), us: 32 KB 18 18 18 and 23 21 19; 64 KB 33 33 38 and 35 49 21; 128 KB 62 63 103 and 53 57 29.
constexpr std::uint64_t kLarge = std::uint64_t{64} << 10;
/// In a node by_messages says that processes may not reach each other's memory; then the MPI may fail to, too (MPICH 5.0.2 ends the job).
bool goes_by_transfer(const Peer& peer, std::uint64_t bytes) noexcept { return bytes >= kLarge && !peer.control; }
/// A batch waits for more if others have gone less than this before: about what it costs to send a packet.
constexpr std::uint64_t kBurst = 10'000;  // ns
/// Requests and answers, letters and passive messages: not a queue's number.
constexpr std::uint32_t kOwnOrder = 255;
/// At the end of a job.
constexpr std::uint64_t kPatience = 1'000'000'000;  // ns
/// The helper looks at the network if the program has not for so long.
constexpr std::uint64_t kLeftAlone = 500'000;  // ns
/// Among the keys of threads of progress: streams count from 0x3c000000 on.
constexpr int kHelperKey = -1;

/// A read of this process's.
struct Read {
  std::atomic<std::uint32_t> pieces;  ///< that have not come
  Notice notice;
};
struct Get {
  std::byte* to;
  std::uint64_t left;
  Read* read;
};
/// Data that goes from memory to memory.
struct Transfer {
  enum class Side : std::uint8_t { put_from, put_to, get_from, get_to } side;
  std::uint8_t queue;
  std::uint16_t rank;
  std::uint32_t job;     ///< in which it was begun: what the job had is gone at its end
  SegmentEntry* entry;   ///< whose memory is the program's, while it is used
  std::uint64_t number;  ///< get_to: of the read. put_to: in its stream
};
/// What notifications of another rank's queue have to wait for here.
struct Inbound {
  std::uint64_t begun = 0;       ///< transfers of this stream
  std::set<std::uint64_t> open;  ///< their numbers, as long as they are under way
  struct Held {
    std::uint64_t after;  ///< the numbers below this come before it
    Notice notice;
  };
  std::deque<Held> held;

  [[nodiscard]] bool is_free(const Held& h) const noexcept { return open.empty() || *open.begin() >= h.after; }
};
/// A question to another rank.
struct Request {
  Code code;
  std::uint16_t rank;
  AtomicCall call;
  bool left = false;  ///< its caller's time was over: the same call takes it up
  bool done = false, ok = false;
  std::uint64_t word = 0;
};

class Far final : public progress::Source {
 public:
  // What is in use stays so.
  std::atomic<bool> in_use{false};
  std::atomic<std::uint64_t> last_driven{0};

  std::array<Slots<Get>, kQueues> gets;
  Slots<Transfer> transfers;
  std::atomic<std::uint32_t> jobs{0};  ///< that have ended

  std::mutex inbound_lock;
  std::map<std::uint32_t, Inbound> inbound;    ///< by rank and queue
  std::atomic<std::uint32_t> large_writes{0};  ///< into this process, under way

  std::mutex requests_lock;
  std::map<std::uint64_t, Request> requests;
  std::uint64_t next_request = 1;
  std::array<std::vector<std::uint16_t>, kSegments> registered;  ///< with which far ranks

  [[nodiscard]] bool pending() const noexcept override {
    const InUse used;  // of the job, which another thread may end
    Job* const job = current();
    if (!job) return false;
    for (const Queue& q : job->queues) {
      if (q.holds.load(std::memory_order_relaxed)) return true;
    }
    return false;
  }
  bool try_progress() noexcept override;
  void flush() noexcept override { static_cast<void>(try_progress()); }
};

Far& all() noexcept {
  // Never destroyed: the helper and late messages may come at any time. NOLINTNEXTLINE(bugprone-unhandled-exception-at-new): at the start
  static Far& far = *new Far;
  return far;
}

/// This thread is handing over what has come: it must not drive.
thread_local bool inside = false;

Network& net() noexcept { return *transport::network(); }

// ---- sending

/// Data that goes from memory to memory beside a command.
struct Load {
  const std::byte* from = nullptr;
  std::uint64_t bytes = 0;
  std::uint32_t transfer = 0;
};

/// Puts a command and its data into what goes to a rank next. False where too much waits already, unless it `must`.
bool put(std::uint16_t rank, std::uint32_t order, const Command& command, const void* data, bool must, const Load& load = {}) noexcept {
  Record record;
  record.kind = Record::Kind::kOneSided;
  record.bytes = static_cast<std::uint32_t>(sizeof command + command.bytes);
  record.source = order;
  record.process = net().process();
  record.length = load.bytes;
  std::byte* const at = net().begin(rank, record, must);
  if (!at) {
    if (must) fatal("no memory left for messages of GASPI between nodes");
    return false;
  }
  std::memcpy(at, &command, sizeof command);
  if (data) std::memcpy(at + sizeof command, data, command.bytes);
  if (load.bytes > 0) {
    net().end_with_load(rank, record, load.from, load.transfer | kOneSidedOperation);
  } else {
    net().end(rank, record);
  }
  return true;
}

/// It goes with the next round: this one may be made under a lock that who hands over needs.
void tell(std::uint16_t rank, Command command, const void* data, std::size_t bytes, std::uint32_t order = kOwnOrder) noexcept {
  command.bytes = static_cast<std::uint32_t>(bytes);
  static_cast<void>(put(rank, order, command, data, true));
}

/// By who holds the queue's lock.
bool send_box(std::uint8_t number, Outbox& box, bool must) noexcept {
  if (box.used == 0) return true;
  Record record;
  record.kind = Record::Kind::kOneSided;
  record.bytes = box.used;
  record.source = number;
  record.process = net().process();
  std::byte* const at = net().begin(box.rank, record, must);
  if (!at) {
    if (must) fatal("no memory left for messages of GASPI between nodes");
    return false;
  }
  std::memcpy(at, box.bytes, box.used);
  net().end(box.rank, record);
  box.used = 0;
  return true;
}

/// Likewise: all of a queue's; false where some are left.
bool send_boxes(Queue& queue, std::uint8_t number) noexcept {
  std::erase_if(queue.filled, [&](Outbox* box) { return send_box(number, *box, false); });
  queue.holds.store(!queue.filled.empty(), std::memory_order_relaxed);
  return queue.filled.empty();
}

/// What queues have gathered, as far as there is room.
bool send_boxes_of(Job& job) noexcept {
  bool any = false;
  for (std::uint32_t q = 0; q < kQueues; ++q) {
    Queue& queue = job.queues[q];
    if (!queue.holds.load(std::memory_order_relaxed) || !queue.lock.try_lock()) continue;
    static_cast<void>(send_boxes(queue, static_cast<std::uint8_t>(q)));
    queue.lock.unlock();
    any = true;
  }
  return any;
}

/// A call's commands, as one thread posts them to a queue: all, or none where there is no room for the first.
class Poster {
 public:
  Poster(Job& job, std::uint8_t queue, std::uint16_t rank) : number_(queue), queue_(job.queues[queue]), guard_(queue_.lock) {
    if (queue_.boxes.size() <= rank) queue_.boxes.resize(job.size);
    std::unique_ptr<Outbox>& box = queue_.boxes[rank];
    if (!box) {
      box = std::make_unique<Outbox>();
      box->rank = rank;
      queue_.filled.reserve(job.size);
    }
    box_ = box.get();
  }

  /// False: there is no room, and nothing of the call was posted.
  [[nodiscard]] bool post(Command command, const void* data, std::size_t bytes) noexcept {
    command.bytes = static_cast<std::uint32_t>(bytes);
    if (bytes > kInBatch) {
      if (!send_box(number_, *box_, begun_) || !put(box_->rank, number_, command, data, begun_)) return false;
      begun_ = true;
      return true;
    }
    const std::size_t all = sizeof command + padded(bytes);
    if (box_->used + all > Outbox::kBytes && !send_box(number_, *box_, begun_)) return false;
    if (box_->used == 0 && std::ranges::find(queue_.filled, box_) == queue_.filled.end()) {
      queue_.filled.push_back(box_);
      queue_.holds.store(true, std::memory_order_relaxed);
    }
    std::memcpy(box_->bytes + box_->used, &command, sizeof command);
    if (bytes > 0) std::memcpy(box_->bytes + box_->used + sizeof command, data, bytes);
    box_->used += static_cast<std::uint32_t>(all);
    begun_ = true;
    return true;
  }
  /// The same of data that goes from memory to memory.
  [[nodiscard]] bool post(const Command& command, const Load& load) noexcept {
    if (!send_box(number_, *box_, begun_) || !put(box_->rank, number_, command, nullptr, begun_, load)) return false;
    begun_ = true;
    return true;
  }

 private:
  std::uint8_t number_;
  Queue& queue_;
  std::lock_guard<Spinlock> guard_;
  Outbox* box_;
  bool begun_ = false;
};

/// What was posted goes now, unless others have gone just before.
void nudge(Queue& queue, std::uint8_t number) noexcept {
  const std::uint64_t t = now();
  {
    const std::lock_guard guard(queue.lock);
    if (t - queue.last_sent < kBurst) return;
    queue.last_sent = t;
    static_cast<void>(send_boxes(queue, number));
  }
  static_cast<void>(net().try_progress());
}

/// Until `attempt` has posted all; GASPI_TIMEOUT where there was no room in time.
template <class Attempt>
gaspi_return_t post_all(Job& job, std::uint8_t number, const Deadline& deadline, Attempt attempt) {
  const bool posted = wait_for(job, deadline, progress::kForMessage, job.control->bell, [&] {
    if (attempt()) return true;
    static_cast<void>(drive());
    return false;
  });
  if (!posted) return GASPI_TIMEOUT;
  nudge(job.queues[number], number);
  return GASPI_SUCCESS;
}

// ---- what has come: by whoever drives the network

void post_notice(Job& job, const Notice& notice) noexcept {
  if (View* const view = own(job, notice.segment)) view->board->post(notice.id, notice.value);
}

/// After the transfers of its stream, if there are some.
void post_in_order(Job& job, std::uint32_t stream, const Notice& notice) {
  Far& far = all();
  // relaxed: transfers of this stream were begun by the thread that had the channel before.
  if (far.large_writes.load(std::memory_order_relaxed) > 0) {
    const std::lock_guard guard(far.inbound_lock);
    const auto at = far.inbound.find(stream);
    if (at != far.inbound.end() && !at->second.open.empty()) {
      at->second.held.push_back({at->second.begun, notice});
      return;
    }
  }
  // acquire: what transfers that have ended brought.
  std::atomic_thread_fence(std::memory_order_acquire);
  post_notice(job, notice);
}

/// A transfer of the stream has ended. Posted under the lock: a notification that comes now may have the same number as one held here.
void end_write(Job& job, std::uint32_t stream, std::uint64_t number) {
  Far& far = all();
  const std::lock_guard guard(far.inbound_lock);
  const auto at = far.inbound.find(stream);
  Inbound& inbound = at->second;
  inbound.open.erase(number);
  for (; !inbound.held.empty() && inbound.is_free(inbound.held.front()); inbound.held.pop_front())
    post_notice(job, inbound.held.front().notice);
  if (inbound.open.empty()) far.inbound.erase(at);
  far.large_writes.fetch_sub(1, std::memory_order_release);
}

/// One of this process's segments, where all of a range lies in it, used by who hands over; for longer by a transfer, which leaves the
/// entry at its end.
struct Place {
  View* view = nullptr;
  std::byte* at = nullptr;
  SegmentEntry* entry = nullptr;  ///< where uses are counted
  [[nodiscard]] static Place find(Job& job, std::uint32_t segment, std::uint64_t offset, std::uint64_t bytes, bool longer) noexcept {
    View* const view = own(job, segment);
    if (!view || !view->has(offset, bytes)) return {};
    const bool counted = view->counted || longer;
    if (counted && !view->entry->enter(view->version)) return {};
    return {view, view->data + offset, counted ? view->entry : nullptr};
  }
  void leave() const noexcept {
    if (entry) entry->leave();
  }
};

std::uint64_t word_of(const std::byte* data) noexcept {
  std::uint64_t word = 0;
  std::memcpy(&word, data, sizeof word);
  return word;
}

void take_put(Job& job, std::uint32_t stream, const Command& c, const std::byte* data) {
  if (const Place place = Place::find(job, c.segment, c.offset, c.bytes, false); place.view) {
    std::memcpy(place.at, data, c.bytes);
    place.leave();
  }
  if (c.value != 0) post_in_order(job, stream, {c.told, c.id, c.value});
}

void take_large_put(Job& job, const Record& record, std::uint8_t queue, std::uint32_t stream, const Command& c) {
  Far& far = all();
  const auto rank = static_cast<std::uint16_t>(record.process);
  const Place place = Place::find(job, c.segment, c.offset, record.length, true);
  if (!place.view) {
    net().take_load(record, nullptr, transport::kNobodys);
    Command no;
    no.code = Code::dropped;
    no.number = queue;
    tell(rank, no, nullptr, 0);
  } else {
    Transfer transfer{Transfer::Side::put_to, queue, rank, far.jobs, place.entry, 0};
    {
      const std::lock_guard guard(far.inbound_lock);
      Inbound& inbound = far.inbound[stream];
      transfer.number = inbound.begun++;
      inbound.open.insert(transfer.number);
      far.large_writes.fetch_add(1, std::memory_order_relaxed);
    }
    net().take_load(record, place.at, far.transfers.add(transfer) | kOneSidedOperation);
  }
  if (c.value != 0) post_in_order(job, stream, {c.told, c.id, c.value});
}

void take_get(Job& job, std::uint16_t rank, std::uint8_t queue, const Command& c, const std::byte* data) {
  const std::uint64_t bytes = word_of(data);
  const bool large = goes_by_transfer(job.peers[rank], bytes);
  const Place place = Place::find(job, c.segment, c.offset, bytes, large);
  Command back;
  back.number = c.number;
  if (!place.view) {
    back.code = Code::refused;
    tell(rank, back, nullptr, 0, queue);
    return;
  }
  if (large) {
    back.code = Code::got_large;
    const std::uint32_t slot = all().transfers.add({Transfer::Side::get_from, queue, rank, all().jobs, place.entry, 0});
    static_cast<void>(put(rank, queue, back, nullptr, true, {place.at, bytes, slot}));
    return;
  }
  back.code = Code::got;
  for (std::uint64_t at = 0; at < bytes; at += kPiece) {
    back.offset = at;
    tell(rank, back, place.at + at, std::min<std::uint64_t>(kPiece, bytes - at), queue);
  }
  place.leave();
}

constexpr std::uint64_t number_of(std::uint8_t queue, std::uint32_t slot) noexcept { return std::uint64_t{queue} << 32 | slot; }

/// A piece of a read is here, or will never be.
void end_get(Job& job, std::uint64_t number, bool ok) noexcept {
  const auto queue_number = static_cast<std::uint8_t>(number >> 32);
  Slots<Get>& gets = all().gets[queue_number];
  Read* const read = gets[static_cast<std::uint32_t>(number)].read;
  gets.remove(static_cast<std::uint32_t>(number));
  Queue& queue = job.queues[queue_number];
  if (!ok) queue.failed.store(true, std::memory_order_relaxed);
  // acq_rel: the data of all pieces.
  if (read->pieces.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    if (read->notice.value != 0 && ok) post_notice(job, read->notice);
    delete read;
  }
  // release: the data.
  queue.under_way.fetch_sub(1, std::memory_order_release);
  job.control->bell.notify();
}

void take_got(Job& job, const Command& c, const std::byte* data) noexcept {
  Get& get = all().gets[c.number >> 32][static_cast<std::uint32_t>(c.number)];
  std::memcpy(get.to + c.offset, data, c.bytes);
  get.left -= c.bytes;
  if (get.left == 0) end_get(job, c.number, true);
}

void take_large_got(const Record& record, const Command& c) {
  Far& far = all();
  const auto queue = static_cast<std::uint8_t>(c.number >> 32);
  const Get& get = far.gets[queue][static_cast<std::uint32_t>(c.number)];
  const auto rank = static_cast<std::uint16_t>(record.process);
  net().take_load(record, get.to,
                  far.transfers.add({Transfer::Side::get_to, queue, rank, all().jobs, nullptr, c.number}) | kOneSidedOperation);
}

void end_transfer(Job& job, std::uint32_t slot, bool ok) {
  Far& far = all();
  const Transfer t = far.transfers[slot];
  far.transfers.remove(slot);
  if (t.job != far.jobs) return;
  if (t.entry) t.entry->leave();
  switch (t.side) {
    case Transfer::Side::put_from: {
      Queue& queue = job.queues[t.queue];
      if (!ok) queue.failed.store(true, std::memory_order_relaxed);
      queue.under_way.fetch_sub(1, std::memory_order_release);
      job.control->bell.notify();
      break;
    }
    case Transfer::Side::put_to:
      end_write(job, std::uint32_t{t.rank} << 8 | t.queue, t.number);
      break;
    case Transfer::Side::get_from:
      break;
    case Transfer::Side::get_to:
      end_get(job, t.number, ok);
      break;
  }
}

void answer(std::uint16_t rank, std::uint64_t number, bool ok, std::uint64_t word) noexcept {
  Command c;
  c.code = Code::answer;
  c.number = number;
  c.value = ok ? 1 : 0;
  tell(rank, c, &word, sizeof word);
}

Peer::Sizes& sizes_of(Peer& peer) {
  if (Peer::Sizes* const known = peer.sizes.load(std::memory_order_acquire)) return *known;
  auto made = std::make_unique<Peer::Sizes>();
  Peer::Sizes* none = nullptr;
  if (peer.sizes.compare_exchange_strong(none, made.get(), std::memory_order_acq_rel)) return *made.release();
  return *none;
}

void take_atomic(Job& job, std::uint16_t rank, const Command& c, const std::byte* data) noexcept {
  AtomicCall call;
  std::memcpy(&call, data, sizeof call);
  const Place place = Place::find(job, call.segment, call.offset, sizeof(std::uint64_t), false);
  if (!place.view || reinterpret_cast<std::uintptr_t>(place.at) % sizeof(std::uint64_t) != 0) {
    if (place.view) place.leave();
    answer(rank, c.number, false, 0);
    return;
  }
  const std::uint64_t old = call.on(place.at);
  place.leave();
  answer(rank, c.number, true, old);
}

void take_answer(Job& job, const Command& c, const std::byte* data) {
  Far& far = all();
  {
    const std::lock_guard guard(far.requests_lock);
    const auto at = far.requests.find(c.number);
    if (at == far.requests.end()) return;
    at->second.done = true;
    at->second.ok = c.value != 0;
    at->second.word = word_of(data);
  }
  job.control->bell.notify();
}

void take(Job& job, const Record& record, const Command& c, const std::byte* data) {
  const auto rank = static_cast<std::uint16_t>(record.process);
  const auto queue = static_cast<std::uint8_t>(record.source);
  const std::uint32_t stream = std::uint32_t{rank} << 8 | queue;
  switch (c.code) {
    case Code::put:
      take_put(job, stream, c, data);
      break;
    case Code::put_large:
      take_large_put(job, record, queue, stream, c);
      break;
    case Code::notify:
      post_in_order(job, stream, {c.told, c.id, c.value});
      break;
    case Code::get:
      take_get(job, rank, queue, c, data);
      break;
    case Code::got:
      take_got(job, c, data);
      break;
    case Code::got_large:
      take_large_got(record, c);
      break;
    case Code::refused:
      end_get(job, c.number, false);
      break;
    case Code::dropped:
      job.queues[c.number].failed.store(true, std::memory_order_relaxed);
      break;
    case Code::atomic:
      take_atomic(job, rank, c, data);
      break;
    case Code::register_:
      sizes_of(job.peers[rank])[c.segment].store(word_of(data) + 1, std::memory_order_release);
      answer(rank, c.number, true, 0);
      break;
    case Code::ping:
      answer(rank, c.number, true, 0);
      break;
    case Code::answer:
      take_answer(job, c, data);
      break;
    case Code::unregister:
      sizes_of(job.peers[rank])[c.segment].store(0, std::memory_order_relaxed);
      break;
    case Code::letter: {
      Letter letter;
      std::memcpy(&letter, data, sizeof letter);
      job.groups->deliver(letter, {data + sizeof letter, c.bytes - sizeof letter});
      break;
    }
    case Code::passive:
      job.passive->arrive(rank, c.number, c.offset, {data, c.bytes});
      break;
    case Code::received:
      job.passive->received(rank);
      break;
    case Code::print:
      std::fwrite(data, 1, c.bytes, stdout);
      std::fflush(stdout);
      break;
    case Code::kill:
      static_cast<void>(std::raise(SIGKILL));
      break;
  }
}

/// Around what hands over.
class Inside {
 public:
  Inside() noexcept : before_(std::exchange(inside, true)) {}
  ~Inside() { inside = before_; }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

 private:
  InUse in_use_;
  bool before_;
};

void on_record(const Record& record, const std::byte* payload) {
  const Inside here;
  Job* const job = current();
  if (!job) {
    if (record.length > 0) net().take_load(record, nullptr, transport::kNobodys);
    return;
  }
  for (std::size_t at = 0; at < record.bytes;) {
    Command command;
    std::memcpy(&command, payload + at, sizeof command);
    take(*job, record, command, payload + at + sizeof command);
    at += sizeof command + padded(command.bytes);
  }
}

void on_moved(std::uint32_t operation, bool ok) {
  const Inside here;
  if (Job* const job = current()) end_transfer(*job, operation & ~kOneSidedOperation, ok);
}

constexpr transport::Sink kSink{on_record, on_moved};

bool help(int) {
  if (now() - all().last_driven.load(std::memory_order_relaxed) < kLeftAlone) return false;
  return all().try_progress();
}

/// A question, its answer, or nothing while there is none. The same call takes up what it has left. `call`: what tells questions apart.
std::optional<Request> ask(Job& job, Command question, Peer& peer, const AtomicCall& call, std::span<const std::byte> data,
                           const Deadline& deadline) {
  Far& far = all();
  std::uint64_t number = 0;
  {
    const std::lock_guard guard(far.requests_lock);
    for (auto& [n, r] : far.requests) {
      if (!r.left || r.code != question.code || r.rank != peer.rank || r.call != call) continue;
      r.left = false;
      number = n;
      break;
    }
    if (number == 0) {
      number = far.next_request++;
      Request& made = far.requests[number];
      made.code = question.code;
      made.rank = peer.rank;
      made.call = call;
      if (question.code == Code::register_) far.registered[question.segment].push_back(peer.rank);
      question.number = number;
      tell(peer.rank, question, data.data(), data.size());
    }
  }
  static_cast<void>(drive());
  wait_for(job, deadline, progress::kForMessage, job.control->bell, [&] {
    const std::lock_guard guard(far.requests_lock);
    return far.requests[number].done;
  });
  const std::lock_guard guard(far.requests_lock);
  Request& request = far.requests[number];
  if (!request.done) {
    request.left = true;
    return std::nullopt;
  }
  const Request answered = request;
  far.requests.erase(number);
  return answered;
}

}  // namespace

bool Far::try_progress() noexcept {
  if (inside || !in_use.load(std::memory_order_acquire)) return false;
  const InUse used;
  Job* const job = current();
  const bool moved = job && send_boxes_of(*job);
  return net().try_progress() || moved;
}

bool in_use() noexcept { return all().in_use.load(std::memory_order_relaxed); }

bool drive() noexcept {
  if (!in_use() || inside) return false;
  all().last_driven.store(now(), std::memory_order_relaxed);
  return all().try_progress();
}

void begin_use(Job&) {
  Far& far = all();
  static std::mutex once;
  const std::lock_guard guard(once);
  if (far.in_use.load(std::memory_order_relaxed)) return;
  if (!p2p::open_network()) throw std::bad_alloc();
  transport::one_sided_sink.store(&kSink, std::memory_order_release);
  static const bool added = [&] {
    progress::add_source(far);
    return true;
  }();
  static_cast<void>(added);
  static_cast<void>(progress::start_thread(kHelperKey, help));
  far.in_use.store(true, std::memory_order_release);
}

void open(Job& job) {
  if (job.spans_nodes) begin_use(job);
}

void close(Job& job) noexcept {
  Far& far = all();
  if (!in_use()) return;
  for (std::uint32_t q = 0; q < kQueues; ++q) {
    Queue& queue = job.queues[q];
    const std::lock_guard guard(queue.lock);
    for (Outbox* const box : queue.filled) static_cast<void>(send_box(static_cast<std::uint8_t>(q), *box, true));
    queue.filled.clear();
    queue.holds.store(false, std::memory_order_relaxed);
  }
  // All is the MPI's from now on: the program may be in a call of the MPI's next. One that does not take what it is sent is not waited for.
  const std::uint64_t until = now() + kPatience;
  do static_cast<void>(net().try_progress());
  while (transport::packets_in_line.load(std::memory_order_relaxed) > 0 && now() < until);
  static_cast<void>(progress::stop_thread(kHelperKey));
  {
    const std::lock_guard guard(far.requests_lock);
    far.requests.clear();
    for (auto& ranks : far.registered) ranks.clear();
  }
  {
    const std::lock_guard guard(far.inbound_lock);
    far.inbound.clear();
    far.large_writes.store(0, std::memory_order_relaxed);
    ++far.jobs;
  }
  far.in_use.store(false, std::memory_order_release);
}

// ---- one-sided calls

gaspi_return_t write(Job& job, Peer& peer, const Pieces& p, const Notice& notice, std::uint8_t number, const Deadline& deadline) noexcept
    try {
  if (!in_use()) begin_use(job);
  Far& far = all();
  Queue& queue = job.queues[number];
  const bool much = std::any_of(p.bytes, p.bytes + p.count, [](std::uint64_t n) { return n > kInBatch; });
  const auto attempt = [&] {
    // What goes around the batches would take all the room that there is again and again, and they would wait for ever.
    if (much) static_cast<void>(send_boxes_of(job));
    Poster poster(job, number, peer.rank);
    for (std::uint32_t i = 0; i < p.count; ++i) {
      const bool last = i + 1 == p.count;
      Command c;
      c.segment = p.remote[i];
      c.offset = p.remote_offset[i];
      const auto tell_with = [&](Command& of) {
        of.told = static_cast<std::uint8_t>(notice.segment);
        of.id = notice.id;
        of.value = notice.value;
      };
      const View* const local = own(job, p.local[i]);
      if (!local) continue;  // another thread has deleted it meanwhile
      std::byte* const from = local->data + p.local_offset[i];
      if (goes_by_transfer(peer, p.bytes[i])) {
        c.code = Code::put_large;
        if (!local->entry->enter(local->version)) continue;  // likewise
        const std::uint32_t slot = far.transfers.add({Transfer::Side::put_from, number, peer.rank, all().jobs, local->entry, 0});
        if (last) tell_with(c);
        queue.under_way.fetch_add(1, std::memory_order_relaxed);
        if (poster.post(c, {from, p.bytes[i], slot})) continue;
        local->entry->leave();
        queue.under_way.fetch_sub(1, std::memory_order_relaxed);
        far.transfers.remove(slot);
        return false;
      }
      std::uint64_t at = 0;
      do {
        const std::uint64_t n = std::min<std::uint64_t>(kPiece, p.bytes[i] - at);
        Command piece = c;
        piece.offset += at;
        if (last && at + n == p.bytes[i]) tell_with(piece);
        if (!poster.post(piece, from + at, n)) return false;
        at += n;
      } while (at < p.bytes[i]);
    }
    if (p.count > 0) return true;
    Command c;
    c.code = Code::notify;
    c.told = static_cast<std::uint8_t>(notice.segment);
    c.id = notice.id;
    c.value = notice.value;
    return poster.post(c, nullptr, 0);
  };
  return post_all(job, number, deadline, attempt);
} catch (const std::exception&) {
  return GASPI_ERR_MEMALLOC;
}

gaspi_return_t read(Job& job, Peer& peer, const Pieces& p, const Notice& notice, std::uint8_t number, const Deadline& deadline) noexcept
    try {
  if (!in_use()) begin_use(job);
  Far& far = all();
  Queue& queue = job.queues[number];
  std::uint32_t pieces = 0;
  for (std::uint32_t i = 0; i < p.count; ++i) pieces += p.bytes[i] > 0 ? 1 : 0;
  if (pieces == 0) {
    if (notice.value != 0) post_notice(job, notice);
    return GASPI_SUCCESS;
  }
  auto read = std::unique_ptr<Read>(new Read{pieces, notice});
  const auto attempt = [&] {
    Poster poster(job, number, peer.rank);
    for (std::uint32_t i = 0; i < p.count; ++i) {
      if (p.bytes[i] == 0) continue;
      const std::uint32_t slot = far.gets[number].add({own(job, p.local[i])->data + p.local_offset[i], p.bytes[i], read.get()});
      Command c;
      c.code = Code::get;
      c.segment = p.remote[i];
      c.offset = p.remote_offset[i];
      c.number = number_of(number, slot);
      queue.under_way.fetch_add(1, std::memory_order_relaxed);
      if (poster.post(c, &p.bytes[i], sizeof p.bytes[i])) continue;
      queue.under_way.fetch_sub(1, std::memory_order_relaxed);
      far.gets[number].remove(slot);
      return false;
    }
    static_cast<void>(read.release());  // NOLINT(bugprone-unused-return-value): ends with its last piece
    return true;
  };
  return post_all(job, number, deadline, attempt);
} catch (const std::exception&) {
  return GASPI_ERR_MEMALLOC;
}

bool flush(Job& job, std::uint8_t number, const Deadline& deadline) noexcept {
  Queue& queue = job.queues[number];
  if (!queue.holds.load(std::memory_order_relaxed)) return true;
  return wait_for(job, deadline, progress::kForMessage, job.control->bell, [&] {
    bool sent = false;
    {
      const std::lock_guard guard(queue.lock);
      sent = send_boxes(queue, number);
      queue.last_sent = now();
    }
    static_cast<void>(net().try_progress());
    return sent;
  });
}

gaspi_return_t atomic(Job& job, Peer& peer, const AtomicCall& call, gaspi_atomic_value_t& old, const Deadline& deadline) noexcept try {
  if (!in_use()) begin_use(job);
  Command c;
  c.code = Code::atomic;
  const std::optional<Request> answered = ask(job, c, peer, call, std::as_bytes(std::span(&call, 1)), deadline);
  if (!answered) return GASPI_TIMEOUT;
  if (!answered->ok) return GASPI_ERROR;
  old = answered->word;
  return GASPI_SUCCESS;
} catch (const std::exception&) {
  return GASPI_ERR_MEMALLOC;
}

// ---- segments

std::uint64_t segment_size(Peer& peer, std::uint32_t segment) noexcept {
  Peer::Sizes* const sizes = peer.sizes.load(std::memory_order_acquire);
  return (sizes ? (*sizes)[segment].load(std::memory_order_acquire) : 0) - 1;
}

gaspi_return_t register_segment(Job& job, std::uint32_t segment, Peer& peer, const Deadline& deadline) noexcept try {
  const std::uint64_t bytes = own(job, segment)->bytes;
  AtomicCall key;
  key.segment = segment;
  key.value = job.control->segments[segment].version();
  Command c;
  c.code = Code::register_;
  c.segment = static_cast<std::uint8_t>(segment);
  const std::optional<Request> answered = ask(job, c, peer, key, std::as_bytes(std::span(&bytes, 1)), deadline);
  return answered ? GASPI_SUCCESS : GASPI_TIMEOUT;
} catch (const std::exception&) {
  return GASPI_ERR_MEMALLOC;
}

void forget_segment(Job&, std::uint32_t segment) noexcept {
  if (!in_use()) return;
  std::vector<std::uint16_t> ranks;
  {
    const std::lock_guard guard(all().requests_lock);
    ranks.swap(all().registered[segment]);
  }
  Command c;
  c.code = Code::unregister;
  c.segment = static_cast<std::uint8_t>(segment);
  for (const std::uint16_t r : ranks) tell(r, c, nullptr, 0);
  static_cast<void>(drive());
}

// ---- others

void send(Job&, Peer& to, const Letter& letter, std::span<const std::byte> data) noexcept {
  std::array<std::byte, sizeof(Letter) + kReduction> both;
  std::memcpy(both.data(), &letter, sizeof letter);
  if (!data.empty()) std::memcpy(both.data() + sizeof letter, data.data(), data.size());
  Command c;
  c.code = Code::letter;
  tell(to.rank, c, both.data(), sizeof letter + data.size());
  static_cast<void>(drive());
}

void send_passive(Job&, Peer& to, std::span<const std::byte> data) noexcept {
  Command c;
  c.code = Code::passive;
  c.number = data.size();
  for (std::size_t at = 0; at < data.size(); at += kPiece) {
    c.offset = at;
    tell(to.rank, c, data.data() + at, std::min(kPiece, data.size() - at));
  }
}

void acknowledge_passive(Job&, Peer& from) noexcept {
  Command c;
  c.code = Code::received;
  tell(from.rank, c, nullptr, 0);
}

gaspi_return_t ping(Job& job, Peer& peer, const Deadline& deadline) noexcept try {
  Command c;
  c.code = Code::ping;
  const std::optional<Request> answered = ask(job, c, peer, {}, {}, deadline);
  return answered ? GASPI_SUCCESS : GASPI_TIMEOUT;
} catch (const std::exception&) {
  return GASPI_ERR_MEMALLOC;
}

void kill(Job&, Peer& peer) noexcept {
  Command c;
  c.code = Code::kill;
  tell(peer.rank, c, nullptr, 0);
  static_cast<void>(drive());
}

void print(Job&, Peer& peer, std::span<const char> text) noexcept {
  Command c;
  c.code = Code::print;
  tell(peer.rank, c, text.data(), text.size());
  static_cast<void>(drive());
}

}  // namespace plait::gaspi::far
