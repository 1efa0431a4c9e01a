#include "gaspi/one_sided.hpp"

#include <atomic>
#include <cerrno>
#include <cstring>

#include "gaspi/segments.hpp"
#include "gaspi/statistics.hpp"
#include "lane/peer_memory.hpp"

namespace plait::gaspi {
namespace {

/// Of this process's segments and a near rank's, found once for each piece.
gaspi_return_t check_local(Job& job, const Pieces& p, std::uint32_t i, View*& local) noexcept {
  if (!p.local || p.local[i] >= config().segment_max) return GASPI_ERR_INV_SEG;
  local = own(job, p.local[i]);
  if (!local) return GASPI_ERR_INV_SEG;
  return local->has(p.local_offset[i], p.bytes[i]) ? GASPI_SUCCESS : GASPI_ERR_INV_LOC_OFF;
}

gaspi_return_t check_near(Job& job, Peer& peer, std::uint32_t segment, std::uint64_t offset, std::uint64_t bytes, View*& remote) noexcept {
  if (segment >= config().segment_max) return GASPI_ERR_INV_SEG;
  remote = find(job, peer, segment);
  if (!remote) return GASPI_ERR_INV_SEG;
  return remote->has(offset, bytes) ? GASPI_SUCCESS : GASPI_ERR_INV_REM_OFF;
}

gaspi_return_t check_remote(Job& job, Peer& peer, std::uint32_t segment, std::uint64_t offset, std::uint64_t bytes) noexcept {
  if (peer.control) {
    View* unused = nullptr;
    return check_near(job, peer, segment, offset, bytes, unused);
  }
  if (segment >= config().segment_max) return GASPI_ERR_INV_SEG;
  const std::uint64_t known = far::segment_size(peer, segment);
  if (known == far::kNoSegment) return GASPI_ERR_INV_SEG;
  return offset <= known && bytes <= known - offset ? GASPI_SUCCESS : GASPI_ERR_INV_REM_OFF;
}

gaspi_return_t check_target(Job& job, const Target& t) noexcept {
  if (t.rank >= job.size) return GASPI_ERR_INV_RANK;
  if (t.queue >= kQueues || !job.queues[t.queue].exists.load(std::memory_order_relaxed)) return GASPI_ERR_INV_QUEUE;
  return GASPI_SUCCESS;
}

gaspi_return_t check_pieces(Job& job, Peer& peer, const Pieces& p) noexcept {
  for (std::uint32_t i = 0; i < p.count; ++i) {
    View* local = nullptr;
    if (const gaspi_return_t e = check_local(job, p, i, local); e != GASPI_SUCCESS) return e;
    if (const gaspi_return_t e = check_remote(job, peer, p.remote[i], p.remote_offset[i], p.bytes[i]); e != GASPI_SUCCESS) return e;
    if (p.bytes[i] > config().transfer_size_max) return GASPI_ERR_INV_SIZE;
  }
  return GASPI_SUCCESS;
}

gaspi_return_t check_notice(Job& job, Peer& peer, const Notice& n) noexcept {
  if (n.value == 0) return GASPI_SUCCESS;
  if (const gaspi_return_t e = check_remote(job, peer, n.segment, 0, 0); e != GASPI_SUCCESS) return e;
  return n.id < config().notification_num ? GASPI_SUCCESS : GASPI_ERR_INV_NOTIF_ID;
}

/// Around a use of memory that is the program's: counted, and not begun when the segment is gone.
class Visit {
 public:
  explicit Visit(const View& view) noexcept : entry_(view.counted ? view.entry : nullptr) {
    there_ = !entry_ || entry_->enter(view.version);
  }
  ~Visit() {
    if (entry_ && there_) entry_->leave();
  }
  Visit(const Visit&) = delete;
  Visit& operator=(const Visit&) = delete;
  explicit operator bool() const noexcept { return there_; }

