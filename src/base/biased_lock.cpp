#include "base/biased_lock.hpp"

#include <sched.h>

#include "base/delay.hpp"

namespace plait {

void BiasedLock::yield_to_visitor() noexcept {
  do {
    unlock();
    while (visitor_.load(std::memory_order_acquire)) sched_yield();
    uses_.store(uses_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    owner_fence();
  } while (visitor_.load(std::memory_order_acquire));
}

bool BiasedLock::visit() noexcept {
  // relaxed: a hint that spares the barrier.
  if (is_inside(uses_.load(std::memory_order_relaxed))) return false;
  // acquire: what the last visitor did.
  if (visitor_.exchange(true, std::memory_order_acquire)) return false;
  delay();
  barrier_in_this_process();
  // acquire: what the owner did.
  if (!is_inside(uses_.load(std::memory_order_acquire))) return true;
  leave();
  return false;
}

void BiasedLock::leave() noexcept { visitor_.store(false, std::memory_order_release); }

}  // namespace plait
