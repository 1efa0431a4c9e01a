#include "base/shared_heap.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <new>
#include <system_error>
#include <utility>

namespace plait {
namespace {

std::size_t page() noexcept {
  static const auto bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

/// Arenas begin at and consist of such pages, which the system gives where it has been set up so.
constexpr std::size_t kHugePage = std::size_t{2} << 20;
/// Shorter free runs keep their memory.
constexpr std::size_t kLeastEmptied = std::size_t{256} << 10;

constexpr std::size_t round_up(std::size_t bytes, std::size_t to) noexcept { return (bytes + to - 1) / to * to; }

/// Where memory is promised only as far as there is some, that of files is not: a program would learn by a signal that it is short.
bool overcommits() noexcept {
  const int file = open("/proc/sys/vm/overcommit_memory", O_RDONLY | O_CLOEXEC);
  if (file < 0) return true;
  char mode = '0';
  const bool known = read(file, &mode, 1) == 1;
  close(file);
  return !known || mode != '2';
}

}  // namespace

/// The first page holds the file's nonce; the others are the pool's.
struct SharedHeap::Arena {
  Arena(const RegionName& file, std::byte* at, std::size_t size)
      : name(file),
        begin(at),
        bytes(size),
        pool(reinterpret_cast<std::uintptr_t>(at) / page() + 1, static_cast<std::uint32_t>(size / page() - 1)) {}
  ~Arena() {
    madvise(begin, bytes, MADV_REMOVE);  // others may have it mapped still
    munmap(begin, bytes);
    close(name.file);
  }
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  [[nodiscard]] std::byte* at(std::uint32_t number) const noexcept { return begin + (std::size_t{number} + 1) * page(); }
  [[nodiscard]] bool holds(const void* p) const noexcept { return p >= begin + page() && p < begin + bytes; }
  /// kNone where no page begins.
  [[nodiscard]] std::uint32_t number_of(const void* p) const noexcept {
    const auto distance = static_cast<std::size_t>(static_cast<const std::byte*>(p) - begin);
    return distance % page() == 0 ? static_cast<std::uint32_t>(distance / page() - 1) : PagePool::kNone;
  }

