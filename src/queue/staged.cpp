#include "queue/staged.hpp"

#include <algorithm>

#include "base/error.hpp"
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
  const Staging* const staging = stage(memory, use);
  if (!staging) return const_cast<void*>(at);  // NOLINT(cppcoreguidelines-pro-type-const-cast): it was given so
  require(!memory.layout, MPI_ERR_TYPE);
  return staging->host() - (memory.at - static_cast<const std::byte*>(at));
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
