// malloc and its kin, operator new, and mmap of anonymous memory. What the program and its own libraries allocate is shared; what the MPI,
// libc, libgomp and the engine do is not. The address that a call comes from tells which. Freeing goes by where the block lies.
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>

#include "cluster/carrier.hpp"
#include "cluster/heap.hpp"
#include "cluster/next.hpp"
#include "cluster/signals.hpp"
#include "cluster/space.hpp"

#define PLAIT_EXPORT extern "C" [[gnu::visibility("default")]]
#define PLAIT_HERE __builtin_return_address(0)

// NOLINTBEGIN(bugprone-reserved-identifier): libc's names
extern "C" {
void* __libc_malloc(std::size_t bytes);
void __libc_free(void* block);
void* __libc_calloc(std::size_t count, std::size_t bytes);
void* __libc_realloc(void* block, std::size_t bytes);
void* __libc_memalign(std::size_t alignment, std::size_t bytes);
}
// NOLINTEND(bugprone-reserved-identifier)

namespace plait::cluster {
namespace {

bool from_program(const void* caller) noexcept {
  if (allocation == Allocation::libc) [[likely]]
    return false;
  return !inside() && allocates_shared(caller);
}

bool in_range(const void* block) noexcept { return reinterpret_cast<std::uintptr_t>(block) - kRange < kRangeBytes; }

std::size_t libc_size(void* block) {
  static constinit Next<std::size_t(void*)> real("malloc_usable_size");
  return real(block);
}

template <class Libc>
[[gnu::noinline]] auto undisturbed(Libc libc) {
  const Undisturbed undisturbed;
  return libc();
}
/// libc has locks, which a handler that needs a page may want. In a job of one process none does.
template <class Libc>
[[gnu::always_inline]] inline auto by_libc(Libc libc) {
  if (allocation == Allocation::libc) [[likely]]
    return libc();
  return undisturbed(libc);
}

void* checked(void* block) noexcept {
  if (!block) errno = ENOMEM;
  return block;
}

void* allocate_from(const void* caller, std::size_t bytes, std::size_t alignment) noexcept {
  if (from_program(caller)) return checked(heap_allocate(bytes, alignment));
  return by_libc([=] { return alignment <= 16 ? __libc_malloc(bytes) : __libc_memalign(alignment, bytes); });
}

void* new_from(const void* caller, std::size_t bytes, std::size_t alignment) {
  for (;;) {
    if (void* const block = allocate_from(caller, bytes, alignment)) return block;
    const std::new_handler handler = std::get_new_handler();
    if (!handler) throw std::bad_alloc();
    handler();
  }
}

void free_block(void* block) noexcept {
  if (in_range(block)) [[unlikely]] {
    heap_free(block);
  } else {
    by_libc([=] { __libc_free(block); });
  }
}

void* realloc_from(const void* caller, void* block, std::size_t bytes) {
  if (!block) return allocate_from(caller, bytes, 16);
  if (!in_range(block)) {
    if (!from_program(caller)) return by_libc([=] { return __libc_realloc(block, bytes); });
    // Private until now: allocated before the job began.
    void* const copy = heap_allocate(bytes, 16);
    if (!copy) return checked(nullptr);
    std::memcpy(copy, block, std::min(bytes, libc_size(block)));
    by_libc([=] { __libc_free(block); });
    return copy;
  }
  if (bytes == 0) {
    heap_free(block);
    return nullptr;
  }
  const std::size_t before = heap_size(block);
  if (bytes <= before && bytes >= before / 2) return block;
  void* const copy = heap_allocate(bytes, 16);
  if (!copy) return checked(nullptr);
  std::memcpy(copy, block, std::min(bytes, before));
  heap_free(block);
  return copy;
}

}  // namespace
}  // namespace plait::cluster

using namespace plait::cluster;

