#include "p2p/types.hpp"

#include <mutex>

#include "base/error.hpp"
#include "layout/cache.hpp"
#include "layout/contents.hpp"

namespace plait::p2p {

constinit FixedHandleTable<int, 1024> plain_sizes;

namespace {

constinit std::mutex lock;

void remember(MPI_Datatype type, int size) {
  const std::lock_guard guard(lock);
  plain_sizes.insert(to_bits(type), size);
}

}  // namespace

lane::Memory memory_of(const void* buffer, MPI_Count count, MPI_Datatype type) {
  if (count < 0) throw MPIError{MPI_ERR_COUNT, false};
  lane::Memory memory;
  memory.at = static_cast<std::byte*>(const_cast<void*>(buffer));  // NOLINT: sends only read it
  memory.count = count;
  if (const int size = plain_size(type); size >= 0) [[likely]] {
    memory.bytes = static_cast<std::uint64_t>(count) * static_cast<std::uint64_t>(size);
    return memory;
  }
  auto layout = layout::layout_of(type);
  memory.bytes = static_cast<std::uint64_t>(count) * static_cast<std::uint64_t>(layout->bytes());
  if (!layout->is_contiguous() && !(count == 1 && layout->segments() == 1) && memory.bytes > 0) {
    memory.layout = std::move(layout);
    return memory;
  }
  // By number, since MPI_BOTTOM may be null and the datatype hold the address.
  memory.at = reinterpret_cast<std::byte*>(reinterpret_cast<std::intptr_t>(buffer) + layout->offset());  // NOLINT
  if (layout->offset() == 0 && layout->bytes() == layout->extent() && layout::is_predefined(layout::combiner_of(type)))
    remember(type, static_cast<int>(layout->bytes()));
  return memory;
}

}  // namespace plait::p2p
