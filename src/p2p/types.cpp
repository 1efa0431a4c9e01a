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

lane::Memory plain_memory(const void* buffer, MPI_Count count, int size) noexcept {
  lane::Memory memory;
  memory.at = static_cast<std::byte*>(const_cast<void*>(buffer));  // NOLINT: sends only read it
  memory.count = count;
  memory.bytes = static_cast<std::uint64_t>(count) * static_cast<std::uint64_t>(size);
  return memory;
}

lane::Memory laid_out(const void* buffer, MPI_Count count, std::shared_ptr<const layout::Layout> layout) {
  lane::Memory memory = plain_memory(buffer, count, 0);
  memory.bytes = static_cast<std::uint64_t>(count) * static_cast<std::uint64_t>(layout->bytes());
  if (!layout->is_contiguous() && !(count == 1 && layout->segments() == 1) && memory.bytes > 0) {
    memory.layout = std::move(layout);
    return memory;
  }
  // By number, since MPI_BOTTOM may be null and the datatype hold the address.
  memory.at = reinterpret_cast<std::byte*>(reinterpret_cast<std::intptr_t>(buffer) + layout->offset());  // NOLINT
  return memory;
}

std::shared_ptr<const layout::Layout> learn(MPI_Datatype type) {
  auto layout = layout::layout_of(type);
  if (layout->is_contiguous() && layout->offset() == 0 && layout->bytes() == layout->extent() &&
      layout::is_predefined(layout::combiner_of(type)))
    remember(type, static_cast<int>(layout->bytes()));
  return layout;
}

}  // namespace

lane::Memory memory_of(const void* buffer, MPI_Count count, MPI_Datatype type) {
  if (count < 0) throw MPIError{MPI_ERR_COUNT, false};
  if (const int size = plain_size(type); size >= 0) [[likely]]
    return plain_memory(buffer, count, size);
  return laid_out(buffer, count, learn(type));
}

lane::Memory message_memory(const void* buffer, MPI_Count count, MPI_Datatype type) {
#ifndef OMPI_MAJOR_VERSION
  if (count == 0 && type == MPI_DATATYPE_NULL) return plain_memory(buffer, 0, 0);
#endif
  return memory_of(buffer, count, type);
}

Type::Type(MPI_Datatype datatype) : handle(datatype), size(plain_size(datatype)) {
  if (size >= 0) return;
  layout = learn(datatype);
  size = plain_size(datatype);
  if (size >= 0) layout = nullptr;
}

lane::Memory memory_of(const void* buffer, MPI_Count count, const Type& type) {
  if (count < 0) throw MPIError{MPI_ERR_COUNT, false};
  return type.layout ? laid_out(buffer, count, type.layout) : plain_memory(buffer, count, type.size);
}

}  // namespace plait::p2p
