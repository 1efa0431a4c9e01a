#include "gaspi/segments.hpp"

#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <exception>
#include <system_error>
#include <utility>

#include "gaspi/group.hpp"
#include "lane/peer_heaps.hpp"
#include "lane/peer_memory.hpp"

namespace plait::gaspi {
namespace {

/// How long the owner of memory waits for writers that were inside when a segment was deleted: one that was killed never leaves.
constexpr std::uint64_t kPatienceWithWriters = 1'000'000'000;  // ns

/// Maps a file. As much private memory is asked for first, where `ask`: that is refused where there is not so much, while a file's is not.
void* map_file(int file, std::size_t bytes, bool ask) noexcept {
  constexpr int kRights = PROT_READ | PROT_WRITE;
  void* place = nullptr;
  if (ask) {
    place = mmap(nullptr, bytes, kRights, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (place == MAP_FAILED) return nullptr;
  }
  void* const at = mmap(place, bytes, kRights, MAP_SHARED | (ask ? MAP_FIXED : 0), file, 0);
  if (at != MAP_FAILED) return at;
  if (place) munmap(place, bytes);
  return nullptr;
}

std::atomic<View*>& entry_of(Peer& peer, std::uint32_t segment) {
  if (Peer::Views* const views = peer.views.load(std::memory_order_acquire)) return (*views)[segment];
  auto made = std::make_unique<Peer::Views>();
  Peer::Views* none = nullptr;
  // release: as they were made.
  if (peer.views.compare_exchange_strong(none, made.get(), std::memory_order_acq_rel)) return (*made.release())[segment];
  return (*none)[segment];
}

void retire(View* view) noexcept {
  if (!view) return;
  try {
    when_unused([view] {
      if (view->pins.give_up()) delete view;
    });
  } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): it stays
  }
}

std::size_t file_bytes(std::uint64_t data) noexcept {
  constexpr std::size_t kPage = 4096;
  return sizeof(Board) + (data + kPage - 1) / kPage * kPage;
}

/// A file with a board and room for data, mapped.
std::unique_ptr<View> make_file(std::uint64_t data, RegionName& name) {
  auto view = std::make_unique<View>();
  name = shared_file::make();
  view->file = name.file;
  view->page_bytes = file_bytes(data);
  if (!shared_file::set_size(name.file, view->page_bytes)) throw std::bad_alloc();
  view->pages = map_file(name.file, view->page_bytes, true);
  if (!view->pages) throw std::bad_alloc();
  view->board = static_cast<Board*>(view->pages);
  view->data = static_cast<std::byte*>(view->pages) + sizeof(Board);
  return view;
}

/// How this process reaches memory of the program's in another.
void find_way(View& view, const SegmentPlace& place, std::int32_t pid) {
  view.counted = true;
  view.address = place.address;
  if (place.kind == SegmentPlace::Kind::heap) {
    const lane::PeerHeap heap = lane::PeerHeaps::get().find(place.heap);
    if (heap.window) {
      view.window = heap.window;
      view.data = heap.window->data() + place.heap.offset;
      return;
    }
  }
  view.way = lane::access_to(pid, place.address) == lane::Access::allowed ? View::Way::system : View::Way::messages;
}

std::unique_ptr<View> attach(Peer& peer, SegmentEntry& entry) {
  SegmentPlace place;
  auto view = std::make_unique<View>();
  if (!entry.read(place, view->version)) return nullptr;
  view->entry = &entry;
  view->bytes = place.bytes;
  const bool allocated = place.kind == SegmentPlace::Kind::allocated;
  view->page_bytes = file_bytes(allocated ? place.bytes : 0);
  const int file = shared_file::open(place.file);
  view->pages = map_file(file, view->page_bytes, false);
  close(file);
  if (!view->pages) throw std::bad_alloc();
  view->board = static_cast<Board*>(view->pages);
  view->data = static_cast<std::byte*>(view->pages) + sizeof(Board);
  if (!allocated) find_way(*view, place, peer.pid);
  return view;
}

}  // namespace

View::~View() {
  if (pages) munmap(pages, page_bytes);
  if (file >= 0) close(file);
}

