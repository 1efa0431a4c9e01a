// A step: one operation of the MPI's that is on a queue. It begins when all that was put on the queue before it has run, and where it
// holds up the queue, what was put there after it runs when it is over.
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "lane/request.hpp"
#include "progress/wait.hpp"

namespace plait::queue {

class Step {
 public:
  explicit Step(bool holds_up, const char* call) noexcept : holds_up_(holds_up), call_(call) {}
  virtual ~Step() = default;
  Step(const Step&) = delete;
  Step& operator=(const Step&) = delete;

  /// Does what comes later in the queue wait for its end?
  [[nodiscard]] bool holds_up() const noexcept { return holds_up_; }
  /// The call that has made it.
  [[nodiscard]] const char* call() const noexcept { return call_; }

  /// Begins it, as far as it can go. By the thread that runs the queue. A step of a graph begins again and again.
  void begin() noexcept;
  /// One round, or none where another thread is at it; true once it is over. By the thread that looks after it; by any other one, once it
  /// has begun, where `any_thread` says so.
  [[nodiscard]] bool advance() noexcept;
  /// It does not begin, as what is before it has failed; or it ends, as the MPI does. False where it was over. Any thread.
  bool give_up(int error) noexcept;
  /// Its request is cancelled. One that has not begun is over at once, and never begins; one that has ends soon, where it can. Any thread,
  /// but not together with what ends the request.
  void cancel() noexcept;
  /// Any thread; what it has written is seen then.
  [[nodiscard]] bool over() const noexcept { return over_.load(std::memory_order_acquire); }
  /// Once it is over. MPI_SUCCESS or a code of the MPI's.
  [[nodiscard]] int error() const noexcept { return error_; }
  /// A call gives its error to the program, as the end of a request does: nobody else has to.
  [[nodiscard]] bool answers_for_itself() const noexcept { return answers_; }
  void answer_for_itself() noexcept { answers_ = true; }

  /// Steps that copy to and from a device, or take turns, are the engine's alone.
  [[nodiscard]] virtual bool any_thread() const noexcept { return true; }
  /// Can a callback of a driver's begin it and make a round of it? It does so fast then, and calls nothing of the device's.
  [[nodiscard]] virtual bool light() const noexcept { return false; }
  /// What has to be put on the queue itself, before the mark at which it begins and behind what holds up the queue: copies of a device's
  /// memory, where the queue makes these. By the call that puts it there. Throw MPIError.
  virtual void put_before() {}
  virtual void put_behind() {}
  /// Does it put anything behind? Then it has to be kept until the queue has passed that.
  [[nodiscard]] virtual bool puts_behind() const noexcept { return false; }
  /// A request of it ends on the host, and no wait on the queue will: copies what it has received to the device. Throws MPIError.
  virtual void finish_here() {}
  /// Where a thread waits for it; null: nobody tells when there is something.
  [[nodiscard]] virtual progress::Waiter* waiter() const noexcept { return nullptr; }
  /// Whose error handler is told of its error.
  [[nodiscard]] virtual std::uint64_t communicator() const noexcept = 0;
  /// What it waits for, for a person to read.
  [[nodiscard]] virtual std::string waits_for() const { return call_; }
  /// Its status, once it is over: of a request whose end has been put on the queue.
  virtual void write_status(MPI_Status* status) const noexcept;

 protected:
  /// Throw MPIError, std::bad_alloc: then it is over.
  virtual void do_begin() = 0;
  [[nodiscard]] virtual bool do_advance() = 0;
  /// It will never begin; before it is over.
  virtual void do_withdraw() noexcept {}
  /// It has begun. Not beside a round of another thread's.
  virtual void do_cancel() noexcept {}

 private:
  /// Who was first, the queue or a call that cancels it. One that has begun, as a graph's, may begin again.
  enum class Fate : std::uint8_t { open, begins, withdrawn };
  [[nodiscard]] bool claim(Fate fate) noexcept;
  void end(int error) noexcept;

  const bool holds_up_;
  const char* const call_;
  bool answers_ = false;
  int error_ = MPI_SUCCESS;
  std::atomic<Fate> fate_{Fate::open};
  std::atomic<bool> over_{false};
  std::atomic<bool> begun_{false};
  std::atomic<bool> busy_{false};  ///< a thread makes a round
};

using StepPointer = std::shared_ptr<Step>;

/// A call that is over when it returns, and does not hold up the queue. It may throw MPIError.
class CallStep final : public Step {
 public:
  CallStep(std::uint64_t communicator, const char* call, std::function<void()> begin)
      : Step(false, call), communicator_(communicator), begin_(std::move(begin)) {}
  [[nodiscard]] std::uint64_t communicator() const noexcept override { return communicator_; }

 private:
  void do_begin() override { begin_(); }
  bool do_advance() override { return true; }

  std::uint64_t communicator_;
  std::function<void()> begin_;
};

/// What a WaitStep waits for: a step, or a request that steps before it start and that stays the program's, as a partitioned one.
struct Awaited {
  StepPointer step;
  Request* request = nullptr;
  MPI_Status* status = nullptr;  ///< null: nobody wants it

  [[nodiscard]] bool advance() noexcept;
  [[nodiscard]] bool over() const noexcept;
  [[nodiscard]] progress::Waiter* waiter() const noexcept;
  /// Writes the status; the error.
  int end() noexcept;
};

/// Waits for what is on the same queue before it.
class WaitStep final : public Step {
 public:
  /// `each_has_status`: of an error only the statuses say which.
  WaitStep(std::uint64_t communicator, const char* call, std::vector<Awaited> awaited, bool each_has_status)
      : Step(true, call), communicator_(communicator), awaited_(std::move(awaited)), each_has_status_(each_has_status) {}
  [[nodiscard]] bool light() const noexcept override { return true; }
  [[nodiscard]] progress::Waiter* waiter() const noexcept override;
  [[nodiscard]] std::string waits_for() const override;
  [[nodiscard]] std::uint64_t communicator() const noexcept override { return communicator_; }
  void put_behind() override;
  [[nodiscard]] bool puts_behind() const noexcept override;

 private:
  void do_begin() override {}
  bool do_advance() override;
  [[nodiscard]] const Awaited* first_left() const noexcept;

  std::uint64_t communicator_;
  std::vector<Awaited> awaited_;
  bool each_has_status_;
};

}  // namespace plait::queue
