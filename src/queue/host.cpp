#include "queue/host.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/error.hpp"
#include "base/no_signals.hpp"
#include "base/relax.hpp"
#include "progress/cores.hpp"
#include "queue/engine.hpp"

namespace plait::queue {
namespace {

/// How often a thread looks for the next item before it sleeps, where there is a core for it.
constexpr int kSpins = 2000;
/// Steps that the thread looks after itself.
constexpr std::size_t kBegun = 32;
/// Between two looks whether a queue is at a step, where the MPI ends.
constexpr std::chrono::microseconds kNap{50};

/// The queue whose function this thread runs.
thread_local const HostQueue* running_here = nullptr;

/// Those that steps have been put on.
class HostQueues final : public engine::Polled {
 public:
  static HostQueues& get() {
    static auto& all = *new HostQueues;  // never destroyed: threads of queues may outlive static objects
    return all;
  }
  void enter(std::weak_ptr<HostQueue> queue) {
    const std::lock_guard guard(lock_);
    std::erase_if(queues_, [](const auto& q) { return q.expired(); });
    queues_.push_back(std::move(queue));
    if (!std::exchange(added_, true)) engine::add(*this);
  }
  [[nodiscard]] bool awaited() const noexcept override { return false; }
  bool look() noexcept override { return false; }
  void stop() noexcept override {
    const std::lock_guard guard(lock_);
    for (const auto& q : queues_) {
      if (const auto queue = q.lock()) queue->leave_steps();
    }
  }

