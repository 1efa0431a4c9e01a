#include "queue/staged.hpp"

#include <algorithm>

#include "layout/contents.hpp"
#include "p2p/types.hpp"
#include "queue/place.hpp"

namespace plait::queue {

Staging* Staged::stage(lane::Memory memory, Use use) {
  if (place_of(queue_->device(), memory) == Place::host) return nullptr;
  parts_.push_back({std::make_unique<Staging>(*queue_, std::move(memory)), use});
  return parts_.back().staging.get();
}

Staged::Buffer Staged::moved(const void* at, MPI_Count count, MPI_Datatype type, Use use) { return moved(1, at, count, type, use); }

Staged::Buffer Staged::moved(int blocks, const void* at, MPI_Count count, MPI_Datatype type, Use use) {
  const Staging* const staging = stage(p2p::message_memory(at, blocks * count, type), use);
  if (!staging) return {const_cast<void*>(at), count, type};  // NOLINT(cppcoreguidelines-pro-type-const-cast): it was given so
  return {staging->host(), static_cast<MPI_Count>(staging->bytes()) / blocks, MPI_BYTE};
}

void* Staged::computed(const void* at, MPI_Count count, MPI_Datatype type, Use use) {
  const lane::Memory memory = p2p::memory_of(at, count, type);
  if (place_of(queue_->device(), memory) == Place::host) return const_cast<void*>(at);  // NOLINT(cppcoreguidelines-pro-type-const-cast)
  const std::intptr_t address = reinterpret_cast<std::intptr_t>(at);
  if (memory.layout && !layout::is_predefined(layout::combiner_of(type))) {
    parts_.push_back({std::make_unique<Staging>(*queue_, memory, Staging::Form::spread), use});
    return parts_.back().staging->host_of(at);
  }
  // The gaps of MPI's own datatypes belong to nobody: all of them are one run of bytes, which are copied there and back.
  lane::Memory whole = memory;
  if (memory.layout) {
    const Span span = span_of(memory);
    whole = {reinterpret_cast<std::byte*>(span.low), static_cast<std::uint64_t>(span.high - span.low), 0, nullptr};  // NOLINT: by number
    if (use == Use::written) use = Use::both;
  }
  const Staging& staging = *parts_.emplace_back(Part{std::make_unique<Staging>(*queue_, whole), use}).staging;
  // NOLINTNEXTLINE(performance-no-int-to-ptr): by number, as MPI_BOTTOM is null
  return reinterpret_cast<void*>(reinterpret_cast<std::intptr_t>(staging.host()) + (address - reinterpret_cast<std::intptr_t>(whole.at)));
}

void Staged::put_before() const {
  for (const Part& part : parts_) {
    if (part.staging->by_queue() && part.use != Use::written) part.staging->put_to_host();
  }
}

void Staged::put_behind() const {
  for (const Part& part : parts_) {
    if (part.staging->by_queue() && part.use != Use::read) part.staging->put_to_device();
  }
}

bool Staged::puts_behind() const noexcept {
  return std::ranges::any_of(parts_, [](const Part& part) { return part.staging->by_queue() && part.use != Use::read; });
}

void Staged::to_host() {
  for (const Part& part : parts_) {
    if (!part.staging->by_queue() && part.use != Use::written) part.staging->to_host();
  }
}

void Staged::to_device() {
  for (const Part& part : parts_) {
    if (!part.staging->by_queue() && part.use != Use::read) part.staging->to_device(part.staging->bytes());
  }
}

bool Staged::is_over() {
  return std::ranges::all_of(parts_, [](const Part& part) { return part.staging->is_over(); });
}

}  // namespace plait::queue