View* find_new(Job& job, Peer& peer, std::uint32_t segment) noexcept try {
  if (&peer == &job.self()) return own(job, segment);
  // acquire: the segment was published before.
  if (peer.control->registered(static_cast<std::size_t>(job.local), segment).load(std::memory_order_acquire) == 0) return nullptr;
  std::atomic<View*>& known = entry_of(peer, segment);
  View* before = known.load(std::memory_order_acquire);
  std::unique_ptr<View> made = attach(peer, peer.control->segments[segment]);
  if (!made) return nullptr;
  if (made->way == View::Way::messages) peer.by_messages.store(true, std::memory_order_relaxed);
  if (!known.compare_exchange_strong(before, made.get(), std::memory_order_acq_rel)) return before && before->is_there() ? before : nullptr;
  retire(before);
  return made.release();
} catch (const std::exception&) {
  return nullptr;
}

namespace {

gaspi_return_t add(Job& job, std::uint32_t segment, std::unique_ptr<View> view, const SegmentPlace& place) {
  SegmentEntry& entry = job.control->segments[segment];
  std::atomic<View*>& known = entry_of(job.self(), segment);
  for (std::size_t i = 0; i < job.locals; ++i) {
    const bool mine = i == static_cast<std::size_t>(job.local);
    job.control->registered(i, segment).store(mine ? 1 : 0, std::memory_order_relaxed);
  }
  view->entry = &entry;
  view->bytes = place.bytes;
  entry.forget_users();
  entry.publish(place);
  view->version = entry.version();
  retire(known.exchange(view.release(), std::memory_order_acq_rel));
  ++job.segments;
  return GASPI_SUCCESS;
}

/// Is there room for one of this number?
gaspi_return_t check_new(Job& job, std::uint32_t segment) noexcept {
  if (job.control->segments[segment].version() % 2 != 0) return GASPI_ERR_INV_SEG;
  return job.segments < config().segment_max ? GASPI_SUCCESS : GASPI_ERR_MANY_SEG;
}

}  // namespace

gaspi_return_t allocate(Job& job, std::uint32_t segment, std::uint64_t bytes) {
  const std::lock_guard guard(job.segments_lock);
  if (const gaspi_return_t error = check_new(job, segment); error != GASPI_SUCCESS) return error;
  SegmentPlace place;
  std::unique_ptr<View> view = make_file(bytes, place.file);
  place.bytes = bytes;
  return add(job, segment, std::move(view), place);
}

gaspi_return_t bind(Job& job, std::uint32_t segment, void* memory, std::uint64_t bytes) {
  const std::lock_guard guard(job.segments_lock);
  if (const gaspi_return_t error = check_new(job, segment); error != GASPI_SUCCESS) return error;
  SegmentPlace place;
  std::unique_ptr<View> view = make_file(0, place.file);
  view->data = static_cast<std::byte*>(memory);
  view->counted = true;
  place.bytes = bytes;
  place.address = reinterpret_cast<std::uint64_t>(memory);
  place.heap = SharedHeap::get().find(memory, bytes);
  place.kind = place.heap.heap.file >= 0 ? SegmentPlace::Kind::heap : SegmentPlace::Kind::elsewhere;
  // Others' atomics on it, and all that the system does not let them do, are done here.
  if (place.kind == SegmentPlace::Kind::elsewhere && job.locals > 1) far::begin_use(job);
  return add(job, segment, std::move(view), place);
}

namespace {

/// Those that are inside are waited for until then.
gaspi_return_t remove_until(Job& job, std::uint32_t segment, std::uint64_t until) {
  const std::lock_guard guard(job.segments_lock);
  SegmentEntry& entry = job.control->segments[segment];
  if (entry.version() % 2 == 0) return GASPI_ERR_INV_SEG;
  for (std::size_t i = 0; i < job.locals; ++i) job.control->registered(i, segment).store(0, std::memory_order_relaxed);
  entry.withdraw();
  far::forget_segment(job, segment);
  View* const view = (*job.self().views.load(std::memory_order_relaxed))[segment].exchange(nullptr, std::memory_order_acq_rel);
  --job.segments;
  // Those that were inside when it was withdrawn: writers of the node into memory of the program's, and transfers between nodes.
  while (entry.has_users() && now() < until) {
    if (!far::drive()) sched_yield();
  }
  // Others may have it mapped, and write into it still: their mapping stays, and the memory goes.
  if (!view->counted) madvise(view->pages, view->page_bytes, MADV_REMOVE);
  if (!entry.has_users()) retire(view);  // else it stays mapped: a transfer may come to it yet
  return GASPI_SUCCESS;
}

}  // namespace

