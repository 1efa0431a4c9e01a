// MPI_Alloc_mem gives memory that the other processes of the node can map: what is sent to it need be copied but once. Where there
// is none of that it gives the MPI's own.
#include <mpi.h>

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <mutex>
#include <new>

#include "base/mpi_lock.hpp"
#include "base/shared_heap.hpp"
#include "mpi/error.hpp"
#include "mpi/quirks.hpp"

namespace plait::mpi {
namespace {

/// Smaller buffers are no faster for it, and each takes a page.
constexpr MPI_Aint kLeastShared = 4096;

/// What the program asks for by MPI-4.1's key, or 1. A number that is no power of two says nothing.
std::size_t alignment_of(MPI_Info info) noexcept {
  if (info == MPI_INFO_NULL) return 1;
  std::array<char, 32> text{};
  int found = 0;
  const MpiLock lock;
  PMPI_Info_get(info, "mpi_minimum_memory_alignment", static_cast<int>(text.size()) - 1, text.data(), &found);
  const std::size_t wanted = found ? std::strtoul(text.data(), nullptr, 10) : 1;
  return std::has_single_bit(wanted) ? wanted : 1;
}

/// Blocks of an MPI that does not know the key: where each begins for the program, and where for the MPI.
class Shifted {
 public:
  /// Throws std::bad_alloc.
  void add(void* at, void* block) {
    const std::lock_guard guard(lock_);
    blocks_[at] = block;
    any_.store(true, std::memory_order_relaxed);
  }
  /// The MPI's block, or the same where it is as the MPI gave it.
  [[nodiscard]] void* remove(void* at) noexcept {
    // relaxed: who has such a block was given it after that.
    if (!any_.load(std::memory_order_relaxed)) return at;
    const std::lock_guard guard(lock_);
    const auto found = blocks_.extract(at);
    return found ? found.mapped() : at;
  }

 private:
  std::mutex lock_;
  std::atomic<bool> any_{false};
  std::map<void*, void*> blocks_;
};

Shifted& shifted() {
  static Shifted& all = *new Shifted;  // never destroyed: programs may free their buffers at exit
  return all;
}

bool is_aligned(const void* at, std::size_t alignment) noexcept { return reinterpret_cast<std::uintptr_t>(at) % alignment == 0; }

/// Throws MPIError.
void* take_natively(MPI_Aint size, MPI_Info info) {
  void* block = nullptr;
  check(PMPI_Alloc_mem(size, info, static_cast<void*>(&block)));
  require(size <= 0 || !is_nothing(block), MPI_ERR_NO_MEM);
  return block;
}

/// The MPI's own, at a multiple of `alignment` whether or not the MPI knows of that.
void* take_aligned_natively(MPI_Aint size, MPI_Info info, std::size_t alignment) {
  void* const tried = take_natively(size, info);
  if (is_aligned(tried, alignment)) return tried;
  PMPI_Free_mem(tried);
  require(static_cast<std::size_t>(size) <= PTRDIFF_MAX - alignment, MPI_ERR_NO_MEM);
  void* const block = take_natively(size + static_cast<MPI_Aint>(alignment), info);
  void* const at = static_cast<std::byte*>(block) + -reinterpret_cast<std::uintptr_t>(block) % alignment;
  try {
    shifted().add(at, block);
  } catch (const std::bad_alloc&) {
    PMPI_Free_mem(block);
    throw;
  }
  return at;
}

/// In shared memory if it can be, and is worth it.
void* take(MPI_Aint size, MPI_Info info) {
  const std::size_t alignment = size > 0 ? alignment_of(info) : 1;
  if (size >= kLeastShared || alignment > alignof(std::max_align_t)) {
    if (void* const block = SharedHeap::get().take(static_cast<std::size_t>(size), alignment)) return block;
  }
  const MpiLock lock;
  return take_aligned_natively(size, info, alignment);
}

}  // namespace
}  // namespace plait::mpi

#pragma GCC visibility push(default)

using plait::SharedHeap;

extern "C" int MPI_Alloc_mem(MPI_Aint size, MPI_Info info, void* baseptr) {
  return plait::mpi::guarded([&] {
    plait::require(baseptr, MPI_ERR_ARG);
    *static_cast<void**>(baseptr) = plait::mpi::take(size, info);
  });
}

extern "C" int MPI_Free_mem(void* base) {
  switch (SharedHeap::get().give(base)) {
    case SharedHeap::Given::taken_back:
      return MPI_SUCCESS;
    case SharedHeap::Given::not_a_block:
      return plait::mpi::report(MPI_ERR_BASE);
    case SharedHeap::Given::not_mine:
      break;
  }
  const plait::MpiLock lock;
  return PMPI_Free_mem(plait::mpi::shifted().remove(base));
}

#pragma GCC visibility pop