 private:
  std::mutex lock_;  // over what follows
  std::vector<std::weak_ptr<HostQueue>> queues_;
  bool added_ = false;
};

}  // namespace

void Occurrence::occur(bool failed) noexcept {
  std::vector<std::function<void(bool)>> then;
  {
    const std::lock_guard guard(lock_);
    // release: what ran before it.
    state_.store(failed ? State::failed : State::reached, std::memory_order_release);
    then.swap(then_);
  }
  event_.notify();
  for (const auto& f : then) f(failed);
}

bool Occurrence::call(std::function<void(bool)> then) {
  const std::lock_guard guard(lock_);
  if (state_.load(std::memory_order_relaxed) != State::to_come) return false;
  then_.push_back(std::move(then));
  return true;
}

void Occurrence::wait() noexcept {
  while (!has_occurred()) {
    const EventCount::Key key = event_.prepare();
    if (has_occurred()) {
      event_.cancel(key);
    } else {
      event_.wait(key, std::chrono::seconds(10));
    }
  }
}

bool Occurrence::waits_for_caller() const noexcept { return running_here && running_here == queue_ && !has_occurred(); }

HostQueue::~HostQueue() {
  // The last reference may be given up by the queue's own thread, as the step of a communicator that is freed.
  if (thread_.joinable()) thread_.detach();
}

void HostQueue::start() {
  event_count_begin();
  const NoSignals blocked;  // as the thread inherits it
  thread_ = std::thread([this] { run_thread(); });
}

void HostQueue::close() noexcept {
  auto last = std::make_shared<Occurrence>();
  bool ask = false;
  {
    const std::lock_guard guard(lock_);
    if (std::exchange(closed_, true)) return;
    ask = insert({.kind = Item::Kind::record, .occurrence = last});
  }
  filled_.notify();
  if (ask) ask_executor();
  last->wait();
  if (thread_.joinable()) thread_.join();
}

bool HostQueue::insert(Item item) {
  items_.push_back(std::move(item));
  // release: for the thread that looks for it without the lock.
  waiting_.store(items_.size(), std::memory_order_release);
  return executor_ && !std::exchange(running_, true);
}

void HostQueue::push(Item item) {
  bool ask = false;
  {
    const std::lock_guard guard(lock_);
    require(!closed_, MPI_ERR_ARG);
    ask = insert(std::move(item));
  }
  filled_.notify();
  if (ask) ask_executor();
}

void HostQueue::put(StepPointer step) {
  // relaxed: steps that two threads put there at once are both there before the MPI is finalized.
  if (!known_.load(std::memory_order_relaxed) && !known_.exchange(true, std::memory_order_relaxed))
    HostQueues::get().enter(weak_from_this());
  count();
  try {
    push({.kind = Item::Kind::step, .step = std::move(step)});
  } catch (...) {
    uncount();
    throw;
  }
}
void HostQueue::put(plait_queue_function* function, void* argument) {
  push({.kind = Item::Kind::function, .function = function, .argument = argument});
}
void HostQueue::record(std::shared_ptr<Occurrence> occurrence) {
  occurrence->set_queue(*this);
  push({.kind = Item::Kind::record, .occurrence = std::move(occurrence)});
}
void HostQueue::wait_for(std::shared_ptr<Occurrence> occurrence) { push({.kind = Item::Kind::wait, .occurrence = std::move(occurrence)}); }

int HostQueue::take_error() {
  // relaxed: a load first, as there is none nearly always; who takes it needs nothing else of who set it.
  if (error_.load(std::memory_order_relaxed) == MPI_SUCCESS) return MPI_SUCCESS;
  const int error = error_.exchange(MPI_SUCCESS, std::memory_order_relaxed);
  // What was put there before the program knew does not run; what comes from here on does.
  if (error != MPI_SUCCESS) push({.kind = Item::Kind::recover});
  return error;
}

bool HostQueue::take(Item& item) {
  const std::lock_guard guard(lock_);
  if (items_.empty()) {
    running_ = false;
    if (executor_) at_steps_.store(false, std::memory_order_release);
    return false;
  }
  // With the lock: leave_steps() sees it, or whoever takes an item later sees that the engine stops.
  at_steps_.store(true, std::memory_order_relaxed);
  item = std::move(items_.front());
  items_.pop_front();
  waiting_.store(items_.size(), std::memory_order_relaxed);
  return true;
}

void HostQueue::run_thread() noexcept {
  for (;;) {
    Item item;
    if (take(item)) {
      static_cast<void>(run(item));
      continue;
    }
    for (int spins = progress::oversubscribed() ? kSpins : 0; spins < kSpins && !is_filled(); ++spins) relax();
    if (is_filled()) continue;
    leave_to_engine();
    at_steps_.store(false, std::memory_order_release);
    {
      const std::lock_guard guard(lock_);
      if (items_.empty() && closed_) return;
    }
    const EventCount::Key key = filled_.prepare();
    if (is_filled()) {
      filled_.cancel(key);
    } else {
      filled_.wait(key, std::chrono::seconds(10));
    }
  }
}

void HostQueue::ask_executor() {
  // The queue lives until this has run.
  auto* const self = new std::shared_ptr<HostQueue>(shared_from_this());
  executor_(
      [](void* argument) {
        const std::unique_ptr<std::shared_ptr<HostQueue>> queue(static_cast<std::shared_ptr<HostQueue>*>(argument));
        (*queue)->run_executor();
      },
      self, extra_);
}

void HostQueue::run_executor() noexcept {
  for (;;) {
    // Before `take` says that nothing runs the queue: then another thread may.
    if (!is_filled()) leave_to_engine();
    Item item;
    if (!take(item) || !run(item)) return;
  }
}

bool HostQueue::runs_here() const noexcept { return running_here == this; }

bool HostQueue::waits_for_caller() const noexcept {
  if (!runs_here()) return false;
  const std::lock_guard guard(lock_);
  return std::ranges::any_of(items_, [](const Item& item) { return item.kind == Item::Kind::step; });
}

bool HostQueue::run(Item& item) noexcept {
  switch (item.kind) {
    case Item::Kind::function:
      if (skipping_.load(std::memory_order_relaxed)) return true;
      leave_to_engine();
      at_steps_.store(false, std::memory_order_release);
      {
        // An executor may run one queue's function inside of another's.
        const HostQueue* const around = std::exchange(running_here, this);
        if (item.function(item.argument) != 0) fail(MPI_ERR_OTHER);
        running_here = around;
      }
      return true;
    case Item::Kind::step:
      return run(std::move(item.step), item.left);
    case Item::Kind::record:
      item.occurrence->occur(skipping_.load(std::memory_order_relaxed));
      return true;
    case Item::Kind::wait:
      return skipping_.load(std::memory_order_relaxed) || wait_for_occurrence(*item.occurrence);
    case Item::Kind::recover:
      skipping_.store(false, std::memory_order_relaxed);
      return true;
  }
  return true;
}

bool HostQueue::run(StepPointer step, bool left) noexcept {
  const auto over = [&] {
    settle(std::move(step));
    return true;
  };
  if (engine::is_stopping()) {
    if (!left) engine::note_left(step->call());
    fail(MPI_ERR_OTHER);
  }
  if (skipping_.load(std::memory_order_relaxed)) {
    step->give_up(MPI_ERR_OTHER);
    return over();
  }
  step->begin();
  if (step->advance()) return over();
  if (step->holds_up() && !executor_) {
    if (!engine::wait_here(*step)) fail(MPI_ERR_OTHER);
    return over();
  }
  try {
    if (step->holds_up()) {
      leave_to_engine();
      watch(step, true);
      return false;
    }
    // Most often the next item is the wait for it.
    begun_.push_back(step);
    if (begun_.size() > kBegun) settle_begun();
    return true;
  } catch (const std::exception&) {  // no memory, or no thread: then here
    engine::wait_here(*step);
    return over();
  }
}

void HostQueue::watch(StepPointer step, bool resume) {
  engine::start();
  engine::watch(std::move(step), [self = shared_from_this(), resume](StepPointer ended) {
    // What is behind it has not begun, and has no data where it was given up.
    if (resume && engine::is_stopping() && ended->error() == MPI_ERR_OTHER) self->fail(MPI_ERR_OTHER);
    self->settle(std::move(ended));
    if (!resume) return;
    self->at_steps_.store(false, std::memory_order_release);
    self->ask_executor();
  });
}

void HostQueue::settle_begun() noexcept {
  for (StepPointer& step : begun_) {
    if (step->advance()) settle(std::move(step));
  }
  std::erase(begun_, nullptr);
}

void HostQueue::leave_to_engine() noexcept {
  if (begun_.empty()) return;
  settle_begun();
  for (StepPointer& step : begun_) {
    try {
      watch(step, false);
    } catch (const std::exception&) {
      engine::wait_here(*step);
      settle(std::move(step));
    }
  }
  begun_.clear();
}

bool HostQueue::wait_for_occurrence(Occurrence& occurrence) noexcept {
  leave_to_engine();
  at_steps_.store(false, std::memory_order_release);
  try {
    const auto go_on = [self = shared_from_this()](bool failed) {
      if (failed) self->fail(MPI_ERR_OTHER);
      self->ask_executor();
    };
    if (executor_ && occurrence.call(go_on)) return false;
  } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch): waited for here
  }
  occurrence.wait();
  // What is behind the event may need what has not been made.
  if (occurrence.has_failed()) fail(MPI_ERR_OTHER);
  return true;
}

void HostQueue::settle(StepPointer step) noexcept {
  // relaxed: it is another thread's where the engine settles a step that does not hold up the queue, and then only says who comes first.
  if (!skipping_.load(std::memory_order_relaxed) && error_to_tell(*step) != MPI_SUCCESS)
    error_.store(step->error(), std::memory_order_relaxed);
  end(std::move(step));
}

void HostQueue::fail(int error) noexcept {
  skipping_.store(true, std::memory_order_relaxed);
  error_.store(error, std::memory_order_relaxed);
}

void HostQueue::leave_steps() noexcept {
  {
    const std::lock_guard guard(lock_);
    for (Item& item : items_) {
      if (item.kind != Item::Kind::step || std::exchange(item.left, true)) continue;
      engine::note_left(item.step->call());
    }
  }
  // acquire: what its last step has done. A thread that waits for a message looks every 10 ms whether the engine stops.
  while (at_steps_.load(std::memory_order_acquire)) std::this_thread::sleep_for(kNap);
}

}  // namespace plait::queue
