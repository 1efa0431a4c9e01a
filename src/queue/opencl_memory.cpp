#include "queue/opencl_memory.hpp"

#include <mpi.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <new>
#include <optional>

#include "base/error.hpp"
#include "queue/engine.hpp"

namespace plait::queue::opencl {
namespace {

/// What lies at an address.
struct Range {
  ContextHandle context = nullptr;
  BufferHandle buffer = nullptr;  ///< null: shared memory
  std::size_t bytes = 0;
  std::size_t reserved = 0;  ///< addresses that stand for a buffer
  int uses = 1;
};

struct Ranges {
  std::mutex lock;
  std::map<std::uintptr_t, Range> at;

  /// With the lock. Where an address lies in none, the end.
  std::map<std::uintptr_t, Range>::iterator find(const void* address) {
    const auto number = reinterpret_cast<std::uintptr_t>(address);
    auto above = at.upper_bound(number);
    if (above == at.begin()) return at.end();
    const auto found = std::prev(above);
    return number - found->first < found->second.bytes ? found : at.end();
  }
};

Ranges& ranges() {
  static auto& all = *new Ranges;  // never destroyed: the engine's thread may outlive static objects
  return all;
}

/// Where something lies, as a copy needs it.
struct Spot {
  ContextHandle context;
  BufferHandle buffer;
  std::size_t offset;
  std::size_t left;  ///< from there on
};

std::optional<Spot> spot_of(const void* address) {
  Ranges& r = ranges();
  const std::lock_guard guard(r.lock);
  const auto found = r.find(address);
  if (found == r.at.end()) return std::nullopt;
  const std::size_t offset = reinterpret_cast<std::uintptr_t>(address) - found->first;
  return Spot{found->second.context, found->second.buffer, offset, found->second.bytes - offset};
}

/// Memory that is kept for the next message is given back above this.
constexpr std::size_t kKept = std::size_t{64} << 20;
constexpr std::size_t kPage = 4096;

}  // namespace

void* address_of(BufferHandle buffer) {
  std::uint32_t type = 0;
  Range range;
  require(is_object(buffer) && ask(api().clGetMemObjectInfo, buffer, kMemoryType, type) && type == kTypeBuffer, MPI_ERR_ARG);
  require(ask(api().clGetMemObjectInfo, buffer, kMemorySize, range.bytes) && range.bytes > 0, MPI_ERR_ARG);
  require(ask(api().clGetMemObjectInfo, buffer, kMemoryContext, range.context) && is_context_of(range.context, nullptr), MPI_ERR_ARG);
  Ranges& r = ranges();
  const std::lock_guard guard(r.lock);
  for (auto& [at, known] : r.at) {
    if (known.buffer != buffer) continue;
    ++known.uses;
    return reinterpret_cast<void*>(at);  // NOLINT(performance-no-int-to-ptr): it was one
  }
  range.buffer = buffer;
  range.reserved = (range.bytes + kPage - 1) / kPage * kPage;
  void* const at = mmap(nullptr, range.reserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) throw std::bad_alloc();
  try {
    r.at.emplace(reinterpret_cast<std::uintptr_t>(at), range);
  } catch (...) {
    munmap(at, range.reserved);
    throw;
  }
  api().clRetainMemObject(buffer);
  return at;
}

void add_shared(ContextHandle context, void* address, std::size_t bytes) {
  require(address && bytes > 0 && is_context_of(context, nullptr) && api().clEnqueueSVMMemcpy, MPI_ERR_ARG);
  const auto first = reinterpret_cast<std::uintptr_t>(address);
  Ranges& r = ranges();
  const std::lock_guard guard(r.lock);
  const auto next = r.at.lower_bound(first);
  require(r.find(address) == r.at.end() && (next == r.at.end() || next->first - first >= bytes), MPI_ERR_ARG);
  r.at.emplace(first, Range{.context = context, .bytes = bytes});
  api().clRetainContext(context);
}

void release_address(void* address) {
  Ranges& r = ranges();
  Range range;
  {
    const std::lock_guard guard(r.lock);
    const auto found = r.at.find(reinterpret_cast<std::uintptr_t>(address));
    require(found != r.at.end(), MPI_ERR_ARG);
    if (--found->second.uses > 0) return;
    range = found->second;
    r.at.erase(found);
  }
  // Without the lock, which copies take: the last one that releases a buffer may wait for what uses it.
  if (range.buffer) {
    munmap(address, range.reserved);
    api().clReleaseMemObject(range.buffer);
  } else {
    api().clReleaseContext(range.context);
  }
}

OpenClDevice::OpenClDevice(ContextHandle context, DeviceHandle device) : context_(context) {
  Status status = kSuccess;
  queue_ = api().clCreateCommandQueue(context, device, 0, &status);
  require(queue_ && status == kSuccess, MPI_ERR_OTHER);
}

OpenClDevice::~OpenClDevice() {
  api().clReleaseCommandQueue(queue_);
  for (const Room& room : rooms_) std::free(room.at);  // NOLINT(cppcoreguidelines-no-malloc): aligned
}

Place OpenClDevice::place(const void* at, std::size_t bytes) noexcept {
  const std::optional<Spot> spot = spot_of(at);
  if (!spot) return Place::host;
  return spot->context == context_ && bytes <= spot->left ? Place::device : Place::elsewhere;
}

void OpenClDevice::fail(int error) {
  api().clFinish(queue_);
  throw MPIError{error, false};
}

template <class Enqueue>
Copy OpenClDevice::copy(const void* on_device, std::size_t bytes, Enqueue enqueue) {
  if (bytes == 0) return {};
  const std::optional<Spot> spot = spot_of(on_device);
  if (!spot || bytes > spot->left) fail(MPI_ERR_BUFFER);
  EventHandle event = nullptr;
  if (enqueue(*spot, event) != kSuccess) fail(MPI_ERR_OTHER);
  flushed_ = false;
  return {reinterpret_cast<std::uintptr_t>(event)};
}

Copy OpenClDevice::copy_to_host(std::byte* to, const void* from, std::size_t bytes) {
  return copy(from, bytes, [&](const Spot& s, EventHandle& event) {
    if (s.buffer) return api().clEnqueueReadBuffer(queue_, s.buffer, 0, s.offset, bytes, to, 0, nullptr, &event);
    return api().clEnqueueSVMMemcpy(queue_, 0, to, from, bytes, 0, nullptr, &event);
  });
}

Copy OpenClDevice::copy_to_device(void* to, const std::byte* from, std::size_t bytes) {
  return copy(to, bytes, [&](const Spot& s, EventHandle& event) {
    if (s.buffer) return api().clEnqueueWriteBuffer(queue_, s.buffer, 0, s.offset, bytes, from, 0, nullptr, &event);
    return api().clEnqueueSVMMemcpy(queue_, 0, to, from, bytes, 0, nullptr, &event);
  });
}

bool OpenClDevice::is_over(Copy copy) {
  if (copy.number == 0) return true;
  auto* const event = reinterpret_cast<EventHandle>(copy.number);  // NOLINT(performance-no-int-to-ptr): it was one
  if (!flushed_) {
    // The last of several: they run in order.
    flushed_ = true;
    static_cast<void>(api().clSetEventCallback(event, kComplete, [](EventHandle, Status, void*) { engine::wake(); }, nullptr));
    api().clFlush(queue_);
  }
  Status status = kNotDone;
  if (!ask(api().clGetEventInfo, event, kExecutionStatus, status)) status = kFailed;
  if (status > kComplete) return false;
  // Only a wait makes what was copied visible.
  if (status == kComplete) api().clWaitForEvents(1, &event);
  api().clReleaseEvent(event);
  if (status < kComplete) fail(MPI_ERR_OTHER);
  return true;
}

std::byte* OpenClDevice::take(std::size_t bytes) {
  const std::size_t whole = (std::max<std::size_t>(bytes, 1) + kPage - 1) / kPage * kPage;
  const std::lock_guard guard(lock_);
  Room* best = nullptr;
  for (Room& room : rooms_) {
    if (!room.used && room.bytes >= whole && room.bytes <= 2 * whole && (!best || room.bytes < best->bytes)) best = &room;
  }
  if (!best) {
    rooms_.reserve(rooms_.size() + 1);
    auto* const at = static_cast<std::byte*>(std::aligned_alloc(kPage, whole));  // NOLINT(cppcoreguidelines-no-malloc): aligned
    if (!at) throw std::bad_alloc();
    best = &rooms_.emplace_back(Room{at, whole, false});
  }
  best->used = true;
  return best->at;
}

void OpenClDevice::give(std::byte* at) noexcept {
  const std::lock_guard guard(lock_);
  const auto given = std::ranges::find(rooms_, at, &Room::at);
  given->used = false;
  std::size_t kept = 0;
  for (const Room& room : rooms_) kept += room.used ? 0 : room.bytes;
  if (kept <= kKept) return;
  std::free(at);  // NOLINT(cppcoreguidelines-no-malloc): aligned
  rooms_.erase(given);
}

}  // namespace plait::queue::opencl
