// The exported functions of GASPI on segments: memory, one-sided calls and notifications, queues, passive messages, atomics.
#include <bit>
#include <optional>

#include "gaspi/one_sided.hpp"
#include "gaspi/passive.hpp"
#include "gaspi/segments.hpp"
#include "gaspi/statistics.hpp"
#include "mpi/gaspi.hpp"

using plait::gaspi::config;
using plait::gaspi::InUse;
using plait::gaspi::Job;
using plait::gaspi::kQueues;
using plait::gaspi::Notice;
using plait::gaspi::Piece;
using plait::gaspi::Pieces;
using plait::gaspi::Pinned;
using plait::gaspi::Queue;
using plait::gaspi::Target;
using plait::gaspi::View;
using plait::mpi::gaspi_give;
using plait::mpi::in_job;

namespace {

/// Sizes of segments that can be: the rest of the address space is not enough for more.
constexpr gaspi_size_t kMostBytes = gaspi_size_t{1} << 46;

gaspi_return_t check_new(gaspi_segment_id_t segment, gaspi_size_t size) noexcept {
  if (segment >= config().segment_max) return GASPI_ERR_INV_SEG;
  return size > 0 && size <= kMostBytes ? GASPI_SUCCESS : GASPI_ERR_INV_SEGSIZE;
}

/// Of this process's segments, for a call that uses it.
View* find_own(Job& job, gaspi_segment_id_t segment) noexcept { return segment < config().segment_max ? own(job, segment) : nullptr; }

Queue* find_queue(Job& job, gaspi_queue_id_t queue) noexcept {
  return queue < kQueues && job.queues[queue].exists.load(std::memory_order_relaxed) ? &job.queues[queue] : nullptr;
}

gaspi_return_t check_list(const Pieces& p) noexcept {
  if (p.count == 0 || p.count > config().rw_list_elem_max) return GASPI_ERR_INV_NUM;
  return p.local && p.local_offset && p.remote && p.remote_offset && p.bytes ? GASPI_SUCCESS : GASPI_ERR_NULLPTR;
}

/// Calls it with that piece. It may wait for long: what is pinned is all that it has.
template <class Call>
gaspi_return_t with_piece(Job& job, gaspi_segment_id_t segment, gaspi_offset_t offset, gaspi_size_t size, Call call) noexcept {
  std::optional<InUse> in_use(std::in_place);
  View* const view = find_own(job, segment);
  if (!view) return GASPI_ERR_INV_SEG;
  if (size == 0 || size > config().passive_transfer_size_max) return GASPI_ERR_INV_SIZE;
  if (!view->has(offset, size)) return GASPI_ERR_INV_LOC_OFF;
  const Pinned pinned_job(job);
  const Pinned pinned_view(*view);
  in_use.reset();
  return call(Piece{*view, segment, offset, size});
}

}  // namespace

#pragma GCC visibility push(default)

// ---- segments

