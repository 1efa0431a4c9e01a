#include "queue/gpu.hpp"

#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <iterator>
#include <new>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "p2p/hang.hpp"
#include "progress/wait.hpp"
#include "queue/engine.hpp"
#include "queue/gpu_per_thread.hpp"

namespace plait::queue {
namespace {

/// All queues of GPUs, which the engine looks at.
class All final : public engine::Polled {
 public:
  static All& get() {
    static All& all = *new All;  // never destroyed: the engine may look at it until the process ends
    return all;
  }

  void enter(const std::shared_ptr<GpuQueue>& queue) {
    const std::lock_guard guard(lock_);
    std::erase_if(queues_, [](const std::weak_ptr<GpuQueue>& q) { return q.expired(); });
    queues_.push_back(queue);
    if (!std::exchange(known_, true)) engine::add(*this);
  }
  void count(int more) noexcept { awaited_.fetch_add(more, std::memory_order_release); }

  bool awaited() const noexcept override { return awaited_.load(std::memory_order_acquire) > 0; }
  bool look() noexcept override {
    return for_each([](GpuQueue& q) { return q.look(); });
  }
  void stop() noexcept override {
    for_each([](GpuQueue& q) { return q.give_up(); });
  }

 private:
  /// Those that may come to a step. Held meanwhile, and without the lock: what is run may let go of one.
  template <class Body>
  bool for_each(Body body) noexcept {
    {
      const std::lock_guard guard(lock_);
      for (const std::weak_ptr<GpuQueue>& q : queues_) {
        if (std::shared_ptr<GpuQueue> held = q.lock(); held && held->is_awaited()) looked_at_.push_back(std::move(held));
      }
    }
    bool moved = false;
    for (const std::shared_ptr<GpuQueue>& q : looked_at_) moved |= body(*q);
    looked_at_.clear();
    return moved;
  }

