#include "lane/request.hpp"

#include <mutex>
#include <new>

#include "base/spinlock.hpp"

namespace plait {

constinit std::atomic<bool> requests_used{false};

namespace request {

constinit ChunkedArray<Slot, kChunkSlots, kMaxSlots / kChunkSlots> slots;

namespace {

struct Pool {
  Spinlock lock;  // over `free` and `made`
  Request* free = nullptr;
  std::uint32_t made = 0;
};

constinit Pool pool;

bool grow() noexcept {
  if (pool.made == kMaxSlots) return false;
  const auto chain = [](Slot* chunk) {
    for (std::uint32_t i = kChunkSlots; i-- > 0;) {
      auto* const r = new (&chunk[i]) Request;
      r->slot = pool.made + i;
      r->next_free = pool.free;
      pool.free = r;
    }
  };
  if (!slots.make(pool.made, chain)) return false;
  pool.made += kChunkSlots;
  // relaxed: the handle travels by means of the program's that order this before its use.
  requests_used.store(true, std::memory_order_relaxed);
  return true;
}

}  // namespace

Request* take_slot() noexcept {
  const std::lock_guard guard(pool.lock);
  if (!pool.free) static_cast<void>(grow());
  Request* const r = pool.free;
  if (r) pool.free = r->next_free;
  return r;
}

void give_slot(Request& r) noexcept {
  const std::lock_guard guard(pool.lock);
  r.next_free = pool.free;
  pool.free = &r;
}

}  // namespace request
}  // namespace plait