extern "C" gaspi_return_t pgaspi_segment_alloc(gaspi_segment_id_t segment, gaspi_size_t size, gaspi_alloc_t /*policy*/) {
  return in_job([&](Job& job) {
    const gaspi_return_t e = check_new(segment, size);
    return e == GASPI_SUCCESS ? allocate(job, segment, size) : e;
  });
}
extern "C" gaspi_return_t pgaspi_segment_bind(gaspi_segment_id_t segment, gaspi_pointer_t pointer, gaspi_size_t size,
                                              gaspi_memory_description_t /*description*/) {
  return in_job([&](Job& job) {
    if (!pointer) return GASPI_ERR_NULLPTR;
    const gaspi_return_t e = check_new(segment, size);
    return e == GASPI_SUCCESS ? bind(job, segment, pointer, size) : e;
  });
}
extern "C" gaspi_return_t pgaspi_segment_delete(gaspi_segment_id_t segment) {
  return in_job([&](Job& job) { return segment < config().segment_max ? remove(job, segment) : GASPI_ERR_INV_SEG; });
}
extern "C" gaspi_return_t pgaspi_segment_register(gaspi_segment_id_t segment, gaspi_rank_t rank, gaspi_timeout_t timeout) {
  return in_job([&](Job& job) {
    if (rank >= job.size) return GASPI_ERR_INV_RANK;
    const InUse in_use;
    if (!find_own(job, segment)) return GASPI_ERR_INV_SEG;
    return register_with(job, segment, job.peers[rank], plait::gaspi::Deadline(timeout));
  });
}
extern "C" gaspi_return_t pgaspi_segment_create(gaspi_segment_id_t segment, gaspi_size_t size, gaspi_group_t group, gaspi_timeout_t timeout,
                                                gaspi_alloc_t /*policy*/) {
  return in_job([&](Job& job) {
    const gaspi_return_t e = check_new(segment, size);
    return e == GASPI_SUCCESS ? create(job, segment, nullptr, size, group, timeout) : e;
  });
}
extern "C" gaspi_return_t pgaspi_segment_use(gaspi_segment_id_t segment, gaspi_pointer_t pointer, gaspi_size_t size, gaspi_group_t group,
                                             gaspi_timeout_t timeout, gaspi_memory_description_t /*description*/) {
  return in_job([&](Job& job) {
    if (!pointer) return GASPI_ERR_NULLPTR;
    const gaspi_return_t e = check_new(segment, size);
    return e == GASPI_SUCCESS ? create(job, segment, pointer, size, group, timeout) : e;
  });
}
extern "C" gaspi_return_t pgaspi_segment_num(gaspi_number_t* num) {
  return in_job([&](Job& job) {
    const std::lock_guard guard(job.segments_lock);
    return gaspi_give(num, job.segments);
  });
}
extern "C" gaspi_return_t pgaspi_segment_list(gaspi_number_t num, gaspi_segment_id_t* list) {
  return in_job([&](Job& job) {
    if (!list) return GASPI_ERR_NULLPTR;
    const std::lock_guard guard(job.segments_lock);
    if (num > job.segments) return GASPI_ERR_INV_NUM;
    for (gaspi_number_t i = 0; i < plait::gaspi::kSegments && num > 0; ++i) {
      if (job.control->segments[i].version() % 2 == 0) continue;
      *list++ = static_cast<gaspi_segment_id_t>(i);
      --num;
    }
    return GASPI_SUCCESS;
  });
}
extern "C" gaspi_return_t pgaspi_segment_ptr(gaspi_segment_id_t segment, gaspi_pointer_t* pointer) {
  return in_job([&](Job& job) {
    if (!pointer) return GASPI_ERR_NULLPTR;
    const InUse in_use;
    const View* const view = find_own(job, segment);
    return view ? gaspi_give(pointer, static_cast<void*>(view->data)) : GASPI_ERR_INV_SEG;
  });
}
extern "C" gaspi_return_t pgaspi_segment_max(gaspi_number_t* max) {
  return in_job([&](Job&) { return gaspi_give(max, config().segment_max); });
}
extern "C" gaspi_return_t pgaspi_segment_size(gaspi_segment_id_t segment, gaspi_rank_t rank, gaspi_size_t* size) {
  return in_job([&](Job& job) {
    if (!size) return GASPI_ERR_NULLPTR;
    if (rank >= job.size) return GASPI_ERR_INV_RANK;
    if (segment >= config().segment_max) return GASPI_ERR_INV_SEG;
    const InUse in_use;
    plait::gaspi::Peer& peer = job.peers[rank];
    if (peer.control) {
      const View* const view = find(job, peer, segment);
      return view ? gaspi_give(size, view->bytes) : GASPI_ERR_INV_SEG;
    }
    const std::uint64_t known = plait::gaspi::far::segment_size(peer, segment);
    return known != plait::gaspi::far::kNoSegment ? gaspi_give(size, known) : GASPI_ERR_INV_SEG;
  });
}
extern "C" gaspi_return_t pgaspi_segment_avail_local(gaspi_segment_id_t* segment) {
  return in_job([&](Job& job) {
    if (!segment) return GASPI_ERR_NULLPTR;
    const std::lock_guard guard(job.segments_lock);
    for (gaspi_number_t i = 0; i < config().segment_max; ++i) {
      if (job.control->segments[i].version() % 2 == 0) return gaspi_give(segment, i);
    }
    return GASPI_ERR_MANY_SEG;
  });
}

