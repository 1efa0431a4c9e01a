#include "queue/queue.hpp"

#include "queue/engine.hpp"

namespace plait::queue {

void Queue::uncount() noexcept {
  // release: what the step has done, for whoever waits until none is left.
  outstanding_.fetch_sub(1, std::memory_order_release);
  engine::ended().notify();
}

}  // namespace plait::queue
