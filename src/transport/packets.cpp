#include "transport/packets.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/fatal.hpp"
#include "base/spinlock.hpp"

namespace plait::transport {

void must_work(int error) noexcept {
  if (error == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  PMPI_Error_string(error, text, &length);
  fatal("the MPI's messages between nodes fail: %s", text);
}

namespace {

constexpr std::size_t kPacketBytes = 32768;
/// Packets taken in one round.
constexpr int kTurn = 8;
/// After a packet with no more than this there is hardly another at once.
constexpr std::uint32_t kFew = 2048;
/// Processes whose next packet is awaited by a receive of its own.
constexpr std::size_t kAwaited = 16;
/// How often the MPI is asked at the end whether it has cancelled one of these.
constexpr int kTriesToCancel = 1000;
/// Others' packets, and whether the MPI has finished those sent, is asked for every so many rounds.
constexpr unsigned kRoundsToAll = 16;
/// Packets toward one process that the MPI has not finished, and that wait in line behind them.
constexpr int kUnderWay = 8;
constexpr std::size_t kInLine = 32;
/// The flow-control window: packets toward one process that it has not acknowledged. It does so when it has received half as many, or with
/// whatever it sends before. The MPI has finished with most long before, and gathers them there for as long as there is memory. Open MPI
/// 5.0.11 over TCP does not even return from MPI_Test while they come faster than it can put them away.
constexpr std::uint32_t kWindow = 128;
/// A later acknowledgement may come earlier: a count is newer if it is no more than this ahead.
constexpr std::uint32_t kFurthest = std::uint32_t{1} << 31;
constexpr int kPacketTag = 0;
/// Loads all use this one: a process sends them in the order of their records, and receives are posted in that order, so the MPI matches
/// each with its own.
constexpr int kLoadTag = 2;
/// Payloads use tags from here on; 1 is nobody's, see poll_mpi().
constexpr int kFirstPayloadTag = 3;
/// The largest piece of a payload that is sent at once: counts are ints.
constexpr std::uint64_t kPiece = std::uint64_t{1} << 30;
/// Small messages are held back if others have gone less than this before. About what it costs to send a packet.
constexpr std::uint64_t kBurst = 10'000;  // ns

constexpr std::size_t aligned(std::size_t n) noexcept { return (n + 7) / 8 * 8; }

/// How every packet begins.
struct Head {
  std::int32_t process;         ///< that it comes from
  std::uint32_t sequence;       ///< among those from there to here
  std::uint32_t acknowledging;  ///< so many of those from here to there
  std::uint32_t unused = 0;
};
static_assert(sizeof(Head) + sizeof(Record) + kPacketPayload <= kPacketBytes);

/// What goes beside a record.
struct Load {
  const std::byte* from;
  std::uint64_t bytes;
  std::uint32_t operation;
};

struct Packet {
  std::vector<Load> loads;  ///< sent behind it, in the order of their records
  std::uint32_t used = sizeof(Head);
  alignas(8) std::byte bytes[kPacketBytes];
};

/// What goes to one process, and comes from it.
struct Peer {
  Spinlock lock;  ///< over `line` and the packet being filled
  std::vector<std::unique_ptr<Packet>> line;
  bool listed = false;  ///< among those with something to send
  int process = 0;
  // The driver's:
  int under_way = 0;
  std::uint32_t sent = 0;                                  ///< packets: the next one's sequence
  std::uint32_t sent_acknowledged = 0;                     ///< by it
  std::uint32_t received = 0;                              ///< packets, in order: the next one's sequence
  std::uint32_t received_acknowledged = 0;                 ///< to it
  std::map<std::uint32_t, std::unique_ptr<Packet>> early;  ///< that came before the next one

  [[nodiscard]] bool has_room() const noexcept { return under_way < kUnderWay && sent - sent_acknowledged < kWindow; }
  [[nodiscard]] bool must_acknowledge() const noexcept { return received - received_acknowledged >= kWindow / 2; }
};

struct Sent {
  MPI_Request request;
  Peer* to;
  std::unique_ptr<Packet> packet;
};

struct Coming {
  MPI_Request request;
  std::unique_ptr<Packet> packet;
};

/// A receive that waits for the next packet of a process that has sent some.
struct Awaited {
  int process;
  MPI_Request request;
  std::unique_ptr<Packet> packet;
};

/// A payload between two buffers.
struct Transfer {
  std::uint32_t operation = kNobodys;
  std::vector<MPI_Request> pieces;
  bool is_received_load = false;
  std::unique_ptr<std::byte[]> nowhere;  ///< where a load goes that nobody wants
};

/// A transfer that was asked for and not begun.
struct Job {
  enum class Kind : std::uint8_t { send, receive, receive_load } kind;
  std::int32_t process;
  std::byte* at;
  std::uint64_t bytes;
  std::uint32_t own;     ///< slot of the operation here
  std::uint32_t theirs;  ///< receive: slot of the one there
  int tag;               ///< send and receive_load
};

/// A channel: a communicator, and what goes over it. One thread at a time drives it; several channels are driven by several
/// threads where they happen to come.
class Channel {
 public:
  Channel(MPI_Comm comm, std::size_t number, const Sink& sink);

  // As Network has them.
  [[nodiscard]] std::int32_t process() const noexcept { return rank_; }
  [[nodiscard]] std::byte* begin(std::int32_t process, const Record& record, bool must) noexcept;
  void end(std::int32_t process, const Load* load = nullptr) noexcept;
  void take_load(const Record& record, std::byte* to, std::uint32_t receive) noexcept;
  void fetch(std::int32_t process, std::uint32_t operation, std::byte* to, std::uint64_t bytes, std::uint32_t receive) noexcept;
  void provide(const Record& wanted, const std::byte* from, std::uint32_t send) noexcept;
  bool drive() noexcept;
  [[nodiscard]] bool pending() const noexcept {
    return moving_.load(std::memory_order_relaxed) > 0 || unfinished_.load(std::memory_order_relaxed) > 0;
  }
  void nudge() noexcept;
  void flush() noexcept;
  [[nodiscard]] Traffic traffic() noexcept;
  void close() noexcept;

 private:
  void add(Job job) noexcept;
  void ask() noexcept;
  bool round(bool whole_line) noexcept;
  void start(Transfer& t, bool receive, int process, std::byte* at, std::uint64_t bytes, int tag);
  bool begin_transfers();
  void send(Peer& to, std::unique_ptr<Packet> packet);
  bool send_lines(bool whole_line);
  void retire_sent();
  bool end_transfers();
  bool receive_packets();
  bool receive_awaited();
  void await(Awaited& next);
  void take(std::unique_ptr<Packet> packet);

  void read(const Packet& packet);
  void hand_over(const Record& record, const std::byte* payload);

  MPI_Comm comm_;
  std::uint16_t number_;
  Sink sink_;
  int rank_ = 0;
  int tag_limit_ = 32767;
  [[nodiscard]] Peer& peer(std::int32_t process);

  std::vector<std::atomic<Peer*>> peers_;  ///< by process, made at first use

  std::atomic<bool> to_do_{false};  ///< something was added since the last round began
  std::atomic<std::uint64_t> last_sent_{0};
  std::atomic<int> moving_{0};      ///< transfers asked for and not ended
  std::atomic<int> unfinished_{0};  ///< packets that the MPI has been given and has not finished

  Spinlock list_lock_;  // over the two below
  std::vector<Peer*> listed_;
  std::vector<Job> jobs_;

  // The driver's:
  std::mutex driving_;
  bool closed_ = false;
  std::vector<Sent> sent_;
  std::vector<Transfer> transfers_;
  int next_tag_ = kFirstPayloadTag;
  std::vector<Coming> coming_;
  std::vector<Awaited> awaited_;
  Traffic traffic_;
  unsigned rounds_ = 0;
};

Channel::Channel(MPI_Comm comm, std::size_t number, const Sink& sink)
    : comm_(comm), number_(static_cast<std::uint16_t>(number)), sink_(sink) {
  int size = 0;
  PMPI_Comm_rank(comm_, &rank_);
  PMPI_Comm_size(comm_, &size);
  void* value = nullptr;
  int found = 0;
  PMPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, static_cast<void*>(&value), &found);
  if (found) tag_limit_ = *static_cast<int*>(value);
  peers_ = std::vector<std::atomic<Peer*>>(static_cast<std::size_t>(size));
}

// ---- what any thread does

Peer& Channel::peer(std::int32_t process) {
  std::atomic<Peer*>& known = peers_[static_cast<std::size_t>(process)];
  // acquire: as it was made.
  if (Peer* const there = known.load(std::memory_order_acquire)) return *there;
  const std::lock_guard guard(list_lock_);
  if (Peer* const there = known.load(std::memory_order_relaxed)) return *there;
  auto* const made = new Peer;
  made->process = process;
  known.store(made, std::memory_order_release);
  return *made;
}

std::byte* Channel::begin(std::int32_t process, const Record& record, bool must) noexcept try {
  Peer& to = peer(process);
  const std::size_t size = sizeof record + aligned(record.bytes);
  to.lock.lock();
  try {
    if (to.line.empty() || to.line.back()->used + size > kPacketBytes) {
      if (to.line.size() >= kInLine && !must) {
        to.lock.unlock();
        return nullptr;
      }
      to.line.push_back(std::unique_ptr<Packet>(new Packet));
      packets_in_line.fetch_add(1, std::memory_order_relaxed);
    }
  } catch (...) {
    to.lock.unlock();
    throw;
  }
  Packet& packet = *to.line.back();
  std::byte* const at = packet.bytes + packet.used;
  packet.used += static_cast<std::uint32_t>(size);
  std::memcpy(at, &record, sizeof record);
  return at + sizeof record;  // the lock is kept until end()
} catch (const std::bad_alloc&) {
  return nullptr;
}

void Channel::end(std::int32_t process, const Load* load) noexcept {
  Peer& to = *peers_[static_cast<std::size_t>(process)].load(std::memory_order_relaxed);
  if (load) {
    moving_.fetch_add(1, std::memory_order_relaxed);
    try {
      to.line.back()->loads.push_back(*load);
    } catch (const std::bad_alloc&) {
      fatal("no memory left for messages between nodes");
    }
  }
  const bool was = std::exchange(to.listed, true);
  to.lock.unlock();
  if (!was) {
    const std::lock_guard guard(list_lock_);
    listed_.push_back(&to);
  }
  ask();
}

/// Whoever drives will see that there is something to do, or the next that tries finds nobody driving; see drive().
void Channel::ask() noexcept { to_do_.store(true, std::memory_order_seq_cst); }

void Channel::add(Job job) noexcept {
  moving_.fetch_add(1, std::memory_order_relaxed);
  {
    const std::lock_guard guard(list_lock_);
    jobs_.push_back(job);
  }
  ask();
}

void Channel::fetch(std::int32_t process, std::uint32_t operation, std::byte* to, std::uint64_t bytes, std::uint32_t receive) noexcept {
  add({Job::Kind::receive, process, to, bytes, receive, operation, 0});
}

void Channel::provide(const Record& wanted, const std::byte* from, std::uint32_t send) noexcept {
  // MPI's send buffers are not written to.
  add({Job::Kind::send, wanted.process, const_cast<std::byte*>(from), wanted.length, send, 0, wanted.payload_tag});
}

/// By who drives: so the receives are posted in the order of the records.
void Channel::take_load(const Record& record, std::byte* to, std::uint32_t receive) noexcept {
  add({Job::Kind::receive_load, record.process, to, record.length, receive, 0, kLoadTag});
}

void Channel::nudge() noexcept {
  if (packets_in_line.load(std::memory_order_relaxed) > 0 && now() - last_sent_.load(std::memory_order_relaxed) >= kBurst)
    static_cast<void>(drive());
}

/// Before a call that may block in the MPI. Where that lets in one thread at a time, nobody can send meanwhile: then all of the line is
/// the MPI's from now on.
void Channel::flush() noexcept {
  if (!mpi_lock_needed()) {
    static_cast<void>(drive());
    return;
  }
  const MpiLock serial;
  const std::lock_guard guard(driving_);  // whoever drives only tries the other
  static_cast<void>(round(true));
}

// ---- what one thread at a time does

bool Channel::drive() noexcept {
  bool moved = false;
  // A thread that adds something sets to_do_ and then tries to drive; one that stops driving unlocks and then looks at
  // to_do_. All of this is sequentially consistent (the fences order the lock's own accesses, too), so that either the
  // first finds the lock free or the second sees what was added.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  while (driving_.try_lock()) {
    to_do_.store(false, std::memory_order_seq_cst);
    moved |= round(false);
    driving_.unlock();
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (!to_do_.load(std::memory_order_seq_cst)) break;
  }
  return moved;
}

bool Channel::round(bool whole_line) noexcept {
  if (closed_) return false;
  // A thread that is inside moves what there is, or waits in a call of the program's: it is not waited for here.
  const MpiTryLock serial;
  if (!serial) return false;
  try {
    const bool all = ++rounds_ % kRoundsToAll == 0;
    if (all || sent_.size() >= kUnderWay) retire_sent();
    bool moved = begin_transfers();
    moved |= send_lines(whole_line);
    moved |= end_transfers();
    moved |= receive_awaited();
    if (all || awaited_.empty() || !coming_.empty()) moved |= receive_packets();
    return moved;
  } catch (const std::bad_alloc&) {
    fatal("no memory left for messages between nodes");
  }
}

void Channel::start(Transfer& t, bool receive, int process, std::byte* at, std::uint64_t bytes, int tag) {
  for (std::uint64_t done = 0; done < bytes; done += kPiece) {
    const int n = static_cast<int>(std::min(kPiece, bytes - done));
    MPI_Request& piece = t.pieces.emplace_back(MPI_REQUEST_NULL);
    must_work(receive ? PMPI_Irecv(at + done, n, MPI_BYTE, process, tag, comm_, &piece)
                      : PMPI_Isend(at + done, n, MPI_BYTE, process, tag, comm_, &piece));
  }
}

bool Channel::begin_transfers() {
  std::vector<Job> jobs;
  {
    const std::lock_guard guard(list_lock_);
    if (jobs_.empty()) return false;
    jobs.swap(jobs_);
  }
  for (const Job& job : jobs) {
    const bool fetched = job.kind == Job::Kind::receive;
    const int tag = fetched ? next_tag_ : job.tag;
    if (fetched) next_tag_ = next_tag_ >= tag_limit_ ? kFirstPayloadTag : next_tag_ + 1;
    Transfer& t = transfers_.emplace_back();
    t.operation = job.own;
    t.is_received_load = job.kind == Job::Kind::receive_load;
    std::byte* at = job.at;
    if (!at) {
      t.operation = kNobodys;
      t.nowhere.reset(new std::byte[job.bytes]);
      at = t.nowhere.get();
    }
    start(t, job.kind != Job::Kind::send, job.process, at, job.bytes, tag);
    if (!fetched) continue;
    Record wanted;
    wanted.kind = Record::Kind::kCts;
    wanted.target = job.theirs;
    wanted.process = rank_;
    wanted.length = job.bytes;
    wanted.payload_tag = tag;
    wanted.channel = number_;
    if (!begin(job.process, wanted, true)) throw std::bad_alloc();
    end(job.process);
  }
  return true;
}

void Channel::send(Peer& to, std::unique_ptr<Packet> packet) {
  const Head head{rank_, to.sent++, to.received};
  to.received_acknowledged = to.received;
  std::memcpy(packet->bytes, &head, sizeof head);
  MPI_Request request = MPI_REQUEST_NULL;
  must_work(PMPI_Isend(packet->bytes, static_cast<int>(packet->used), MPI_BYTE, to.process, kPacketTag, comm_, &request));
  ++traffic_.sent;
  for (const Load& load : packet->loads) {
    Transfer& t = transfers_.emplace_back();
    t.operation = load.operation;
    // MPI's send buffers are not written to.
    start(t, false, to.process, const_cast<std::byte*>(load.from), load.bytes, kLoadTag);
    ++traffic_.sent;
  }
  packet->loads.clear();
  ++to.under_way;
  unfinished_.fetch_add(1, std::memory_order_relaxed);
  sent_.push_back({request, &to, std::move(packet)});
}

bool Channel::send_lines(bool whole_line) {
  std::vector<Peer*> peers;
  {
    const std::lock_guard guard(list_lock_);
    if (listed_.empty()) return false;
    peers.swap(listed_);
  }
  bool sent = false;
  for (Peer* const to : peers) {
    bool left = false;
    for (;;) {
      std::unique_ptr<Packet> packet;
      {
        const std::lock_guard guard(to->lock);
        left = !to->line.empty();
        if (left && (whole_line || to->has_room())) {
          packet = std::move(to->line.front());
          to->line.erase(to->line.begin());
          packets_in_line.fetch_sub(1, std::memory_order_relaxed);
        } else if (!left) {
          to->listed = false;
        }
      }
      if (!packet) break;
      send(*to, std::move(packet));
      sent = true;
    }
    if (left) {
      const std::lock_guard guard(list_lock_);
      listed_.push_back(to);
    }
  }
  if (sent) last_sent_.store(now(), std::memory_order_relaxed);
  return sent;
}

/// All of them: one whose receiver does not come must not keep the others.
void Channel::retire_sent() {
  for (std::size_t i = 0; i < sent_.size();) {
    int flag = 0;
    must_work(PMPI_Test(&sent_[i].request, &flag, MPI_STATUS_IGNORE));
    if (!flag) {
      ++i;
      continue;
    }
    --sent_[i].to->under_way;
    unfinished_.fetch_sub(1, std::memory_order_relaxed);
    std::swap(sent_[i], sent_.back());
    sent_.pop_back();
  }
}

bool Channel::end_transfers() {
  bool ended = false;
  for (std::size_t i = 0; i < transfers_.size();) {
    Transfer& t = transfers_[i];
    int flag = 0;
    const int error = PMPI_Testall(static_cast<int>(t.pieces.size()), t.pieces.data(), &flag, MPI_STATUSES_IGNORE);
    if (!flag && error == MPI_SUCCESS) {
      ++i;
      continue;
    }
    const std::uint32_t operation = t.operation;
    if (t.is_received_load) ++traffic_.received;
    std::swap(t, transfers_.back());
    transfers_.pop_back();
    moving_.fetch_sub(1, std::memory_order_relaxed);
    const Sink* const sink = (operation & kOneSidedOperation) == 0 ? &sink_ : one_sided_sink.load(std::memory_order_acquire);
    if (sink && operation != kNobodys) sink->moved(operation, error == MPI_SUCCESS);
    ended = true;
  }
  return ended;
}

void Channel::await(Awaited& next) {
  next.packet.reset(new Packet);
  must_work(PMPI_Irecv(next.packet->bytes, static_cast<int>(sizeof next.packet->bytes), MPI_BYTE, next.process, kPacketTag, comm_,
                       &next.request));
}

bool Channel::receive_awaited() {
  bool any = false;
  for (Awaited& a : awaited_) {
    for (int i = 0; i < kTurn; ++i) {
      int flag = 0;
      MPI_Status status;
      must_work(PMPI_Test(&a.request, &flag, &status));
      if (!flag) break;
      int size = 0;
      PMPI_Get_count(&status, MPI_BYTE, &size);
      std::unique_ptr<Packet> packet = std::move(a.packet);
      packet->used = static_cast<std::uint32_t>(size);
      await(a);
      const bool more = packet->used > kFew;
      take(std::move(packet));
      any = true;
      if (!more) break;
    }
  }
  return any;
}

/// From those that are not awaited, by matched probes: receives posted ahead from any source lose messages between nodes under
/// MPICH 5.0.2 over UCX (its own programs, too), and slow all else under Intel MPI 2021.19. They also would take memory for
/// packets that never come.
bool Channel::receive_packets() {
  bool any = false;
  for (int i = 0; i < kTurn; ++i) {
    int flag = 0;
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Status status;
    must_work(PMPI_Improbe(MPI_ANY_SOURCE, kPacketTag, comm_, &flag, &message, &status));
    if (!flag) break;
    int size = 0;
    PMPI_Get_count(&status, MPI_BYTE, &size);
    std::unique_ptr<Packet> packet(new Packet);
    packet->used = static_cast<std::uint32_t>(size);
    MPI_Request request = MPI_REQUEST_NULL;
    must_work(PMPI_Imrecv(packet->bytes, size, MPI_BYTE, &message, &request));
    coming_.push_back({request, std::move(packet)});
    const int process = status.MPI_SOURCE;
    if (awaited_.size() < kAwaited &&
        std::none_of(awaited_.begin(), awaited_.end(), [&](const Awaited& a) { return a.process == process; }))
      await(awaited_.emplace_back(Awaited{process, MPI_REQUEST_NULL, nullptr}));
  }
  for (std::size_t i = 0; i < coming_.size();) {
    int flag = 0;
    must_work(PMPI_Test(&coming_[i].request, &flag, MPI_STATUS_IGNORE));
    if (!flag) {
      ++i;
      continue;
    }
    std::unique_ptr<Packet> packet = std::move(coming_[i].packet);
    coming_.erase(coming_.begin() + static_cast<std::ptrdiff_t>(i));
    take(std::move(packet));
    any = true;
  }
  return any;
}

/// Packets of a process are read in the order in which they were sent; the MPI keeps it in matching, but large ones may be
/// here later than those that follow.
void Channel::take(std::unique_ptr<Packet> packet) {
  ++traffic_.received;
  Head head;
  std::memcpy(&head, packet->bytes, sizeof head);
  Peer& from = peer(head.process);
  const std::uint32_t more = head.acknowledging - from.sent_acknowledged;
  if (more <= kFurthest) from.sent_acknowledged = head.acknowledging;
  if (head.sequence != from.received) {
    from.early.emplace(head.sequence, std::move(packet));
    return;
  }
  read(*packet);
  ++from.received;
  for (auto next = from.early.find(from.received); next != from.early.end(); next = from.early.find(++from.received)) {
    read(*next->second);
    from.early.erase(next);
  }
  // Not held back by what is in line: both sides might wait for room.
  if (from.must_acknowledge()) send(from, std::unique_ptr<Packet>(new Packet));
}

void Channel::read(const Packet& packet) {
  for (std::size_t at = sizeof(Head); at < packet.used;) {
    Record record;
    std::memcpy(&record, packet.bytes + at, sizeof record);
    at += sizeof record;
    hand_over(record, packet.bytes + at);
    at += aligned(record.bytes);
  }
}

void Channel::hand_over(const Record& record, const std::byte* payload) {
  if (record.kind != Record::Kind::kOneSided) {
    sink_.record(record, payload);
  } else if (const Sink* const other = one_sided_sink.load(std::memory_order_acquire)) {
    other->record(record, payload);
  } else if (record.length > 0) {
    take_load(record, nullptr, kNobodys);
  }
}

Traffic Channel::traffic() noexcept {
  const std::lock_guard guard(driving_);
  return traffic_;
}

void Channel::close() noexcept {
  const std::lock_guard guard(driving_);
  retire_sent();
  closed_ = true;
  // What the MPI has not finished is left to it: nobody receives any more. It may still read or write these packets.
  for (Sent& s : sent_) PMPI_Request_free(&s.request);
  for (Awaited& a : awaited_) {
    PMPI_Cancel(&a.request);
    int ended = 0;
    for (int i = 0; i < kTriesToCancel && !ended; ++i) PMPI_Test(&a.request, &ended, MPI_STATUS_IGNORE);
    if (ended) {
      a.packet.reset();
    } else {
      PMPI_Request_free(&a.request);
    }
  }
  for (Transfer& t : transfers_) {
    for (MPI_Request& r : t.pieces) {
      if (r != MPI_REQUEST_NULL) PMPI_Request_free(&r);
    }
  }
}

/// All channels as one network.
class Packets final : public Network {
 public:
  Packets(const std::vector<MPI_Comm>& comms, const Sink& sink) {
    for (const MPI_Comm comm : comms) channels_.push_back(std::make_unique<Channel>(comm, channels_.size(), sink));
  }