 private:
  SegmentEntry* entry_;
  bool there_;
};

/// What looked near has to go by messages. No call returns this.
constexpr auto kNotNear = static_cast<gaspi_return_t>(-2);

/// The system's call has failed.
gaspi_return_t refused(Peer& peer) noexcept {
  if (errno == ESRCH) return GASPI_ERROR;
  peer.by_messages.store(true, std::memory_order_relaxed);
  return kNotNear;
}

gaspi_return_t copy_out(Peer& peer, const View& to, std::uint64_t offset, const std::byte* from, std::size_t n) noexcept {
  const Visit visit(to);
  if (!visit) return GASPI_ERR_INV_SEG;
  if (to.way == View::Way::mapped) {
    std::memmove(to.data + offset, from, n);  // a rank may write to itself
    return GASPI_SUCCESS;
  }
  return lane::write_peer(peer.pid, to.address + offset, from, {0, n}) ? GASPI_SUCCESS : refused(peer);
}

gaspi_return_t copy_in(Peer& peer, const View& from, std::uint64_t offset, std::byte* to, std::size_t n) noexcept {
  const Visit visit(from);
  if (!visit) return GASPI_ERR_INV_SEG;
  if (from.way == View::Way::mapped) {
    std::memmove(to, from.data + offset, n);
    return GASPI_SUCCESS;
  }
  lane::Memory memory;
  memory.at = to;
  memory.bytes = n;
  const lane::Part all{0, n};
  return lane::read_peer(peer.pid, from.address + offset, memory, {&all, 1}) ? GASPI_SUCCESS : refused(peer);
}

/// All of a call in a node. Its pieces have been checked; a segment may be gone since.
template <class Copy>
gaspi_return_t copy_pieces(Job& job, Peer& peer, const Pieces& p, Copy copy) noexcept {
  for (std::uint32_t i = 0; i < p.count; ++i) {
    View* const local = own(job, p.local[i]);
    View* const remote = find(job, peer, p.remote[i]);
    if (!local || !remote) return GASPI_ERR_INV_SEG;
    if (p.bytes[i] == 0) continue;
    if (const gaspi_return_t e = copy(*remote, p.remote_offset[i], local->data + p.local_offset[i], p.bytes[i]); e != GASPI_SUCCESS)
      return e;
  }
  return GASPI_SUCCESS;
}

std::uint64_t bytes_of(const Pieces& p) noexcept {
  std::uint64_t all = 0;
  for (std::uint32_t i = 0; i < p.count; ++i) all += p.bytes[i];
  return all;
}

/// Can all be done here and now?
bool is_near(const Peer& peer) noexcept { return peer.control && !peer.by_messages.load(std::memory_order_relaxed); }

gaspi_return_t write_near(Job& job, Peer& peer, const Pieces& p, const Notice& notice) noexcept {
  const gaspi_return_t e = copy_pieces(job, peer, p, [&](const View& to, std::uint64_t offset, const std::byte* from, std::size_t n) {
    return copy_out(peer, to, offset, from, n);
  });
  if (e != GASPI_SUCCESS || notice.value == 0) return e;
  View* const told = find(job, peer, notice.segment);
  if (!told) return GASPI_ERR_INV_SEG;
  told->board->post(notice.id, notice.value);
  return GASPI_SUCCESS;
}

/// The one case that is worth it: one piece in a node, each segment looked up once.
gaspi_return_t write_one(Job& job, Peer& peer, const Pieces& p, const Notice& notice, const Target& target) noexcept {
  View* local = nullptr;
  View* remote = nullptr;
  if (const gaspi_return_t e = check_local(job, p, 0, local); e != GASPI_SUCCESS) return e;
  if (const gaspi_return_t e = check_near(job, peer, p.remote[0], p.remote_offset[0], p.bytes[0], remote); e != GASPI_SUCCESS) return e;
  if (p.bytes[0] > config().transfer_size_max) return GASPI_ERR_INV_SIZE;
  if (!is_near(peer)) return kNotNear;  // as has just been found
  View* told = remote;
  if (notice.value != 0) {
    if (notice.id >= config().notification_num) return GASPI_ERR_INV_NOTIF_ID;
    if (notice.segment != p.remote[0]) {
      if (const gaspi_return_t e = check_near(job, peer, notice.segment, 0, 0, told); e != GASPI_SUCCESS) return e;
    }
  }
  Queue& queue = job.queues[target.queue];
  if (!queue.take(config().queue_size_max)) return GASPI_QUEUE_FULL;
  const gaspi_return_t e =
      p.bytes[0] == 0 ? GASPI_SUCCESS : copy_out(peer, *remote, p.remote_offset[0], local->data + p.local_offset[0], p.bytes[0]);
  if (e != GASPI_SUCCESS) {
    queue.give_back();
    return e;
  }
  if (notice.value != 0) told->board->post(notice.id, notice.value);
  return GASPI_SUCCESS;
}

}  // namespace

gaspi_return_t write(Job& job, const Pieces& p, const Notice& notice, const Target& target) noexcept {
  if (const gaspi_return_t e = check_target(job, target); e != GASPI_SUCCESS) return e;
  Peer& peer = job.peers[target.rank];
  if (peer.dead.load(std::memory_order_relaxed)) return GASPI_ERROR;
  const InUse in_use;
  gaspi_return_t result = kNotNear;
  if (p.count == 1 && is_near(peer)) result = write_one(job, peer, p, notice, target);
  if (result == kNotNear) {
    if (const gaspi_return_t e = check_pieces(job, peer, p); e != GASPI_SUCCESS) return e;
    if (const gaspi_return_t e = check_notice(job, peer, notice); e != GASPI_SUCCESS) return e;
    Queue& queue = job.queues[target.queue];
    if (!queue.take(config().queue_size_max)) return GASPI_QUEUE_FULL;
    if (is_near(peer)) result = write_near(job, peer, p, notice);
    if (result == kNotNear) result = far::write(job, peer, p, notice, target.queue, Deadline(target.timeout));
    if (result != GASPI_SUCCESS) queue.give_back();
  }
  if (result == GASPI_SUCCESS) statistics::count_write(target.rank, p.count > 0 ? bytes_of(p) : 0, notice.value != 0);
  return result;
}

gaspi_return_t read(Job& job, const Pieces& p, const Notice& notice, const Target& target) noexcept {
  if (const gaspi_return_t e = check_target(job, target); e != GASPI_SUCCESS) return e;
  Peer& peer = job.peers[target.rank];
  if (peer.dead.load(std::memory_order_relaxed)) return GASPI_ERROR;
  const InUse in_use;
  if (const gaspi_return_t e = check_pieces(job, peer, p); e != GASPI_SUCCESS) return e;
  if (const gaspi_return_t e = check_notice(job, job.self(), notice); e != GASPI_SUCCESS) return e;
  Queue& queue = job.queues[target.queue];
  if (!queue.take(config().queue_size_max)) return GASPI_QUEUE_FULL;
  gaspi_return_t result = kNotNear;
  if (is_near(peer)) {
    result = copy_pieces(job, peer, p, [&](const View& from, std::uint64_t offset, std::byte* to, std::size_t n) {
      return copy_in(peer, from, offset, to, n);
    });
    View* const told = result == GASPI_SUCCESS && notice.value != 0 ? own(job, notice.segment) : nullptr;
    if (told) told->board->post(notice.id, notice.value);
  }
  if (result == kNotNear) {
    result = far::read(job, peer, p, notice, target.queue, Deadline(target.timeout));
  }
  if (result != GASPI_SUCCESS) {
    queue.give_back();
  } else {
    statistics::count_read(target.rank, bytes_of(p));
  }
  return result;
}

gaspi_return_t wait(Job& job, std::uint8_t number, gaspi_timeout_t timeout) noexcept {
  if (number >= kQueues || !job.queues[number].exists.load(std::memory_order_relaxed)) return GASPI_ERR_INV_QUEUE;
  Queue& queue = job.queues[number];
  const std::uint32_t posted = queue.count().posted;
  if (far::in_use()) {
    const Deadline deadline(timeout);
    if (!far::flush(job, number, deadline)) return GASPI_TIMEOUT;
    // acquire: what was read is there.
    if (!wait_for(job, deadline, progress::kForMessage, job.control->bell,
                  [&] { return queue.under_way.load(std::memory_order_acquire) == 0; }))
      return GASPI_TIMEOUT;
  }
  queue.wait_up_to(posted);
  look_for_deaths(job);
  return queue.failed.load(std::memory_order_relaxed) && queue.failed.exchange(false, std::memory_order_relaxed) ? GASPI_ERROR
                                                                                                                 : GASPI_SUCCESS;
}

gaspi_return_t wait_some(Job& job, std::uint32_t segment, std::uint32_t begin, std::uint32_t count, std::uint32_t& first,
                         gaspi_timeout_t timeout) noexcept {
  if (segment >= config().segment_max) return GASPI_ERR_INV_SEG;
  if (begin >= config().notification_num) return GASPI_ERR_INV_NOTIF_ID;
  if (count > config().notification_num - begin) return GASPI_ERR_INV_NUM;
  std::optional<InUse> in_use(std::in_place);
  View* const view = own(job, segment);
  if (!view) return GASPI_ERR_INV_SEG;
  if (count == 0) return GASPI_SUCCESS;
  const auto look = [&] {
    const std::optional<std::uint32_t> found = view->board->find(begin, count);
    if (found) first = *found;
    return found.has_value();
  };
  if (look()) return GASPI_SUCCESS;
  const Deadline deadline(timeout);
  const Pinned pinned_job(job);
  const Pinned pinned_view(*view);
  in_use.reset();
  bool found = false;
  const bool ended = wait_for(job, deadline, progress::kForNotification, view->board->event(), [&] {
    found = look();
    return found || !view->is_there();
  });
  if (found) return GASPI_SUCCESS;
  return ended ? GASPI_ERR_INV_SEG : GASPI_TIMEOUT;
}

gaspi_return_t reset(Job& job, std::uint32_t segment, std::uint32_t id, std::uint32_t& old) noexcept {
  if (segment >= config().segment_max) return GASPI_ERR_INV_SEG;
  if (id >= config().notification_num) return GASPI_ERR_INV_NOTIF_ID;
  const InUse in_use;
  View* const view = own(job, segment);
  if (!view) return GASPI_ERR_INV_SEG;
  old = view->board->reset(id);
  return GASPI_SUCCESS;
}

std::uint64_t AtomicCall::on(std::byte* word) const noexcept {
  const std::atomic_ref<std::uint64_t> at(*reinterpret_cast<std::uint64_t*>(word));
  // seq_cst: programs build locks and counters of these, and order other things by them.
  if (!swap) return at.fetch_add(value, std::memory_order_seq_cst);
  std::uint64_t seen = comparator;
  at.compare_exchange_strong(seen, value, std::memory_order_seq_cst);
  return seen;
}

gaspi_return_t atomic(Job& job, const AtomicCall& call, std::uint16_t rank, gaspi_atomic_value_t& old, gaspi_timeout_t timeout) noexcept {
  if (rank >= job.size) return GASPI_ERR_INV_RANK;
  Peer& peer = job.peers[rank];
  if (peer.dead.load(std::memory_order_relaxed)) return GASPI_ERROR;
  const InUse in_use;
  if (call.offset % sizeof(std::uint64_t) != 0) return GASPI_ERR_UNALIGN_OFF;
  if (const gaspi_return_t e = check_remote(job, peer, call.segment, call.offset, sizeof(std::uint64_t)); e != GASPI_SUCCESS) return e;
  statistics::count_atomic(rank);
  View* const view = peer.control ? find(job, peer, call.segment) : nullptr;
  if (view && view->way == View::Way::mapped) {
    if (reinterpret_cast<std::uintptr_t>(view->data + call.offset) % sizeof(std::uint64_t) != 0) return GASPI_ERR_UNALIGN_OFF;
    const Visit visit(*view);
    if (!visit) return GASPI_ERR_INV_SEG;
    old = call.on(view->data + call.offset);
    return GASPI_SUCCESS;
  }
  const Deadline deadline(timeout);
  return far::atomic(job, peer, call, old, deadline);
}

}  // namespace plait::gaspi
