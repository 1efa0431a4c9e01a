// The thread that moves steps on while their queues wait: it looks whether the queues of GPUs have come to a step, and makes rounds of
// steps that have begun. It sleeps where there is nothing to look at, and longer and longer while what it looks at does not move.
#pragma once

#include <functional>

#include "base/event_count.hpp"
#include "queue/step.hpp"

namespace plait::queue::engine {

/// What the engine looks at. By the engine's thread.
class Polled {
 public:
  Polled() = default;
  Polled(const Polled&) = delete;
  Polled& operator=(const Polled&) = delete;

  /// Is there anything to look for?
  [[nodiscard]] virtual bool awaited() const noexcept = 0;
  /// Is the engine nearly always woken when something has come? Then it looks only now and then by itself.
  [[nodiscard]] virtual bool wakes() const noexcept { return false; }
  /// One look; true if something has come.
  virtual bool look() noexcept = 0;
  /// The engine has ended: nobody looks any more. By the thread that ends it.
  virtual void stop() noexcept {}

 protected:
  ~Polled() = default;
};

/// Starts the thread where there is none yet. Throws std::system_error.
void start();
/// Before the MPI is finalized. Steps that are not over by then are given up, and a line on stderr says so; nothing of plait's calls the
/// MPI for a queue any more when it returns.
void stop() noexcept;
/// Has it been called? Then no step begins any more, and one that waits for a message is given up.
[[nodiscard]] bool is_stopping() noexcept;
/// Gives up a step because of that, and counts it for the line. True where it was not over.
bool leave(Step& step) noexcept;
/// Counts one that its queue will give up later.
void note_left(const char* call) noexcept;
/// What is let go of from then on stays: a message may be under way, in which memory of it takes part.
void keep(StepPointer step) noexcept;

/// Makes rounds of a step that has begun. `then` is called by the engine's thread when it is over, and is given the step. Any thread.
/// Throws std::bad_alloc; then the step is left where it is. Once the engine has stopped, the step is given up, and `then` is called here.
void watch(StepPointer&& step, std::function<void(StepPointer)> then);

/// From now on, or no more: on return from `remove` it is not being looked at. Not by the engine's thread. Throws std::bad_alloc.
void add(Polled& polled);
void remove(Polled& polled) noexcept;

/// There is something to look at. Any thread.
void wake() noexcept;

/// Notified whenever a step is over; and where threads of the program wait for that.
[[nodiscard]] EventCount& ended() noexcept;
[[nodiscard]] progress::Waiter& where_steps_end() noexcept;

/// Blocks until a step that has begun is over, and makes its rounds: for a thread that runs a queue. False where it was given up, as the
/// MPI ends.
bool wait_here(Step& step) noexcept;

}  // namespace plait::queue::engine
