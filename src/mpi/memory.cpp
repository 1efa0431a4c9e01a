// MPI_Alloc_mem gives memory that the other processes of the node can map, so that what is sent from or to it need be copied but once.
#include <mpi.h>

#include "base/shared_memory.hpp"

namespace {

/// Smaller buffers are no faster for it, and each takes a page.
constexpr MPI_Aint kLeastShared = 4096;

}  // namespace

#pragma GCC visibility push(default)

extern "C" int MPI_Alloc_mem(MPI_Aint size, MPI_Info info, void* baseptr) {
  void* const block = size >= kLeastShared && baseptr ? plait::SharedHeap::get().take(static_cast<std::size_t>(size)) : nullptr;
  if (!block) return PMPI_Alloc_mem(size, info, baseptr);
  *static_cast<void**>(baseptr) = block;
  return MPI_SUCCESS;
}

extern "C" int MPI_Free_mem(void* base) { return plait::SharedHeap::get().give(base) ? MPI_SUCCESS : PMPI_Free_mem(base); }

#pragma GCC visibility pop
