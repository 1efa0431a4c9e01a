#include "queue/queue.hpp"

#include "queue/engine.hpp"

namespace plait::queue {
namespace {

using Tell = void (*)(std::uint64_t communicator, int error, const char* call) noexcept;
constinit std::atomic<Tell> tell_fatal{nullptr};

}  // namespace

void set_fatal(Tell tell) noexcept { tell_fatal.store(tell, std::memory_order_relaxed); }

void Queue::uncount() noexcept {
  // release: what the step has done, for whoever waits until none is left.
  outstanding_.fetch_sub(1, std::memory_order_release);
  engine::ended().notify();
}

void Queue::end(StepPointer step) noexcept {
  if (engine::is_stopping()) {
    // A line on stderr says what has been given up; the MPI is asked nothing any more.
    engine::keep(std::move(step));
    uncount();
    return;
  }
  // relaxed: set before there is a queue.
  if (error_to_tell(*step) != MPI_SUCCESS) tell_fatal.load(std::memory_order_relaxed)(step->communicator(), step->error(), step->call());
  step.reset();
  uncount();
}

}  // namespace plait::queue
