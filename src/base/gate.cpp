#include "base/gate.hpp"

#include <mutex>

namespace plait {

constinit std::atomic<bool> Gate::needed_{false};

namespace {

constinit std::mutex gate;
/// Whoever waits for the gate holds this. A thread that leaves and comes again at once, as one does that asks in a loop, would
/// otherwise be back before another has woken, again and again.
constinit std::mutex turn;
/// How often this thread is in, and how often of these it has entered without waiting; it may have done that before there
/// had to be a gate, and then it is not in.
thread_local int depth = 0;
thread_local int entered = 0;

}  // namespace

void need_gate() noexcept { Gate::needed_.store(true, std::memory_order_relaxed); }

void Gate::lock() noexcept {
  if (depth == 0) {
    const std::lock_guard guard(turn);
    gate.lock();
  }
  ++depth;
  held_ = true;
}

void Gate::unlock() noexcept {
  if (--depth == 0) gate.unlock();
}

bool Gate::enter_if_free() noexcept {
  if (!needed_.load(std::memory_order_relaxed)) return true;
  if (depth == 0 && !gate.try_lock()) return false;
  ++depth;
  ++entered;
  return true;
}

void Gate::leave() noexcept {
  if (entered == 0) return;
  --entered;
  unlock();
}

}  // namespace plait