  [[nodiscard]] std::int32_t process() const noexcept override { return channels_.front()->process(); }
  [[nodiscard]] std::byte* begin(std::int32_t process, const Record& record, bool must) noexcept override {
    return of(record).begin(process, record, must);
  }
  void end(std::int32_t process, const Record& record) noexcept override { of(record).end(process); }
  void end_with_load(std::int32_t process, const Record& record, const std::byte* from, std::uint32_t send) noexcept override {
    const Load load{from, record.length, send};
    of(record).end(process, &load);
  }
  void take_load(const Record& record, std::byte* to, std::uint32_t receive) noexcept override {
    of(record).take_load(record, to, receive);
  }
  void fetch(std::int32_t process, std::uint32_t operation, std::byte* to, std::uint64_t bytes, std::uint32_t receive) noexcept override {
    channels_[receive % channels_.size()]->fetch(process, operation, to, bytes, receive);
  }
  void provide(const Record& wanted, const std::byte* from, std::uint32_t send) noexcept override {
    channels_[wanted.channel % channels_.size()]->provide(wanted, from, send);
  }
  bool try_progress() noexcept override {
    if (channels_.size() == 1) return channels_.front()->drive();
    // Threads begin at channels of their own, so that they seldom meet.
    static std::atomic<std::size_t> threads{0};
    thread_local const std::size_t mine = threads.fetch_add(1, std::memory_order_relaxed);
    bool moved = false;
    for (std::size_t i = 0; i < channels_.size(); ++i) moved |= channels_[(mine + i) % channels_.size()]->drive();
    return moved;
  }
  [[nodiscard]] bool pending() const noexcept override {
    return packets_in_line.load(std::memory_order_relaxed) > 0 ||
           std::any_of(channels_.begin(), channels_.end(), [](const auto& c) { return c->pending(); });
  }
  void flush() noexcept override {
    if (packets_in_line.load(std::memory_order_relaxed) == 0) return;
    for (const auto& c : channels_) c->flush();
  }
  void nudge() noexcept override {
    for (const auto& c : channels_) c->nudge();
  }
  [[nodiscard]] Traffic traffic() noexcept {
    Traffic all;
    for (const auto& c : channels_) {
      const Traffic one = c->traffic();
      all.sent += one.sent;
      all.received += one.received;
    }
    return all;
  }
  void close() noexcept {
    for (const auto& c : channels_) c->close();
  }