// ---- one-sided

extern "C" gaspi_return_t pgaspi_write(gaspi_segment_id_t local, gaspi_offset_t local_offset, gaspi_rank_t rank, gaspi_segment_id_t remote,
                                       gaspi_offset_t remote_offset, gaspi_size_t size, gaspi_queue_id_t queue, gaspi_timeout_t timeout) {
  return in_job(
      [&](Job& job) { return write(job, {1, &local, &local_offset, &remote, &remote_offset, &size}, {}, Target{rank, queue, timeout}); });
}
extern "C" gaspi_return_t pgaspi_read(gaspi_segment_id_t local, gaspi_offset_t local_offset, gaspi_rank_t rank, gaspi_segment_id_t remote,
                                      gaspi_offset_t remote_offset, gaspi_size_t size, gaspi_queue_id_t queue, gaspi_timeout_t timeout) {
  return in_job(
      [&](Job& job) { return read(job, {1, &local, &local_offset, &remote, &remote_offset, &size}, {}, Target{rank, queue, timeout}); });
}
extern "C" gaspi_return_t pgaspi_write_list(gaspi_number_t num, const gaspi_segment_id_t* local, const gaspi_offset_t* local_offset,
                                            gaspi_rank_t rank, const gaspi_segment_id_t* remote, const gaspi_offset_t* remote_offset,
                                            const gaspi_size_t* size, gaspi_queue_id_t queue, gaspi_timeout_t timeout) {
  return in_job([&](Job& job) {
    const Pieces pieces{num, local, local_offset, remote, remote_offset, size};
    const gaspi_return_t e = check_list(pieces);
    return e == GASPI_SUCCESS ? write(job, pieces, {}, Target{rank, queue, timeout}) : e;
  });
}
extern "C" gaspi_return_t pgaspi_read_list(gaspi_number_t num, const gaspi_segment_id_t* local, const gaspi_offset_t* local_offset,
                                           gaspi_rank_t rank, const gaspi_segment_id_t* remote, const gaspi_offset_t* remote_offset,
                                           const gaspi_size_t* size, gaspi_queue_id_t queue, gaspi_timeout_t timeout) {
  return in_job([&](Job& job) {
    const Pieces pieces{num, local, local_offset, remote, remote_offset, size};
    const gaspi_return_t e = check_list(pieces);
    return e == GASPI_SUCCESS ? read(job, pieces, {}, Target{rank, queue, timeout}) : e;
  });
}
extern "C" gaspi_return_t pgaspi_wait(gaspi_queue_id_t queue, gaspi_timeout_t timeout) {
  return in_job([&](Job& job) {
    plait::gaspi::statistics::count_wait();
    return wait(job, queue, timeout);
  });
}

// ---- notified

