// The heap of the program: each process hands out memory of its own area of the shared range. What the heap knows of its blocks lies in
// private memory. A block may be freed by any process; it goes back to the one that handed it out.
#pragma once

#include <cstddef>

#include "cluster/space.hpp"

namespace plait::cluster {

/// When the job starts: from now on this process's own area.
void start_heap();
/// Page-aligned memory for good, at the end of the area.
void* heap_end_piece(std::size_t bytes);

void* heap_allocate(std::size_t bytes, std::size_t alignment);
/// The block is known to be zero.
bool heap_is_fresh(const void* block) noexcept;
void heap_free(void* block);
std::size_t heap_size(void* block);
/// Around a fork().
void lock_heap();
void unlock_heap();
/// Up to where the heap of this process has been used, and from where on it has pieces for good.
struct HeapParts {
  std::byte* used_end;
  std::byte* pieces;
};
HeapParts heap_parts() noexcept;
/// The page lies in memory that this process has handed out, or is none of its heap's.
bool heap_has(PageId page) noexcept;

/// How malloc works: until the job starts the program's memory is shared, in a job of one process it is libc's.
enum class Allocation { libc, shared };
extern Allocation allocation;

}  // namespace plait::cluster
