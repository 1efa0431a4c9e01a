// Queues of plait's own, behind plait/queue.h: functions and steps run in order, by a thread of the queue's or by the program's executor.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "base/event_count.hpp"
#include "plait/queue.h"
#include "queue/queue.hpp"

namespace plait::queue {

class HostQueue;

/// One place at which an event was recorded: it occurs once, and says then whether what was before it has run or its queue had failed.
class Occurrence {
 public:
  /// acquire: what ran before it.
  [[nodiscard]] bool has_occurred() const noexcept { return state_.load(std::memory_order_acquire) != State::to_come; }
  [[nodiscard]] bool has_failed() const noexcept { return state_.load(std::memory_order_acquire) == State::failed; }
  void occur(bool failed) noexcept;
  /// Calls `then(failed)` when it occurs, by whoever makes it occur; false, and does not, if it has. Throws std::bad_alloc.
  [[nodiscard]] bool call(std::function<void(bool)> then);
  /// Blocks until it occurs.
  void wait() noexcept;
  /// Where it was recorded.
  void set_queue(const HostQueue& queue) noexcept { queue_ = &queue; }
  /// Would it never occur while the caller waits for it, as it is behind a function that the caller runs?
  [[nodiscard]] bool waits_for_caller() const noexcept;

 private:
  enum class State : std::uint8_t { to_come, reached, failed };
  EventCount event_;
  const HostQueue* queue_ = nullptr;  ///< not used but for its address: the queue may be gone
  std::vector<std::function<void(bool)>> then_;
  std::mutex lock_;
  std::atomic<State> state_{State::to_come};
};

class HostQueue final : public Queue, public std::enable_shared_from_this<HostQueue> {
 public:
  /// With a thread of its own, once `start` is called; or with an executor.
  HostQueue() = default;
  HostQueue(plait_queue_executor* executor, void* extra) noexcept : executor_(executor), extra_(extra) {}
  ~HostQueue() override;

  /// Throws std::system_error.
  void start();
  /// Nothing can be put there any more; returns when what is there has run. Not by what runs on the queue.
  void close() noexcept;
  /// Is the caller what runs on the queue?
  [[nodiscard]] bool runs_here() const noexcept;

  void put(StepPointer step) override;
  void put(plait_queue_function* function, void* argument);
  void record(std::shared_ptr<Occurrence> occurrence);
  void wait_for(std::shared_ptr<Occurrence> occurrence);
  [[nodiscard]] int take_error() override;
  [[nodiscard]] bool waits_for_caller() const noexcept override;

  /// The engine stops: whoever runs the queue is at no step any more when it returns, and begins none.
  void leave_steps() noexcept;

 private:
  struct Item {
    enum class Kind : std::uint8_t { function, step, record, wait, recover } kind;
    plait_queue_function* function = nullptr;
    void* argument = nullptr;
    StepPointer step{};                        // NOLINT(readability-redundant-member-init): gcc wants it
    std::shared_ptr<Occurrence> occurrence{};  // NOLINT(readability-redundant-member-init): likewise
    bool left = false;                         ///< the engine stops, and has counted the step among those that are left
  };

  void push(Item item);
  /// With the lock; true where the executor is to be asked.
  [[nodiscard]] bool insert(Item item);
  /// Takes the first item; false if there is none, and then nothing runs the queue.
  [[nodiscard]] bool take(Item& item);
  [[nodiscard]] bool is_filled() const noexcept { return waiting_.load(std::memory_order_acquire) > 0; }
  void run_thread() noexcept;
  void run_executor() noexcept;
  void ask_executor();
  /// False where the rest waits for it, and the executor will be asked again then.
  [[nodiscard]] bool run(Item& item) noexcept;
  [[nodiscard]] bool run(StepPointer step, bool left) noexcept;
  [[nodiscard]] bool wait_for_occurrence(Occurrence& occurrence) noexcept;
  void settle(StepPointer step) noexcept;
  /// Settles those of `begun_` that are over.
  void settle_begun() noexcept;
  /// What runs the queue will be elsewhere: the engine looks after those of `begun_`.
  void leave_to_engine() noexcept;
  void watch(StepPointer step, bool resume);
  void fail(int error) noexcept;

  plait_queue_executor* executor_ = nullptr;
  void* extra_ = nullptr;
  std::thread thread_;
  EventCount filled_;
  mutable std::mutex lock_;  // over what follows
  std::deque<Item> items_;
  bool running_ = false;  ///< the executor has been asked, or what runs waits for something
  bool closed_ = false;
  std::atomic<std::size_t> waiting_{0};  ///< items
  std::atomic<bool> at_steps_{false};    ///< whoever runs it may be at one, or wait for it; set with the lock
  std::atomic<bool> known_{false};       ///< among those that the engine stops
  // Of whoever runs the queue.
  std::vector<StepPointer> begun_;     ///< that do not hold up the queue, and that nobody else looks after
  std::atomic<bool> skipping_{false};  ///< something has failed, and the program does not know yet
  std::atomic<int> error_{MPI_SUCCESS};
};

}  // namespace plait::queue
