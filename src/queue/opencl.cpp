#include "queue/opencl.hpp"

#include <mpi.h>

#include <chrono>
#include <new>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "queue/engine.hpp"
#include "queue/find.hpp"

namespace plait::queue::opencl {
namespace {

/// How long a callback of OpenCL's makes rounds of a step that holds its queue up: about as long as it takes to wake another thread.
constexpr std::chrono::microseconds kInCallback{50};
/// Rounds between two looks at the clock.
constexpr int kRounds = 20;

/// All that there are. OpenCL's callbacks begin steps or wake the engine, but PoCL 3.1 calls none where a command has failed: so the engine
/// looks now and then, too.
class Queues final : public engine::Polled {
 public:
  static Queues& get() {
    static auto& all = *new Queues;  // never destroyed: the engine's thread and OpenCL's may outlive static objects
    return all;
  }

  /// One for each handle: requests are of the queue on which they were made, by whichever stream.
  std::shared_ptr<OpenClQueue> find(QueueHandle handle, ContextHandle context, DeviceHandle device) {
    const std::lock_guard making(making_);
    if (auto its = known(handle)) return its;
    if (!looked_at_) engine::add(*this);
    looked_at_ = true;
    engine::start();
    auto made = std::make_shared<OpenClQueue>(handle, context, device);
    const std::lock_guard guard(lock_);
    queues_[handle] = {made, made.get()};
    return made;
  }
  void forget(const OpenClQueue& queue) noexcept {
    const std::lock_guard guard(lock_);
    std::erase_if(queues_, [&](const auto& entry) { return entry.second.queue == &queue; });
  }

  /// A step more, that a queue has not come to; or less.
  void count(int more) noexcept { waiting_.fetch_add(more, std::memory_order_acq_rel); }

  /// One of the queue's markers is over.
  void call(QueueHandle handle) noexcept {
    OpenClQueue* queue = nullptr;
    {
      const std::lock_guard guard(lock_);
      const auto found = queues_.find(handle);
      if (found == queues_.end()) return;
      queue = found->second.queue;
      queue->count_callbacks(1);
    }
    queue->try_look(true);
    queue->count_callbacks(-1);
  }

  [[nodiscard]] bool awaited() const noexcept override { return waiting_.load(std::memory_order_acquire) > 0; }
  [[nodiscard]] bool wakes() const noexcept override { return true; }
  bool look() noexcept override {
    bool moved = false;
    for_each([&](OpenClQueue& queue) { moved |= queue.look(); });
    return moved;
  }
  void stop() noexcept override {
    for_each([](OpenClQueue& queue) { queue.give_up(); });
  }

 private:
  std::shared_ptr<OpenClQueue> known(QueueHandle handle) const {
    const std::lock_guard guard(lock_);
    const auto found = queues_.find(handle);
    return found == queues_.end() ? nullptr : found->second.owner.lock();
  }

  /// Of those with steps that they have not come to. Held meanwhile, and without the lock: what is run may let go of one.
  template <class Body>
  void for_each(Body body) noexcept {
    {
      const std::lock_guard guard(lock_);
      for (const auto& [handle, entry] : queues_) {
        // Also one that waits for nothing: it may be the last that holds it, and must not end it with the lock.
        if (auto queue = entry.owner.lock()) living_.push_back(std::move(queue));
      }
    }
    for (const auto& queue : living_) {
      if (queue->awaited()) body(*queue);
    }
    living_.clear();
  }

  struct Entry {
    std::weak_ptr<OpenClQueue> owner;
    OpenClQueue* queue;  ///< for callbacks, which must not be the last to hold it: OpenCL may not destroy a queue in one
  };

