#include "lane/request.hpp"

#include <array>
#include <mutex>
#include <new>

#include "base/spinlock.hpp"

namespace plait {

constinit std::atomic<bool> requests_used{false};

namespace request {
namespace {

constexpr std::uint32_t kChunkSlots = 1024;

struct alignas(64) Slot {
  std::byte bytes[kSlotBytes];
};

struct Pool {
  Spinlock lock;  // over `free` and `made`
  Request* free = nullptr;
  std::uint32_t made = 0;
  /// Chunk c holds the slots from c * kChunkSlots on.
  std::array<std::atomic<Slot*>, kMaxSlots / kChunkSlots> chunks{};
};

constinit Pool pool;

bool grow() noexcept {
  if (pool.made == kMaxSlots) return false;
  auto* const chunk = new (std::nothrow) Slot[kChunkSlots];
  if (!chunk) return false;
  for (std::uint32_t i = kChunkSlots; i-- > 0;) {
    auto* const r = new (&chunk[i]) Request;
    r->slot = pool.made + i;
    r->next_free = pool.free;
    pool.free = r;
  }
  // release: who has a handle into the chunk sees what was made of it.
  pool.chunks[pool.made / kChunkSlots].store(chunk, std::memory_order_release);
  pool.made += kChunkSlots;
  // relaxed: the handle travels by means of the program's that order this before its use.
  requests_used.store(true, std::memory_order_relaxed);
  return true;
}

}  // namespace

Request* take_slot() noexcept {
  const std::lock_guard guard(pool.lock);
  if (!pool.free && !grow()) return nullptr;
  Request* const r = pool.free;
  pool.free = r->next_free;
  return r;
}

void give_slot(Request& r) noexcept {
  const std::lock_guard guard(pool.lock);
  r.next_free = pool.free;
  pool.free = &r;
}

Request& in_slot(std::uint32_t slot) noexcept {
  Slot* const chunk = pool.chunks[slot / kChunkSlots].load(std::memory_order_acquire);
  return *reinterpret_cast<Request*>(&chunk[slot % kChunkSlots]);
}

}  // namespace request
}  // namespace plait
