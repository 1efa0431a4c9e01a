#include "base/gate.hpp"

#include <mutex>

namespace plait {

constinit std::atomic<bool> Gate::needed_{false};

namespace {

constinit std::recursive_mutex gate;
/// How often this thread has entered without waiting; it may have done so before there had to be a gate.
thread_local int entered = 0;

}  // namespace

void need_gate() noexcept { Gate::needed_.store(true, std::memory_order_relaxed); }

void Gate::lock() noexcept {
  gate.lock();
  held_ = true;
}

void Gate::unlock() noexcept { gate.unlock(); }

bool Gate::enter_if_free() noexcept {
  if (!needed_.load(std::memory_order_relaxed)) return true;
  if (!gate.try_lock()) return false;
  ++entered;
  return true;
}

void Gate::leave() noexcept {
  if (entered == 0) return;
  --entered;
  gate.unlock();
}

}  // namespace plait