  std::mutex making_;
  mutable std::mutex lock_;
  std::unordered_map<QueueHandle, Entry> queues_;
  bool looked_at_ = false;
  std::atomic<int> waiting_{0};
  std::vector<std::shared_ptr<OpenClQueue>> living_;  ///< the engine's thread's
};

void check_call(Status status) { require(status == kSuccess, MPI_ERR_OTHER); }

void call_back(EventHandle, Status, void* queue) { Queues::get().call(static_cast<QueueHandle>(queue)); }

Status status_of(EventHandle event) noexcept {
  Status status = kNotDone;
  return ask(api().clGetEventInfo, event, kExecutionStatus, status) ? status : kFailed;
}

/// What waits for an event of plait's goes on. Its barrier is held until then: PoCL 3.1 still tells one that has failed before.
void finish(EventHandle event, EventHandle barrier, Status status) noexcept {
  api().clSetUserEventStatus(event, status);
  api().clReleaseEvent(event);
  if (barrier) api().clReleaseEvent(barrier);
}

}  // namespace

OpenClQueue::OpenClQueue(QueueHandle queue, ContextHandle context, DeviceHandle device)
    : queue_(queue), context_(context), device_(context, device) {
  check_call(api().clRetainCommandQueue(queue));
}

OpenClQueue::~OpenClQueue() {
  Queues::get().forget(*this);
  // A callback that has found it runs at most some steps.
  while (callbacks_.load(std::memory_order_acquire) > 0) std::this_thread::yield();
  api().clReleaseCommandQueue(queue_);
}

void OpenClQueue::put(StepPointer step) {
  const std::lock_guard order(order_);
  Item item{.step = std::move(step)};
  check_call(api().clEnqueueMarkerWithWaitList(queue_, 0, nullptr, &item.reached));
  // Where OpenCL calls nobody, the engine is later.
  static_cast<void>(api().clSetEventCallback(item.reached, kComplete, call_back, queue_));
  try {
    if (item.step->holds_up()) hold_up(item);
    insert(item);
  } catch (...) {
    if (item.over) finish(item.over, item.barrier, kComplete);
    api().clReleaseEvent(item.reached);
    throw;
  }
  // Or nothing ever runs.
  api().clFlush(queue_);
  // The callback may have come before the step was there.
  try_look(false);
}

void OpenClQueue::hold_up(Item& item) {
  Status status = kSuccess;
  item.over = api().clCreateUserEvent(context_, &status);
  check_call(status);
  check_call(api().clEnqueueBarrierWithWaitList(queue_, 1, &item.over, &item.barrier));
}

void OpenClQueue::insert(const Item& item) {
  const std::lock_guard guard(lock_);
  items_.push_back(item);
  items_.back().told = told_;
  // release: for those that look for it without the lock.
  waiting_.store(items_.size(), std::memory_order_release);
  count();
  Queues::get().count(1);
}

bool OpenClQueue::is_reached() noexcept {
  const std::lock_guard guard(lock_);
  return !items_.empty() && status_of(items_.front().reached) <= kComplete;
}

int OpenClQueue::take_error() {
  if (awaited()) {
    // The program may know already what the engine has not seen. Behind the first one that the queue has not come to, it knows nothing.
    const std::lock_guard guard(lock_);
    for (const Item& item : items_) {
      const Status status = status_of(item.reached);
      if (status > kComplete) break;
      if (status < kComplete) note_failure(item.told);
    }
  }
  // relaxed: a load first, as there is none nearly always; who takes it needs nothing else of who set it.
  if (error_.load(std::memory_order_relaxed) == MPI_SUCCESS) return MPI_SUCCESS;
  const std::lock_guard guard(lock_);
  ++told_;
  return error_.exchange(MPI_SUCCESS, std::memory_order_relaxed);
}

void OpenClQueue::note_failure(int told) noexcept {
  if (told <= failed_) return;
  failed_ = told;
  error_.store(MPI_ERR_OTHER, std::memory_order_relaxed);
}

bool OpenClQueue::take(bool light, Item& item, Status& status) {
  const std::lock_guard guard(lock_);
  if (items_.empty() || (light && !items_.front().step->light())) return false;
  status = status_of(items_.front().reached);
  if (status > kComplete) return false;
  item = std::move(items_.front());
  items_.pop_front();
  waiting_.store(items_.size(), std::memory_order_relaxed);
  if (status < kComplete) note_failure(item.told);
  if (item.told <= failed_ && status == kComplete) status = kFailed;
  return true;
}

bool OpenClQueue::look() noexcept {
  const std::lock_guard guard(looking_);
  return look(false, false);
}

void OpenClQueue::try_look(bool called_back) noexcept {
  {
    const std::unique_lock guard(looking_, std::try_to_lock);
    if (guard) look(true, called_back);
  }
  if (is_reached()) engine::wake();
}

bool OpenClQueue::look(bool light, bool called_back) noexcept {
  bool moved = false;
  Item item;
  for (Status status = kComplete; take(light, item, status); moved = true) {
    Queues::get().count(-1);
    // Only a wait, which is over at once, makes visible here what ran before. In a callback it is, and a wait is not allowed.
    if (status == kComplete && !called_back) api().clWaitForEvents(1, &item.reached);
    api().clReleaseEvent(item.reached);
    if (status == kComplete) {
      run(item, called_back);
    } else {
      item.step->give_up(MPI_ERR_OTHER);
      settle(std::move(item.step), item.over, item.barrier, status);
    }
  }
  return moved;
}

void OpenClQueue::run(Item& item, bool called_back) noexcept {
  Step& step = *item.step;
  step.begin();
  bool over = step.advance();
  if (called_back && step.holds_up() && !over) {
    // The device's thread has nothing else to do for this queue, and to wake the engine takes it longer than a message that is on its way.
    const auto until = std::chrono::steady_clock::now() + kInCallback;
    while (!over && std::chrono::steady_clock::now() < until) {
      for (int round = 0; round < kRounds && !over; ++round) over = step.advance();
    }
  }
  if (!over) {
    try {
      // Nothing of it is held here: when it is over, it is let go of before the program can know.
      engine::watch(std::move(item.step), [self = shared_from_this(), held = item.over, barrier = item.barrier](StepPointer ended) {
        // Given up, as the MPI ends: what is behind it has no data.
        const bool left = engine::is_stopping() && ended->error() == MPI_ERR_OTHER;
        self->settle(std::move(ended), held, barrier, left ? kFailed : kComplete);
      });
      return;
    } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch): waited for here
    }
    engine::wait_here(*item.step);
  }
  settle(std::move(item.step), item.over, item.barrier, kComplete);
}