PLAIT_EXPORT void* malloc(std::size_t bytes) { return allocate_from(PLAIT_HERE, bytes, 16); }
PLAIT_EXPORT void free(void* block) { free_block(block); }
PLAIT_EXPORT void* calloc(std::size_t count, std::size_t size) {
  if (!from_program(PLAIT_HERE)) return by_libc([=] { return __libc_calloc(count, size); });
  std::size_t bytes = 0;
  if (__builtin_mul_overflow(count, size, &bytes)) return checked(nullptr);
  void* const block = heap_allocate(bytes, 16);
  if (block && !heap_is_fresh(block)) std::memset(block, 0, bytes);
  return checked(block);
}
PLAIT_EXPORT void* realloc(void* block, std::size_t bytes) { return realloc_from(PLAIT_HERE, block, bytes); }
PLAIT_EXPORT void* reallocarray(void* block, std::size_t count, std::size_t size) {
  std::size_t bytes = 0;
  if (__builtin_mul_overflow(count, size, &bytes)) return checked(nullptr);
  return realloc_from(PLAIT_HERE, block, bytes);
}
PLAIT_EXPORT int posix_memalign(void** block, std::size_t alignment, std::size_t bytes) {
  if (alignment < sizeof(void*) || (alignment & (alignment - 1)) != 0) return EINVAL;
  void* const got = allocate_from(PLAIT_HERE, bytes, alignment);
  if (!got) return ENOMEM;
  *block = got;
  return 0;
}
PLAIT_EXPORT void* aligned_alloc(std::size_t alignment, std::size_t bytes) { return allocate_from(PLAIT_HERE, bytes, alignment); }
PLAIT_EXPORT void* memalign(std::size_t alignment, std::size_t bytes) { return allocate_from(PLAIT_HERE, bytes, alignment); }
PLAIT_EXPORT void* valloc(std::size_t bytes) { return allocate_from(PLAIT_HERE, bytes, kPage); }
PLAIT_EXPORT std::size_t malloc_usable_size(void* block) {
  if (!block) return 0;
  return in_range(block) ? heap_size(block) : libc_size(block);
}

#define PLAIT_NEW [[gnu::visibility("default")]] void*
PLAIT_NEW operator new(std::size_t bytes) { return new_from(PLAIT_HERE, bytes, 16); }
PLAIT_NEW operator new[](std::size_t bytes) { return new_from(PLAIT_HERE, bytes, 16); }
PLAIT_NEW operator new(std::size_t bytes, const std::nothrow_t&) noexcept { return allocate_from(PLAIT_HERE, bytes, 16); }
PLAIT_NEW operator new[](std::size_t bytes, const std::nothrow_t&) noexcept { return allocate_from(PLAIT_HERE, bytes, 16); }
PLAIT_NEW operator new(std::size_t bytes, std::align_val_t alignment) {
  return new_from(PLAIT_HERE, bytes, static_cast<std::size_t>(alignment));
}
PLAIT_NEW operator new[](std::size_t bytes, std::align_val_t alignment) {
  return new_from(PLAIT_HERE, bytes, static_cast<std::size_t>(alignment));
}
#define PLAIT_DELETE [[gnu::visibility("default")]] void
PLAIT_DELETE operator delete(void* block) noexcept { free_block(block); }
PLAIT_DELETE operator delete[](void* block) noexcept { free_block(block); }
PLAIT_DELETE operator delete(void* block, std::size_t) noexcept { free_block(block); }
PLAIT_DELETE operator delete[](void* block, std::size_t) noexcept { free_block(block); }
PLAIT_DELETE operator delete(void* block, std::align_val_t) noexcept { free_block(block); }
PLAIT_DELETE operator delete[](void* block, std::align_val_t) noexcept { free_block(block); }
PLAIT_DELETE operator delete(void* block, std::size_t, std::align_val_t) noexcept { free_block(block); }
PLAIT_DELETE operator delete[](void* block, std::size_t, std::align_val_t) noexcept { free_block(block); }

PLAIT_EXPORT void* mmap(void* at, std::size_t bytes, int protection, int flags, int file, off_t offset) noexcept {
  static constinit Next<void*(void*, std::size_t, int, int, int, off_t)> real("mmap");
  constexpr int kBoth = PROT_READ | PROT_WRITE;
  if (at || !(flags & MAP_ANONYMOUS) || protection != kBoth || !from_program(PLAIT_HERE)) {
    return real(at, bytes, protection, flags, file, offset);
  }
  void* const block = heap_allocate(std::max(bytes, std::size_t{65536}), kPage);
  if (!block) {
    errno = ENOMEM;
    return MAP_FAILED;
  }
  if (!heap_is_fresh(block)) std::memset(block, 0, bytes);
  return block;
}
PLAIT_EXPORT int munmap(void* at, std::size_t bytes) noexcept {
  static constinit Next<int(void*, std::size_t)> real("munmap");
  if (!in_range(at)) return real(at, bytes);
  heap_free(at);
  return 0;
}