extern "C" gaspi_return_t pgaspi_notify(gaspi_segment_id_t segment, gaspi_rank_t rank, gaspi_notification_id_t id,
                                        gaspi_notification_t value, gaspi_queue_id_t queue, gaspi_timeout_t timeout) {
  return in_job([&](Job& job) {
    if (value == 0) return GASPI_ERR_INV_NOTIF_VAL;
    return write(job, {}, Notice{segment, id, value}, Target{rank, queue, timeout});
  });
}
extern "C" gaspi_return_t pgaspi_notify_waitsome(gaspi_segment_id_t segment, gaspi_notification_id_t begin, gaspi_number_t num,
                                                 gaspi_notification_id_t* first, gaspi_timeout_t timeout) {
  return in_job([&](Job& job) {
    if (!first) return GASPI_ERR_NULLPTR;
    return wait_some(job, segment, begin, num, *first, timeout);
  });
}
extern "C" gaspi_return_t pgaspi_notify_reset(gaspi_segment_id_t segment, gaspi_notification_id_t id, gaspi_notification_t* old) {
  return in_job([&](Job& job) {
    gaspi_notification_t nobodys = 0;  // GPI-2 takes a null pointer
    return reset(job, segment, id, old ? *old : nobodys);
  });
}
extern "C" gaspi_return_t pgaspi_write_notify(gaspi_segment_id_t local, gaspi_offset_t local_offset, gaspi_rank_t rank,
                                              gaspi_segment_id_t remote, gaspi_offset_t remote_offset, gaspi_size_t size,
                                              gaspi_notification_id_t id, gaspi_notification_t value, gaspi_queue_id_t queue,
                                              gaspi_timeout_t timeout) {
  return in_job([&](Job& job) {
    if (value == 0) return GASPI_ERR_INV_NOTIF_VAL;
    return write(job, {1, &local, &local_offset, &remote, &remote_offset, &size}, Notice{remote, id, value}, Target{rank, queue, timeout});
  });
}
extern "C" gaspi_return_t pgaspi_write_list_notify(gaspi_number_t num, const gaspi_segment_id_t* local, const gaspi_offset_t* local_offset,
                                                   gaspi_rank_t rank, const gaspi_segment_id_t* remote, const gaspi_offset_t* remote_offset,
                                                   const gaspi_size_t* size, gaspi_segment_id_t segment, gaspi_notification_id_t id,
                                                   gaspi_notification_t value, gaspi_queue_id_t queue, gaspi_timeout_t timeout) {
  return in_job([&](Job& job) {
    const Pieces pieces{num, local, local_offset, remote, remote_offset, size};
    if (const gaspi_return_t e = check_list(pieces); e != GASPI_SUCCESS) return e;
    if (value == 0) return GASPI_ERR_INV_NOTIF_VAL;
    return write(job, pieces, Notice{segment, id, value}, Target{rank, queue, timeout});
  });
}
extern "C" gaspi_return_t pgaspi_read_notify(gaspi_segment_id_t local, gaspi_offset_t local_offset, gaspi_rank_t rank,
                                             gaspi_segment_id_t remote, gaspi_offset_t remote_offset, gaspi_size_t size,
                                             gaspi_notification_id_t id, gaspi_queue_id_t queue, gaspi_timeout_t timeout) {
  return in_job([&](Job& job) {
    return read(job, {1, &local, &local_offset, &remote, &remote_offset, &size}, Notice{local, id, 1}, Target{rank, queue, timeout});
  });
}
extern "C" gaspi_return_t pgaspi_read_list_notify(gaspi_number_t num, const gaspi_segment_id_t* local, const gaspi_offset_t* local_offset,
                                                  gaspi_rank_t rank, const gaspi_segment_id_t* remote, const gaspi_offset_t* remote_offset,
                                                  const gaspi_size_t* size, gaspi_segment_id_t segment, gaspi_notification_id_t id,
                                                  gaspi_queue_id_t queue, gaspi_timeout_t timeout) {
  return in_job([&](Job& job) {
    const Pieces pieces{num, local, local_offset, remote, remote_offset, size};
    const gaspi_return_t e = check_list(pieces);
    return e == GASPI_SUCCESS ? read(job, pieces, Notice{segment, id, 1}, Target{rank, queue, timeout}) : e;
  });
}

// ---- queues

