// MPI_Alloc_mem gives memory that the other processes of the node can map: what is sent to it need be copied but once.
#include <mpi.h>

#include <array>
#include <cstdlib>

#include "base/mpi_lock.hpp"
#include "base/shared_heap.hpp"

namespace {

/// Smaller buffers are no faster for it, and each takes a page.
constexpr MPI_Aint kLeastShared = 4096;
/// Blocks begin at a page.
constexpr unsigned long kAlignment = 4096;

/// Does the program want more than a page's alignment?
bool wants_more(MPI_Info info) noexcept {
  if (info == MPI_INFO_NULL) return false;
  std::array<char, 32> text{};
  int found = 0;
  const plait::MpiLock lock;
  PMPI_Info_get(info, "mpi_minimum_memory_alignment", static_cast<int>(text.size()) - 1, text.data(), &found);
  return found && std::strtoul(text.data(), nullptr, 10) > kAlignment;
}

void* share(MPI_Aint size, MPI_Info info) noexcept {
  if (size < kLeastShared || wants_more(info)) return nullptr;
  return plait::SharedHeap::get().take(static_cast<std::size_t>(size));
}

}  // namespace

#pragma GCC visibility push(default)

extern "C" int MPI_Alloc_mem(MPI_Aint size, MPI_Info info, void* baseptr) {
  void* const block = baseptr ? share(size, info) : nullptr;
  if (block) {
    *static_cast<void**>(baseptr) = block;
    return MPI_SUCCESS;
  }
  const plait::MpiLock lock;
  return PMPI_Alloc_mem(size, info, baseptr);
}

extern "C" int MPI_Free_mem(void* base) {
  if (plait::SharedHeap::get().give(base) == plait::SharedHeap::Given::taken_back) return MPI_SUCCESS;
  const plait::MpiLock lock;
  return PMPI_Free_mem(base);
}

#pragma GCC visibility pop