gaspi_return_t remove(Job& job, std::uint32_t segment) { return remove_until(job, segment, now() + kPatienceWithWriters); }

void register_near(Job& job, std::uint32_t segment, Peer& peer) noexcept {
  // release: the segment.
  job.control->registered(static_cast<std::size_t>(peer.local), segment).store(1, std::memory_order_release);
}

gaspi_return_t register_with(Job& job, std::uint32_t segment, Peer& peer, const Deadline& deadline) noexcept {
  if (!peer.control) return far::register_segment(job, segment, peer, deadline);
  register_near(job, segment, peer);
  return GASPI_SUCCESS;
}

namespace {

/// How far gaspi_segment_create has got when it times out.
enum Stage : std::uint8_t { kNothing, kMade, kRegistered };

/// With all of them at once, then waits for the answers.
gaspi_return_t register_with_all(Job& job, std::uint32_t segment, const std::vector<std::uint16_t>& ranks, const Deadline& deadline) {
  for (const std::uint16_t r : ranks) static_cast<void>(register_with(job, segment, job.peers[r], Deadline(GASPI_TEST)));
  for (const std::uint16_t r : ranks) {
    if (const gaspi_return_t e = register_with(job, segment, job.peers[r], deadline); e != GASPI_SUCCESS) return e;
  }
  return GASPI_SUCCESS;
}

}  // namespace

gaspi_return_t create(Job& job, std::uint32_t segment, void* memory, std::uint64_t bytes, std::uint32_t group, gaspi_timeout_t timeout) {
  std::vector<std::uint16_t> ranks;
  if (const gaspi_return_t e = job.groups->ranks_of_committed(group, ranks); e != GASPI_SUCCESS) return e;
  const std::uint64_t begun = now();
  std::atomic<std::uint8_t>& stage = job.creating[segment];  // relaxed: the call is made by one thread
  if (stage.load(std::memory_order_relaxed) == kNothing) {
    if (const gaspi_return_t e = memory ? bind(job, segment, memory, bytes) : allocate(job, segment, bytes); e != GASPI_SUCCESS) return e;
    stage.store(kMade, std::memory_order_relaxed);
  }
  gaspi_return_t result = GASPI_SUCCESS;
  if (stage.load(std::memory_order_relaxed) == kMade) {
    result = register_with_all(job, segment, ranks, Deadline(timeout));
    if (result == GASPI_SUCCESS) stage.store(kRegistered, std::memory_order_relaxed);
  }
  if (result == GASPI_SUCCESS) {
    const std::uint64_t took = (now() - begun) / 1'000'000;
    const bool limited = timeout != GASPI_BLOCK && timeout != GASPI_TEST;
    result = job.groups->barrier(group, !limited ? timeout : timeout > took ? timeout - took : GASPI_TEST);
  }
  if (result == GASPI_TIMEOUT) return result;
  stage.store(kNothing, std::memory_order_relaxed);
  if (result != GASPI_SUCCESS) static_cast<void>(remove(job, segment));
  return result;
}

void remove_all(Job& job) noexcept {
  const std::uint64_t until = now() + kPatienceWithWriters;
  for (std::uint32_t i = 0; i < kSegments; ++i) {
    if (job.control->segments[i].version() % 2 != 0) static_cast<void>(remove_until(job, i, until));
  }
}

void forget_views(Peer& peer) noexcept {
  Peer::Views* const views = peer.views.exchange(nullptr, std::memory_order_acq_rel);
  if (!views) return;
  for (std::atomic<View*>& v : *views) retire(v.load(std::memory_order_relaxed));
  delete views;
}

}  // namespace plait::gaspi