extern "C" gaspi_return_t pgaspi_queue_size(gaspi_queue_id_t queue, gaspi_number_t* size) {
  return in_job([&](Job& job) {
    if (!size) return GASPI_ERR_NULLPTR;
    const Queue* const q = find_queue(job, queue);
    return q ? gaspi_give(size, q->size()) : GASPI_ERR_INV_QUEUE;
  });
}
extern "C" gaspi_return_t pgaspi_queue_num(gaspi_number_t* num) {
  return in_job([&](Job& job) {
    gaspi_number_t n = 0;
    for (const Queue& q : job.queues) n += q.exists.load(std::memory_order_relaxed) ? 1 : 0;
    return gaspi_give(num, n);
  });
}
extern "C" gaspi_return_t pgaspi_queue_size_max(gaspi_number_t* max) {
  return in_job([&](Job&) { return gaspi_give(max, config().queue_size_max); });
}
extern "C" gaspi_return_t pgaspi_queue_max(gaspi_number_t* max) {
  return in_job([&](Job&) { return gaspi_give(max, kQueues); });
}
extern "C" gaspi_return_t pgaspi_queue_create(gaspi_queue_id_t* queue, gaspi_timeout_t /*timeout_ms*/) {
  return in_job([&](Job& job) {
    if (!queue) return GASPI_ERR_NULLPTR;
    const std::lock_guard guard(job.queues_lock);
    for (std::uint32_t i = 0; i < kQueues; ++i) {
      if (job.queues[i].exists.load(std::memory_order_relaxed)) continue;
      job.queues[i].exists.store(true, std::memory_order_relaxed);
      return gaspi_give(queue, i);
    }
    return GASPI_ERR_INV_QUEUE;
  });
}
extern "C" gaspi_return_t pgaspi_queue_delete(gaspi_queue_id_t queue) {
  return in_job([&](Job& job) {
    const std::lock_guard guard(job.queues_lock);
    Queue* const q = find_queue(job, queue);
    if (!q || q->size() > 0) return GASPI_ERR_INV_QUEUE;
    q->exists.store(false, std::memory_order_relaxed);
    return GASPI_SUCCESS;
  });
}
extern "C" gaspi_return_t pgaspi_queue_purge(gaspi_queue_id_t queue, gaspi_timeout_t timeout) {
  return in_job([&](Job& job) {
    const gaspi_return_t result = wait(job, queue, timeout);
    return result == GASPI_ERROR ? GASPI_SUCCESS : result;
  });
}

// ---- passive

extern "C" gaspi_return_t pgaspi_passive_send(gaspi_segment_id_t segment, gaspi_offset_t offset, gaspi_rank_t rank, gaspi_size_t size,
                                              gaspi_timeout_t timeout) {
  return in_job([&](Job& job) {
    if (rank >= job.size) return GASPI_ERR_INV_RANK;
    return with_piece(job, segment, offset, size, [&](const auto& piece) { return job.passive->send(piece, rank, timeout); });
  });
}
extern "C" gaspi_return_t pgaspi_passive_receive(gaspi_segment_id_t segment, gaspi_offset_t offset, gaspi_rank_t* from, gaspi_size_t size,
                                                 gaspi_timeout_t timeout) {
  return in_job([&](Job& job) {
    if (!from) return GASPI_ERR_NULLPTR;
    return with_piece(job, segment, offset, size, [&](const auto& piece) { return job.passive->receive(piece, *from, timeout); });
  });
}
extern "C" gaspi_return_t pgaspi_passive_transfer_size_min(gaspi_size_t* min) {
  return in_job([&](Job&) { return gaspi_give(min, 1); });
}
extern "C" gaspi_return_t pgaspi_passive_transfer_size_max(gaspi_size_t* max) {
  return in_job([&](Job&) { return gaspi_give(max, config().passive_transfer_size_max); });
}

// ---- atomics

