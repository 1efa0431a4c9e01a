// Queues of OpenCL's. A step is a marker behind all that is on the queue, whose end the engine sees, and where it holds the queue up, a
// barrier behind it that waits for an event of plait's.
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <mutex>

#include "queue/opencl_memory.hpp"
#include "queue/queue.hpp"

namespace plait::queue::opencl {

class OpenClQueue final : public Queue, public std::enable_shared_from_this<OpenClQueue> {
 public:
  /// Of a queue that was found good. It lives as long as this. Throws MPIError.
  OpenClQueue(QueueHandle queue, ContextHandle context, DeviceHandle device);
  ~OpenClQueue() override;

  void put(StepPointer step) override;
  [[nodiscard]] Device* device() noexcept override { return &device_; }
  [[nodiscard]] EngineCopies* engine_copies() noexcept override { return &device_; }
  [[nodiscard]] int take_error() override;

  /// Begins the steps that the queue has come to; true if there were any. By the engine's thread.
  bool look() noexcept;
  /// The same up to the first one that is not light, if nobody else is at it. By a callback of OpenCL's, or the thread that has put one
  /// there. Not needed: the engine does so, later.
  void try_look(bool called_back) noexcept;
  /// The queue comes to none any more: the engine has stopped. By the thread that stops it.
  void give_up() noexcept;
  /// A callback of OpenCL's uses it. It is destroyed when none does.
  void count_callbacks(int more) noexcept { callbacks_.fetch_add(more, std::memory_order_acq_rel); }
  /// Is there a step that the queue has not come to?
  [[nodiscard]] bool awaited() const noexcept { return waiting_.load(std::memory_order_acquire) > 0; }

 private:
  struct Item {
    StepPointer step{};             // NOLINT(readability-redundant-member-init): gcc wants it
    EventHandle reached = nullptr;  ///< ends when the queue has come to it
    EventHandle over = nullptr;     ///< what the queue waits for; null: it does not
    EventHandle barrier = nullptr;  ///< where it waits
    int told = 0;                   ///< how often the program had been told of a failure when it was put there
  };

  /// Puts there what the queue waits for.
  void hold_up(Item& item);
  void insert(const Item& item);
  /// Has the queue come to the first one?
  [[nodiscard]] bool is_reached() noexcept;
  /// Takes the first one if the queue has come to it, with the status of what was before it; `light`: and if it is.
  [[nodiscard]] bool take(bool light, Item& item, Status& status);
  bool look(bool light, bool called_back) noexcept;
  void run(Item& item, bool called_back) noexcept;
  /// `status` is what the queue goes on with.
  void settle(StepPointer step, EventHandle over, EventHandle barrier, Status status) noexcept;
  /// With the lock.
  void note_failure(int told) noexcept;

  QueueHandle queue_;
  ContextHandle context_;
  OpenClDevice device_;
  std::mutex order_;    ///< held by a call that puts something there: the order of the queue is that of the items
  std::mutex looking_;  ///< held by who begins steps
  std::mutex lock_;     // over what follows
  std::deque<Item> items_;
  int told_ = 0;
  int failed_ = -1;  ///< a failure came before items that were put there when the program had been told so often: they are given up
  std::atomic<std::size_t> waiting_{0};  ///< items
  std::atomic<int> error_{MPI_SUCCESS}, callbacks_{0};
};

/// The queue behind a value. Throws MPIError{MPI_ERR_INFO_VALUE}; the reason is on stderr then.
[[nodiscard]] QueuePointer find_queue(QueueHandle queue);

}  // namespace plait::queue::opencl