  RegionName name;
  std::byte* begin;
  std::size_t bytes;
  PagePool pool;
};

namespace {

/// Maps a file at a multiple of a huge page. As much private memory is asked for first: that is refused where there is not
/// so much, by the machine's memory or by the process's limits, while a file's never is.
std::byte* map_region(int file, std::size_t bytes) noexcept {
  const std::size_t room = bytes + kHugePage;
  void* const any = mmap(nullptr, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (any == MAP_FAILED) return nullptr;
  auto* const first = static_cast<std::byte*>(any);
  const std::size_t before = -reinterpret_cast<std::uintptr_t>(first) % kHugePage;
  std::byte* const begin = first + before;
  if (before > 0) munmap(first, before);
  if (before < kHugePage) munmap(begin + bytes, kHugePage - before);
  if (mmap(begin, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0) == MAP_FAILED) {
    munmap(begin, bytes);
    return nullptr;
  }
  madvise(begin, bytes, MADV_HUGEPAGE);  // where the system grants it
  return begin;
}

}  // namespace

SharedHeap& SharedHeap::get() {
  static SharedHeap& heap = *[] {
    // Never destroyed: programs may free their buffers at exit.
    static auto* const made = new SharedHeap;
    // A child must find the lock free, and the lists as nobody is changing them.
    pthread_atfork([] { made->lock_.lock(); }, [] { made->lock_.unlock(); },
                   [] {
                     made->become_child();
                     made->lock_.unlock();
                   });
    return made;
  }();
  return heap;
}

SharedHeap::SharedHeap() noexcept : empty_at_(kKept), available_(overcommits()) {}

SharedHeap::~SharedHeap() = default;

/// What parent and child would hand out from the same files they would hand out twice, and what the child writes is not meant for
/// the parent.
void SharedHeap::become_child() noexcept {
  available_ = false;
  for (const auto& arena : arenas_) {
    // Where it fails the mapping is as it was.
    [[maybe_unused]] const void* const again =
        mmap(arena->begin, arena->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE, arena->name.file, 0);
  }
}

// ---- arenas

SharedHeap::Arena* SharedHeap::arena_of(const void* at) const noexcept {
  for (const auto& arena : arenas_) {
    if (arena->holds(at)) return arena.get();
  }
  return nullptr;
}

/// relaxed, here and in holds: the addresses say all.
void SharedHeap::note_ranges() noexcept {
  for (std::size_t i = 0; i < arenas_.size(); ++i) {
    ranges_[i].begin.store(reinterpret_cast<std::uintptr_t>(arenas_[i]->begin), std::memory_order_relaxed);
    ranges_[i].end.store(reinterpret_cast<std::uintptr_t>(arenas_[i]->begin) + arenas_[i]->bytes, std::memory_order_relaxed);
  }
  range_count_.store(arenas_.size(), std::memory_order_relaxed);
}

bool SharedHeap::holds(const void* at) const noexcept {
  const auto address = reinterpret_cast<std::uintptr_t>(at);
  const std::size_t n = range_count_.load(std::memory_order_relaxed);
  for (std::size_t i = 0; i < n; ++i) {
    if (address >= ranges_[i].begin.load(std::memory_order_relaxed) && address < ranges_[i].end.load(std::memory_order_relaxed))
      return true;
  }
  return false;
}

/// Null where there is no memory.
std::unique_ptr<SharedHeap::Arena> SharedHeap::make_arena(std::size_t bytes) {
  const RegionName name = shared_file::make();
  std::byte* const at = shared_file::set_size(name.file, bytes) ? map_region(name.file, bytes) : nullptr;
  if (!at) {
    close(name.file);
    return nullptr;
  }
  try {
    return std::make_unique<Arena>(name, at, bytes);
  } catch (const std::bad_alloc&) {
    munmap(at, bytes);
    close(name.file);
    throw;
  }
}

/// With room for such a block; larger than that, so that there are few, if that can be. Null where there is no memory.
SharedHeap::Arena* SharedHeap::add_arena(std::size_t bytes, std::size_t alignment) {
  const std::size_t most = std::min<std::uint64_t>(shared_file::largest(), std::numeric_limits<std::uint32_t>::max() * page());
  if (arenas_.size() == kMostArenas || bytes > most || alignment > most) return nullptr;
  const std::size_t needed = round_up(bytes + page() + (alignment > page() ? alignment : 0), kHugePage);
  if (needed > most) return nullptr;
  const std::size_t wanted = std::min(std::max({needed, kLeastArena, round_up(bytes_ / 4, kHugePage)}), most / kHugePage * kHugePage);
  arenas_.reserve(arenas_.size() + 1);
  std::unique_ptr<Arena> made = make_arena(wanted);
  if (!made && needed < wanted) made = make_arena(needed);
  if (!made) return nullptr;
  bytes_ += made->bytes;
  arenas_.push_back(std::move(made));
  note_ranges();
  return arenas_.back().get();
}

/// The arena, if it is to be destroyed, outside of the lock: when nothing in it is used, and the unused ones are more than may stay.
std::unique_ptr<SharedHeap::Arena> SharedHeap::drop_if_unused(Arena& arena) noexcept {
  if (!arena.pool.is_unused()) return nullptr;
  std::size_t unused = 0;
  for (const auto& each : arenas_) unused += each->pool.is_unused() ? each->bytes : 0;
  if (unused <= kKept) return nullptr;
  const auto at = std::ranges::find(arenas_, &arena, &std::unique_ptr<Arena>::get);
  std::unique_ptr<Arena> gone = std::move(*at);
  arenas_.erase(at);
  note_ranges();
  bytes_ -= gone->bytes;
  return gone;
}

// ---- blocks

void* SharedHeap::take(std::size_t bytes, std::size_t alignment) noexcept try {
  if (bytes > PTRDIFF_MAX - page()) return nullptr;
  const std::size_t pages = std::max<std::size_t>((bytes + page() - 1) / page(), 1);
  const std::size_t aligned = std::max(alignment / page(), std::size_t{1});
  if (pages >= PagePool::kNone) return nullptr;
  const auto from = [&](Arena& arena) -> void* {
    const std::uint32_t begin = arena.pool.take(static_cast<std::uint32_t>(pages), aligned);
    return begin == PagePool::kNone ? nullptr : arena.at(begin);
  };
  const std::lock_guard guard(lock_);
  if (!available_) return nullptr;
  for (const auto& arena : arenas_) {
    if (void* const block = from(*arena)) return block;
  }
  Arena* const added = add_arena(pages * page(), alignment);
  return added ? from(*added) : nullptr;
} catch (const std::bad_alloc&) {
  return nullptr;
} catch (const std::system_error& e) {
  // Of a system without such files there is no more to be asked.
  if (const int why = e.code().value(); why == ENOSYS || why == EPERM || why == EACCES) {
    const std::lock_guard guard(lock_);
    available_ = false;
  }
  return nullptr;
}

SharedHeap::Given SharedHeap::give(void* block) noexcept {
  std::unique_ptr<Arena> gone;
  std::unique_lock guard(lock_);
  Arena* const arena = arena_of(block);
  if (!arena) return Given::not_mine;
  const std::uint32_t number = arena->number_of(block);
  if (number == PagePool::kNone || !arena->pool.give(number)) return Given::not_a_block;
  gone = drop_if_unused(*arena);
  const bool full = touched() > empty_at_ && !emptying_;
  if (full) emptying_ = available_;
  guard.unlock();
  if (full) empty_some();
  return Given::taken_back;
}

SharedHeap::Place SharedHeap::find(const void* at, std::size_t bytes) noexcept {
  if (!holds(at)) return {};
  const std::lock_guard guard(lock_);
  const Arena* const arena = arena_of(at);
  if (!arena || !available_) return {};
  const auto offset = static_cast<std::size_t>(static_cast<const std::byte*>(at) - arena->begin);
  if (bytes > arena->bytes - offset) return {};
  return {arena->name, offset, arena->bytes};
}

// ---- memory for the system

/// Bytes of free blocks that may hold memory.
std::size_t SharedHeap::touched() const noexcept {
  std::size_t pages = 0;
  for (const auto& arena : arenas_) pages += arena->pool.touched();
  return pages * page();
}

/// Long free runs give theirs back, until half of what may be kept is left. The lock is free meanwhile: a run that is held keeps
/// its arena, and one thread at a time does this.
void SharedHeap::empty_some() noexcept {
  std::unique_ptr<Arena> gone;  // unmapped without the lock: that may take long
  std::unique_lock guard(lock_);
  while (emptying_ && touched() > kKept / 2) {
    Arena* arena = nullptr;
    PagePool::Run run;
    for (const auto& each : arenas_) {
      run = each->pool.hold_touched(static_cast<std::uint32_t>(kLeastEmptied / page()));
      arena = each.get();
      if (run.pages > 0) break;
    }
    if (!arena || run.pages == 0) break;
    guard.unlock();
    gone.reset();
    const bool emptied = madvise(arena->at(run.begin), run.pages * page(), MADV_REMOVE) == 0;
    guard.lock();
    arena->pool.put_back(run, emptied);
    gone = drop_if_unused(*arena);
    if (!emptied) break;
  }
  emptying_ = false;
  empty_at_ = std::max(kKept, touched() + kKept / 2);
}

// ---- windows

PeerWindow::PeerWindow(const SharedHeap::Place& place, std::size_t bytes) {
  const int file = shared_file::open(place.heap);
  const std::size_t before = place.offset % page();
  bytes_ = before + bytes;
  pages_ = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, file, static_cast<off_t>(place.offset - before));
  const int why = errno;
  close(file);
  if (pages_ == MAP_FAILED) throw std::system_error(why, std::generic_category(), "mapping a peer's memory");
  data_ = static_cast<std::byte*>(pages_) + before;
}

PeerWindow::~PeerWindow() { munmap(pages_, bytes_); }

}  // namespace plait