extern "C" gaspi_return_t pgaspi_atomic_fetch_add(gaspi_segment_id_t segment, gaspi_offset_t offset, gaspi_rank_t rank,
                                                  gaspi_atomic_value_t add, gaspi_atomic_value_t* old, gaspi_timeout_t timeout) {
  return in_job([&](Job& job) {
    if (!old) return GASPI_ERR_NULLPTR;
    return atomic(job, {false, segment, offset, add, 0}, rank, *old, timeout);
  });
}
extern "C" gaspi_return_t pgaspi_atomic_compare_swap(gaspi_segment_id_t segment, gaspi_offset_t offset, gaspi_rank_t rank,
                                                     gaspi_atomic_value_t comparator, gaspi_atomic_value_t value, gaspi_atomic_value_t* old,
                                                     gaspi_timeout_t timeout) {
  return in_job([&](Job& job) {
    if (!old) return GASPI_ERR_NULLPTR;
    return atomic(job, {true, segment, offset, value, comparator}, rank, *old, timeout);
  });
}
extern "C" gaspi_return_t pgaspi_atomic_max(gaspi_atomic_value_t* max) {
  return in_job([&](Job&) { return gaspi_give(max, ~gaspi_atomic_value_t{0}); });
}

// ---- limits

extern "C" gaspi_return_t pgaspi_transfer_size_min(gaspi_size_t* min) {
  return in_job([&](Job&) { return gaspi_give(min, 0); });
}
extern "C" gaspi_return_t pgaspi_transfer_size_max(gaspi_size_t* max) {
  return in_job([&](Job&) { return gaspi_give(max, config().transfer_size_max); });
}
extern "C" gaspi_return_t pgaspi_notification_num(gaspi_number_t* num) {
  return in_job([&](Job&) { return gaspi_give(num, config().notification_num); });
}
extern "C" gaspi_return_t pgaspi_rw_list_elem_max(gaspi_number_t* max) {
  return in_job([&](Job&) { return gaspi_give(max, config().rw_list_elem_max); });
}

PLAIT_GASPI_NAME(segment_alloc);
PLAIT_GASPI_NAME(segment_bind);
PLAIT_GASPI_NAME(segment_delete);
PLAIT_GASPI_NAME(segment_register);
PLAIT_GASPI_NAME(segment_create);
PLAIT_GASPI_NAME(segment_use);
PLAIT_GASPI_NAME(segment_num);
PLAIT_GASPI_NAME(segment_list);
PLAIT_GASPI_NAME(segment_ptr);
PLAIT_GASPI_NAME(segment_max);
PLAIT_GASPI_NAME(segment_size);
PLAIT_GASPI_NAME(segment_avail_local);
PLAIT_GASPI_NAME(write);
PLAIT_GASPI_NAME(read);
PLAIT_GASPI_NAME(write_list);
PLAIT_GASPI_NAME(read_list);
PLAIT_GASPI_NAME(wait);
PLAIT_GASPI_NAME(notify);
PLAIT_GASPI_NAME(notify_waitsome);
PLAIT_GASPI_NAME(notify_reset);
PLAIT_GASPI_NAME(write_notify);
PLAIT_GASPI_NAME(write_list_notify);
PLAIT_GASPI_NAME(read_notify);
PLAIT_GASPI_NAME(read_list_notify);
PLAIT_GASPI_NAME(queue_size);
PLAIT_GASPI_NAME(queue_num);
PLAIT_GASPI_NAME(queue_size_max);
PLAIT_GASPI_NAME(queue_max);
PLAIT_GASPI_NAME(queue_create);
PLAIT_GASPI_NAME(queue_delete);
PLAIT_GASPI_NAME(queue_purge);
PLAIT_GASPI_NAME(passive_send);
PLAIT_GASPI_NAME(passive_receive);
PLAIT_GASPI_NAME(passive_transfer_size_min);
PLAIT_GASPI_NAME(passive_transfer_size_max);
PLAIT_GASPI_NAME(atomic_fetch_add);
PLAIT_GASPI_NAME(atomic_compare_swap);
PLAIT_GASPI_NAME(atomic_max);
PLAIT_GASPI_NAME(transfer_size_min);
PLAIT_GASPI_NAME(transfer_size_max);
PLAIT_GASPI_NAME(notification_num);
PLAIT_GASPI_NAME(rw_list_elem_max);

#pragma GCC visibility pop