 private:
  /// What one endpoint sends another on one communicator goes by one channel, for the order; the rest is spread.
  [[nodiscard]] Channel& of(const Record& record) const noexcept {
    const std::size_t number = record.kind == Record::Kind::kCts ? record.channel : record.target + record.source;
    return *channels_[number % channels_.size()];
  }

  std::vector<std::unique_ptr<Channel>> channels_;
};

}  // namespace

namespace {

constinit std::atomic<Pollers> pollers_allowed{Pollers::none};  // set before other threads exist: relaxed
thread_local bool may_poll = false;
MPI_Comm polled = MPI_COMM_NULL;
/// Nobody sends with it.
constexpr int kPollTag = 1;

}  // namespace

void set_pollers(Pollers pollers, MPI_Comm comm) noexcept {
  polled = comm;
  pollers_allowed.store(pollers, std::memory_order_relaxed);
  may_poll = pollers == Pollers::this_one;
  progress::set_mpi_poll(poll_mpi);
}

void poll_mpi() noexcept {
  if (pollers_allowed.load(std::memory_order_relaxed) == Pollers::all || may_poll) poll_mpi_as_asked();
}

void poll_mpi_as_asked() noexcept {
  if (polled == MPI_COMM_NULL && !world_exists()) return;
  // A thread that is inside moves what there is, and may stay for long.
  const MpiTryLock lock;
  if (!lock) return;
  int flag = 0;
  // Not on MPI_COMM_SELF: MPICH moves nothing then.
  static_cast<void>(PMPI_Iprobe(MPI_ANY_SOURCE, kPollTag, polled == MPI_COMM_NULL ? MPI_COMM_WORLD : polled, &flag, MPI_STATUS_IGNORE));
}

void open_packets(const std::vector<MPI_Comm>& channels, const Sink& sink, bool serialized) {
  static std::mutex once;
  const std::lock_guard guard(once);
  if (network()) return;
  if (serialized) need_mpi_lock();
  // Never destroyed: exit handlers may still use it.
  auto* const made = new Packets(channels, sink);
  network_in_use.store(made, std::memory_order_release);
  progress::add_source(*made, true);
}

Traffic packet_traffic() noexcept {
  Network* const n = network();
  return n ? static_cast<Packets*>(n)->traffic() : Traffic{};
}

void close_packets() noexcept {
  if (Network* const n = network()) static_cast<Packets*>(n)->close();
}

}  // namespace plait::transport