  std::mutex lock_;  // over these two
  std::vector<std::weak_ptr<GpuQueue>> queues_;
  bool known_ = false;
  std::atomic<int> awaited_{0};
  std::vector<std::shared_ptr<GpuQueue>> looked_at_;  // the engine's thread's
};

/// Operations of the driver's that a stream has not come to. CUDA's streams take some 1000.
constexpr int kMostWaiting = 600;
/// Copies between two marks by which plait sees how far the stream has come: a datatype may need many more.
constexpr int kCopies = 100;
/// A mark, and what holds up the stream.
constexpr int kMark = 2;

/// Cyclic.
[[nodiscard]] bool has_come_to(std::uint32_t word, std::uint32_t value) noexcept { return static_cast<std::int32_t>(word - value) >= 0; }

}  // namespace

QueuePointer GpuQueue::make(Driver& driver, StreamHandle stream, std::string& why) {
  GpuContext context = nullptr;
  if (!driver.find_context(stream, context, why)) return nullptr;
  GpuDevice& device = GpuDevice::of(driver, context);
  if (is_per_thread(stream)) return std::make_shared<PerThreadQueue>(device, stream);
  return make(device, stream);
}

std::shared_ptr<GpuQueue> GpuQueue::make(GpuDevice& device, StreamHandle stream) {
  auto made = std::make_shared<GpuQueue>(device, stream);
  engine::start();
  All::get().enter(made);
  return made;
}

GpuQueue::GpuQueue(GpuDevice& device, StreamHandle stream)
    : device_(device), stream_(stream), words_(device.take_words(GpuDevice::Of::queue)) {
  // Where the words' last user has left off. What its stream waits for there is over.
  put_ = seen_ = words_.arrived->load(std::memory_order_relaxed);
  words_.released->store(put_, std::memory_order_release);
}

GpuQueue::~GpuQueue() {
  forget();
  if (!failed_) device_.give_words(GpuDevice::Of::queue, words_);
}

// ---- the program's side

void GpuQueue::await(int more) noexcept {
  awaited_.fetch_add(more, std::memory_order_release);
  All::get().count(more);
}

void GpuQueue::put(StepPointer step) {
  const std::lock_guard putting(putting_);
  if (device_.driver().is_capturing(device_.context(), stream_)) {
    put_in_graph(std::move(step));
    return;
  }
  wait_for_room(step->call());
  copied_by_ = step->call();
  step->put_before();
  put(++put_, step, false, step->holds_up());
  if (step->holds_up() && step->puts_behind()) {
    step->put_behind();
    put(++put_, std::move(step), true, false);
  }
  engine::wake();
}

void GpuQueue::put(std::uint32_t number, StepPointer step, bool passed, bool holds_up) {
  {
    const std::lock_guard guard(lock_);
    require(!failed_, MPI_ERR_OTHER);
    waiting_.push_back({number, std::move(step), passed, copies_ + kMark});  // before the stream can come to it
    operations_ += copies_ + kMark;
  }
  copies_ = 0;
  count();
  await(1);
  try {
    signal(number, holds_up);
  } catch (...) {
    if (take_back(number)) {
      await(-1);
      uncount();
    }
    throw;
  }
}

void GpuQueue::put_copy(void* to, const void* from, const Rows& rows, bool to_device) {
  // A graph is one operation, whatever is in it.
  if (copied_by_ && copies_ == kCopies) {
    put(++put_, nullptr, true, false);
    engine::wake();
    wait_for_room(copied_by_);
  }
  device_.driver().copy(device_.context(), stream_, to, from, rows, to_device);
  if (copied_by_) ++copies_;
}

/// A driver that has no room for more waits with its locks held, and calls of the engine's thread would wait for these.
void GpuQueue::wait_for_room(const char* call) {
  const auto has_room = [&] {
    const std::lock_guard guard(lock_);
    return operations_ < kMostWaiting || failed_;
  };
  if (has_room()) return;
  const std::function<std::string()> text = [&] { return "room on a stream that has " + std::to_string(kMostWaiting) + " operations"; };
  p2p::Hang hang(text);
  progress::wait_until(
      engine::where_steps_end(), progress::kForThreads, [] { return false; }, has_room, [&] { hang.check({call, nullptr}); });
}

bool GpuQueue::take_back(std::uint32_t number) noexcept {
  const std::lock_guard guard(lock_);
  if (waiting_.empty() || waiting_.back().number != number) return false;
  operations_ -= waiting_.back().operations;
  waiting_.pop_back();
  return true;
}

void GpuQueue::signal(std::uint32_t number, bool holds_up) {
  Driver& driver = device_.driver();
  if (device_.has_memory_operations()) {
    driver.write(device_.context(), stream_, words_.arrived, number);
    if (holds_up) driver.wait(device_.context(), stream_, words_.released, number);
    return;
  }
  call(
      [](void* argument) {
        const std::unique_ptr<Called> called(static_cast<Called*>(argument));
        called->queue->words_.arrived->store(called->number, std::memory_order_release);
        engine::wake();
      },
      number);
  if (!holds_up) return;
  call(
      [](void* argument) {
        const std::unique_ptr<Called> called(static_cast<Called*>(argument));
        called->queue->wait_here(*called->queue->words_.released, called->number);
      },
      number);
}

void GpuQueue::call(void (*function)(void*), std::uint32_t number) {
  auto called = std::make_unique<Called>(Called{shared_from_this(), number});
  device_.driver().call(device_.context(), stream_, function, called.get());
  static_cast<void>(called.release());  // NOLINT(bugprone-unused-return-value): the function's
}

void GpuQueue::wait_here(const Word& word, std::uint32_t value) noexcept {
  while (!has_come_to(word.load(std::memory_order_acquire), value)) {
    const EventCount::Key key = released_.prepare();
    if (has_come_to(word.load(std::memory_order_acquire), value)) {
      released_.cancel(key);
    } else {
      released_.wait(key, std::chrono::seconds(10));
    }
  }
}

void GpuQueue::put_in_graph(StepPointer step) {
  auto gone = std::make_shared<std::atomic<bool>>(false);
  auto made = std::make_unique<Repeated>(Repeated{this, std::move(step), device_.take_words(GpuDevice::Of::graph), std::move(gone)});
  Repeated& repeated = *made;
  {
    const std::lock_guard guard(lock_);
    require(!failed_, MPI_ERR_OTHER);
    repeated_.push_back(std::move(made));
  }
  await(1);
  tell_when_gone(repeated);
  copied_by_ = nullptr;
  repeated.step->put_before();
  signal_in_graph(repeated);
  if (repeated.step->holds_up()) repeated.step->put_behind();
  engine::wake();
}

/// Where the driver cannot tell, what the graph needs stays until `forget`.
void GpuQueue::tell_when_gone(const Repeated& repeated) noexcept {
  using Gone = std::shared_ptr<std::atomic<bool>>;
  auto* const gone = new (std::nothrow) Gone(repeated.gone);
  if (!gone) return;
  const auto tell = [](void* argument) {
    const std::unique_ptr<Gone> its(static_cast<Gone*>(argument));
    // release: what the graph's last launch has done with the words.
    (*its)->store(true, std::memory_order_release);
    engine::wake();
  };
  if (!device_.driver().call_behind_graph(device_.context(), stream_, tell, gone)) delete gone;
}

void GpuQueue::signal_in_graph(Repeated& repeated) {
  Driver& driver = device_.driver();
  const GpuContext context = device_.context();
  if (device_.can_capture_memory_operations()) {
    driver.write(context, stream_, repeated.words.arrived, 1);
    if (!repeated.step->holds_up()) return;
    driver.wait(context, stream_, repeated.words.released, 1);
    driver.write(context, stream_, repeated.words.released, 0);
    return;
  }
  driver.call(
      context, stream_,
      [](void* argument) {
        static_cast<Repeated*>(argument)->words.arrived->store(1, std::memory_order_release);
        engine::wake();
      },
      &repeated);
  if (!repeated.step->holds_up()) return;
  driver.call(
      context, stream_,
      [](void* argument) {
        auto& r = *static_cast<Repeated*>(argument);
        r.queue->wait_here(*r.words.released, 1);
        r.words.released->store(0, std::memory_order_relaxed);
      },
      &repeated);
}

bool GpuQueue::idle() noexcept {
  try {
    return outstanding() == 0 && !device_.driver().is_capturing(device_.context(), stream_) &&
           device_.driver().query(device_.context(), stream_) == Answer::done;
  } catch (const MPIError&) {
    return false;
  }
}

int GpuQueue::take_error() {
  // relaxed: a load first, as there is none nearly always; who takes it needs nothing else of who set it.
  if (error_.load(std::memory_order_relaxed) == MPI_SUCCESS) return MPI_SUCCESS;
  return error_.exchange(MPI_SUCCESS, std::memory_order_relaxed);
}

bool GpuQueue::is_unused() noexcept {
  const std::lock_guard guard(lock_);
  return outstanding() == 0 && repeated_.empty() && error_.load(std::memory_order_relaxed) == MPI_SUCCESS;
}

void GpuQueue::forget() noexcept {
  std::vector<std::unique_ptr<Repeated>> gone;
  {
    const std::lock_guard guard(lock_);
    // relaxed: the program says that nothing is launched any more. What has begun is let go of by the engine.
    for (const std::unique_ptr<Repeated>& r : repeated_) r->gone->store(true, std::memory_order_relaxed);
    gone = take_gone();
  }
  let_go(gone);
}

std::vector<std::unique_ptr<GpuQueue::Repeated>> GpuQueue::take_gone() noexcept {
  const auto stays = [&](const std::unique_ptr<Repeated>& r) {
    // acquire: what the graph has done with the words.
    return r->active || !r->gone->load(std::memory_order_acquire);
  };
  const auto first = std::stable_partition(repeated_.begin(), repeated_.end(), stays);
  std::vector<std::unique_ptr<Repeated>> gone(std::make_move_iterator(first), std::make_move_iterator(repeated_.end()));
  repeated_.erase(first, repeated_.end());
  return gone;
}

void GpuQueue::let_go(const std::vector<std::unique_ptr<Repeated>>& gone) noexcept {
  if (gone.empty()) return;
  await(-static_cast<int>(gone.size()));
  for (const std::unique_ptr<Repeated>& r : gone) device_.give_words(GpuDevice::Of::graph, r->words);
}

// ---- the engine's side

bool GpuQueue::look() noexcept {
  bool moved = false;
  if (const std::uint32_t arrived = words_.arrived->load(std::memory_order_acquire); arrived != seen_) {
    seen_ = arrived;
    moved = begin_arrived(arrived);
  }
  moved |= begin_repeated();
  if (!moved && device_.has_failed()) moved = give_up();
  return moved;
}

bool GpuQueue::begin_arrived(std::uint32_t arrived) noexcept {
  bool moved = false;
  for (;;) {
    Waiting next;
    {
      const std::lock_guard guard(lock_);
      if (waiting_.empty() || !has_come_to(arrived, waiting_.front().number)) return moved;
      next = std::move(waiting_.front());
      waiting_.pop_front();
      operations_ -= next.operations;
    }
    await(-1);
    if (next.passed) {
      next.step.reset();
      uncount();
    } else {
      run(std::move(next.step), nullptr, next.number);
    }
    moved = true;
  }
}

bool GpuQueue::begin_repeated() noexcept {
  std::vector<std::unique_ptr<Repeated>> gone;
  {
    const std::lock_guard guard(lock_);
    // From the last one to the first: what is before one that the stream has come to is then seen as well, and begins before it.
    for (auto at = repeated_.rbegin(); at != repeated_.rend(); ++at) {
      Repeated& r = **at;
      if (r.active || r.words.arrived->load(std::memory_order_acquire) == 0) continue;
      r.words.arrived->store(0, std::memory_order_relaxed);
      r.active = true;
      count();
      ready_.push_back(&r);
    }
    const auto is_gone = [&](const auto& r) { return !r->active && r->gone->load(std::memory_order_relaxed); };
    if (std::ranges::any_of(repeated_, is_gone)) gone = take_gone();
  }
  let_go(gone);
  if (ready_.empty()) return false;
  for (auto at = ready_.rbegin(); at != ready_.rend(); ++at) run((*at)->step, *at, 1);
  ready_.clear();
  return true;
}

bool GpuQueue::give_up() noexcept {
  std::deque<Waiting> left;
  {
    const std::lock_guard guard(lock_);
    failed_ = true;
    left.swap(waiting_);
    operations_ = 0;
  }
  if (left.empty()) return false;
  await(-static_cast<int>(left.size()));
  for (Waiting& w : left) {
    if (w.passed) {
      w.step.reset();
      uncount();
      continue;
    }
    if (engine::is_stopping()) engine::leave(*w.step);
    w.step->give_up(MPI_ERR_OTHER);
    settle(std::move(w.step), nullptr, w.number);
  }
  return true;
}

void GpuQueue::run(StepPointer step, Repeated* repeated, std::uint32_t number) noexcept {
  step->begin();
  if (!step->advance()) {
    try {
      engine::watch(std::move(step),
                    [self = shared_from_this(), repeated, number](StepPointer over) { self->settle(std::move(over), repeated, number); });
      return;
    } catch (const std::bad_alloc&) {
      engine::wait_here(*step);  // NOLINT(bugprone-use-after-move): it is left where it is
    }
  }
  settle(std::move(step), repeated, number);
}

void GpuQueue::settle(StepPointer step, Repeated* repeated, std::uint32_t number) noexcept {
  // Before the stream goes on: a program that waits for it has to find the error then.
  if (error_to_tell(*step) != MPI_SUCCESS) error_.store(step->error(), std::memory_order_relaxed);
  if (step->holds_up()) {
    // release: what the step has done, for what is on the stream after it.
    (repeated ? repeated->words : words_).released->store(number, std::memory_order_release);
    released_.notify();
  }
  if (repeated) {
    const std::lock_guard guard(lock_);
    repeated->active = false;  // from here on it may be gone
  }
  end(std::move(step));
}

}  // namespace plait::queue
