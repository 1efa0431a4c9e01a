// What a stream may stand for: a queue of a GPU's, of OpenCL's or of plait's own (host.hpp), on which operations of the MPI's are put
// among what else is there. A backend says when the queue has come to a step, and holds it up there.
#pragma once

#include <atomic>
#include <memory>
#include <string_view>

#include "queue/device.hpp"
#include "queue/step.hpp"

namespace plait::queue {

class Queue {
 public:
  Queue() = default;
  virtual ~Queue() = default;
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  /// Puts a step behind all that is on the queue now. Throws MPIError where the queue takes none, std::bad_alloc; then it is not there.
  /// Calls of several threads are put one after the other.
  virtual void put(StepPointer step) = 0;
  /// Whose memory its functions work on; null: the host's.
  [[nodiscard]] virtual Device* device() noexcept { return nullptr; }
  /// How memory of its device is copied: on the queue itself, or, where that is null, beside it by the engine. One with a device has one.
  [[nodiscard]] virtual QueueCopies* queue_copies() noexcept { return nullptr; }
  [[nodiscard]] virtual EngineCopies* engine_copies() noexcept { return nullptr; }
  /// What it is to the program, for which several of these objects may stand: a stream of a device's.
  struct Identity {
    const void* owner;
    const void* handle;
    bool operator==(const Identity&) const = default;
  };
  [[nodiscard]] virtual Identity identity() const noexcept { return {this, nullptr}; }
  /// Has all run that was put on it? Then a send can take its data at once.
  [[nodiscard]] virtual bool idle() noexcept { return false; }

  /// Its stream is freed: lets go of the steps of graphs, which are not launched any more.
  virtual void forget() noexcept {}

  /// What has failed since the program was last told, MPI_SUCCESS for nothing. A queue that has failed runs nothing more until then. Any
  /// thread.
  [[nodiscard]] virtual int take_error() = 0;

  /// Steps that are not over. What a communicator waits for before it is freed.
  [[nodiscard]] virtual int outstanding() const noexcept { return outstanding_.load(std::memory_order_acquire); }
  /// Would they never begin while the caller waits for them, as they are behind a function that it runs?
  [[nodiscard]] virtual bool waits_for_caller() const noexcept { return false; }

 protected:
  /// One more step; and one that could not be put there.
  void count() noexcept { outstanding_.fetch_add(1, std::memory_order_relaxed); }
  void uncount() noexcept;
  /// Of a step that is over: the error that the program is to be told by the next call. MPI_SUCCESS for none.
  [[nodiscard]] static int error_to_tell(const Step& step) noexcept { return step.answers_for_itself() ? MPI_SUCCESS : step.error(); }
  /// A step is over, by whoever has seen that. Lets go of it before it is no longer outstanding: what it holds of its communicator is freed
  /// then. Does not return where it has an error to tell and the communicator's error handler ends the job.
  void end(StepPointer step) noexcept;

 private:
  std::atomic<int> outstanding_{0};
};

/// How an error is told to a communicator whose handler ends the job.
void set_fatal(void (*tell)(std::uint64_t communicator, int error, const char* call) noexcept) noexcept;

using QueuePointer = std::shared_ptr<Queue>;

/// The queue behind a value that MPIX_Stream_create is given: `type` is what the program calls it, `value` the bytes of its handle, as
/// MPIX_Info_set_hex writes them. Throws MPIError{MPI_ERR_INFO_VALUE} for an unknown type, a value of another size, one that is no queue,
/// and where the library is not found; the reason is on stderr then.
[[nodiscard]] QueuePointer find_queue(std::string_view type, std::string_view value);

}  // namespace plait::queue