void OpenClQueue::settle(StepPointer step, EventHandle over, EventHandle barrier, Status status) noexcept {
  // Before the queue goes on: a program that waits for it has to find the error then.
  if (status == kComplete && error_to_tell(*step) != MPI_SUCCESS) error_.store(step->error(), std::memory_order_relaxed);
  if (over) finish(over, barrier, status);
  end(std::move(step));
}

void OpenClQueue::give_up() noexcept {
  for (;;) {
    Item item;
    {
      const std::lock_guard guard(lock_);
      if (items_.empty()) return;
      item = std::move(items_.front());
      items_.pop_front();
      waiting_.store(items_.size(), std::memory_order_relaxed);
    }
    Queues::get().count(-1);
    api().clReleaseEvent(item.reached);
    engine::leave(*item.step);
    settle(std::move(item.step), item.over, item.barrier, kFailed);
  }
}

QueuePointer find_queue(QueueHandle queue) {
  std::string why;
  if (!load(why)) refuse(why);
  ContextHandle context = nullptr;
  DeviceHandle device = nullptr;
  if (!is_object(queue) || !ask(api().clGetCommandQueueInfo, queue, kQueueContext, context) ||
      !ask(api().clGetCommandQueueInfo, queue, kQueueDevice, device) || !is_object(device) || !is_context_of(context, device)) {
    refuse("the info's \"value\" is no cl_command_queue, or one that is released");
  }
  try {
    return Queues::get().find(queue, context, device);
  } catch (const MPIError&) {
    refuse("OpenCL gives plait no command queue of its own in the context of the info's \"value\"");
  }
}

}  // namespace plait::queue::opencl
