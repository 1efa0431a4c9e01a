#include "cluster/heap.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

#include "base/fatal.hpp"
#include "base/spinlock.hpp"
#include "cluster/carrier.hpp"
#include "cluster/job.hpp"

namespace plait::cluster {

Allocation allocation = Allocation::libc;

namespace {

/// Blocks up to kMostSmall lie in spans of one unit with others of their size; larger ones have units of their own.
constexpr std::size_t kUnit = 65536;
constexpr std::size_t kMostSmall = 16384;
constexpr std::size_t kClasses = 36;
/// The heap grows by this much at least.
constexpr std::size_t kGrowth = std::size_t{4} << 20;

/// 16, 32, ... 128, then four sizes to each doubling.
constexpr std::size_t class_of(std::size_t bytes) noexcept {
  if (bytes <= 128) return bytes == 0 ? 0 : (bytes - 1) / 16;
  const auto top = static_cast<std::size_t>(std::bit_width(bytes - 1)) - 1;  // 2^top <= bytes - 1
  return 8 + (top - 7) * 4 + ((bytes - 1) >> (top - 2)) - 4;
}
constexpr std::size_t bytes_of(std::size_t size_class) noexcept {
  if (size_class < 8) return (size_class + 1) * 16;
  const std::size_t doubling = (size_class - 8) / 4;
  return (std::size_t{128} << doubling) / 4 * (5 + (size_class - 8) % 4);
}
static_assert(class_of(kMostSmall) < kClasses && bytes_of(class_of(129)) == 160 && bytes_of(class_of(256)) == 256);

struct Unit {
  std::uint32_t units = 0;  ///< of a large block that begins here
  std::uint8_t size_class = 0;
  bool small = false;
  bool fresh = false;
  std::size_t bytes = 0;
};

struct Heap {
  Spinlock lock;
  std::byte* begin = nullptr;
  std::byte* end = nullptr;     ///< of what may be used by now
  std::byte* unused = nullptr;  ///< nothing from here on was ever handed out
  std::byte* limit = nullptr;
  Unit* units = nullptr;
  std::array<std::vector<void*>, kClasses> blocks;
  std::map<std::size_t, std::size_t> holes;  ///< free units: first, how many
  std::vector<void*> late;                   ///< to be freed when the lock can be had; under the engine's
};
/// Never destroyed: others free until the end.
Heap& heap = *new Heap;

Unit& unit_of(const void* block) noexcept { return heap.units[(static_cast<const std::byte*>(block) - heap.begin) / kUnit]; }

std::byte* take_hole(std::size_t units) {
  for (auto hole = heap.holes.begin(); hole != heap.holes.end(); ++hole) {
    if (hole->second < units) continue;
    const auto [first, count] = *hole;
    heap.holes.erase(hole);
    if (count > units) heap.holes[first + units] = count - units;
    return heap.begin + first * kUnit;
  }
  return nullptr;
}

void add_hole(std::size_t first, std::size_t count) {
  auto next = heap.holes.lower_bound(first);
  if (next != heap.holes.end() && next->first == first + count) {
    count += next->second;
    next = heap.holes.erase(next);
  }
  if (next != heap.holes.begin()) {
    const auto before = std::prev(next);
    if (before->first + before->second == first) {
      before->second += count;
      return;
    }
  }
  heap.holes[first] = count;
}

std::byte* take_units(std::size_t units, std::size_t alignment, bool& fresh) {
  fresh = false;
  if (alignment <= kUnit) {
    if (std::byte* const hole = take_hole(units)) return hole;
  }
  const std::size_t first =
      // NOLINTNEXTLINE(clang-analyzer-core.NullPointerArithm)
      (static_cast<std::size_t>(heap.unused - heap.begin) + alignment - 1) / alignment * alignment;
  std::byte* const start = heap.begin + first;
  const std::size_t bytes = units * kUnit;
  if (start > heap.limit || bytes > static_cast<std::size_t>(heap.limit - start)) return nullptr;
  if (start > heap.unused)
    add_hole(static_cast<std::size_t>(heap.unused - heap.begin) / kUnit, static_cast<std::size_t>(start - heap.unused) / kUnit);
  heap.unused = start + bytes;
  if (heap.unused > heap.end) {
    const std::size_t more =
        std::max(static_cast<std::size_t>(heap.unused - heap.end), std::min(kGrowth, static_cast<std::size_t>(heap.limit - heap.end)));
    protect(page_of(heap.end), more / kPage, Access::write);
    heap.end += more;
  }
  fresh = true;
  return start;
}

void* allocate_small(std::size_t size_class) {
  auto& blocks = heap.blocks[size_class];
  if (blocks.empty()) {
    bool fresh = false;
    std::byte* const span = take_units(1, kUnit, fresh);
    if (!span) return nullptr;
    unit_of(span) = Unit{0, static_cast<std::uint8_t>(size_class), true, false, 0};
    const std::size_t bytes = bytes_of(size_class);
    for (std::size_t at = kUnit / bytes; at-- > 0;) blocks.push_back(span + at * bytes);
  }
  void* const block = blocks.back();
  blocks.pop_back();
  return block;
}

/// Under the lock.
void put_back(void* block) {
  Unit& unit = unit_of(block);
  if (unit.small) {
    heap.blocks[unit.size_class].push_back(block);
    return;
  }
  if (unit.units == 0) fatal("free() of %p, which is not the begin of a block that was allocated", block);
  add_hole(static_cast<std::size_t>(static_cast<std::byte*>(block) - heap.begin) / kUnit, unit.units);
  unit = Unit{};
}

void free_own(void* block) {
  const std::lock_guard guard(heap.lock);
  put_back(block);
}

/// Another process has freed it. This may be a thread that has the lock: it polls in a handler of a signal that needs a page.
void free_for_another(void* block) {
  heap.late.push_back(block);
  const std::unique_lock guard(heap.lock, std::try_to_lock);
  if (!guard) return;
  for (void* const one : heap.late) put_back(one);
  heap.late.clear();
}

bool is_own(const void* block) noexcept { return block >= heap.begin && block < heap.limit; }

/// The last of the services is the engine's.
constexpr auto kSizeOf = static_cast<Service>(kServices - 1);

void begin_at(std::byte* begin, std::size_t bytes) {
  heap.begin = heap.end = heap.unused = begin;
  heap.limit = begin + bytes / kUnit * kUnit;
  if (!heap.units) {
    void* const got =
        mmap(nullptr, kRangeBytes / kUnit * sizeof(Unit), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (got == MAP_FAILED) fatal("no address space is left for the heap that all processes share");
    heap.units = static_cast<Unit*>(got);
  }
}

}  // namespace

void start_heap() {
  if (!heap.units) {
    begin_at(area(0), area_bytes());
    allocation = Allocation::shared;
    return;
  }
  if (the_job.processes == 1) {
    allocation = Allocation::libc;
    keep_private(heap.end);
    return;
  }
  if (the_job.process > 0) {
    madvise(heap.units, kRangeBytes / kUnit * sizeof(Unit), MADV_DONTNEED);
    for (auto& blocks : heap.blocks) blocks.clear();
    heap.holes.clear();
    begin_at(area(the_job.process), area_bytes());
  } else {
    heap.limit = heap.begin + area_bytes() / kUnit * kUnit;
  }
  // NOLINTNEXTLINE(performance-no-int-to-ptr,performance-unnecessary-value-param)
  on(Kind::free, [](Received message) { free_for_another(reinterpret_cast<void*>(message.head().token)); });
  serve(kSizeOf, [](int, std::span<const std::byte> question, Answer answer) {
    void* block = nullptr;
    std::memcpy(static_cast<void*>(&block), question.data(), sizeof block);
    const std::size_t bytes = heap_size(block);
    answer.send(std::as_bytes(std::span(&bytes, 1)));
  });
}

void* heap_end_piece(std::size_t bytes) {
  const std::lock_guard guard(heap.lock);
  bytes = (bytes + kUnit - 1) / kUnit * kUnit;
  heap.limit -= bytes;
  protect(page_of(heap.limit), bytes / kPage, Access::write);
  return heap.limit;
}

void* heap_allocate(std::size_t bytes, std::size_t alignment) {
  if (alignment > 16) bytes = std::max(bytes, alignment);
  if (bytes > PTRDIFF_MAX) return nullptr;
  const std::lock_guard guard(heap.lock);
  if (bytes <= kMostSmall && alignment <= kPage) return allocate_small(class_of(alignment > 16 ? std::bit_ceil(bytes) : bytes));
  bool fresh = false;
  const std::size_t units = (bytes + kUnit - 1) / kUnit;
  std::byte* const block = take_units(units, std::max(alignment, kUnit), fresh);
  if (block) unit_of(block) = Unit{static_cast<std::uint32_t>(units), 0, false, fresh, bytes};
  return block;
}

bool heap_is_fresh(const void* block) noexcept { return is_own(block) && unit_of(block).fresh; }

void heap_free(void* block) {
  if (is_own(block)) {
    free_own(block);
    return;
  }
  const Guard guard;
  send(home_of(page_of(block)), Message(Kind::free, 0, reinterpret_cast<std::uintptr_t>(block)));
}

std::size_t heap_size(void* block) {
  if (is_own(block)) {
    const Unit& unit = unit_of(block);
    return unit.small ? bytes_of(unit.size_class) : unit.units * kUnit;
  }
  std::size_t bytes = 0;
  ask(home_of(page_of(block)), kSizeOf, std::as_bytes(std::span(&block, 1)), std::as_writable_bytes(std::span(&bytes, 1)));
  return bytes;
}

void lock_heap() { heap.lock.lock(); }
void unlock_heap() { heap.lock.unlock(); }
HeapParts heap_parts() noexcept { return {heap.end, heap.limit}; }

bool heap_has(PageId page) noexcept {
  if (page >= kRangePages) return true;
  const std::byte* const at = program_view(page);
  return at < heap.end || at >= heap.limit;
}

void* allocate(std::size_t bytes, std::size_t alignment) { return heap_allocate(bytes, alignment); }
void deallocate(void* pointer) { heap_free(pointer); }

}  // namespace plait::cluster
