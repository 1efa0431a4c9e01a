#include "queue/engine.hpp"

#include <sys/prctl.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "base/no_signals.hpp"
#include "p2p/hang.hpp"
#include "progress/wait.hpp"
#include "transport/packets.hpp"

namespace plait::queue::engine {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

/// The engine polls for steps that have begun as long as two processes take to answer each other. Then it sleeps. The program's own threads
/// compute meanwhile.
constexpr progress::Patience kForSteps{200, 0, 300, 8, false};
/// Before a word is looked at again that a device writes: the core is offered, for as long as a short kernel and a message take, then it
/// sleeps for a part of the time that it has waited already. So the engine is late by at most this part, and looks only some hundred
/// times a second.
constexpr std::chrono::nanoseconds kAtOnce = 200us;
constexpr int kPart = 32;
constexpr std::chrono::nanoseconds kShortest = 20us;
constexpr std::chrono::nanoseconds kLongest = 5ms;
constexpr std::chrono::nanoseconds kUntilWoken = 10s;
/// Where something wakes the engine nearly always.
constexpr std::chrono::nanoseconds kNowAndThen = 20ms;

struct Watched {
  StepPointer step;
  std::function<void(StepPointer)> then;
};

[[nodiscard]] std::chrono::nanoseconds nap_after(std::chrono::nanoseconds waited) noexcept {
  return std::clamp(waited / kPart, kShortest, kLongest);
}

class Engine {
 public:
  EventCount ended;

  static Engine& get() {
    static Engine& engine = *new Engine;  // never destroyed: its thread may outlive static objects
    return engine;
  }

  void start() {
    const std::lock_guard guard(lock_);
    if (thread_.joinable() || is_ending()) return;
    event_count_begin();
    const NoSignals blocked;  // as the thread inherits it
    thread_ = std::thread([this] { run(); });
  }

  void stop() noexcept {
    ending_.store(true, std::memory_order_release);
    wake();
    if (thread_.joinable()) thread_.join();
    {
      const std::lock_guard guard(lock_);
      ended_ = true;
    }
    // What is left can move no more: the MPI ends.
    take_incoming();
    for (Watched& w : std::exchange(active_, {})) end(w);
    {
      const std::lock_guard guard(looking_);
      for (Polled* const p : polled_) p->stop();
    }
    if (const int left = left_.exchange(0, std::memory_order_relaxed); left > 0) {
      std::fprintf(stderr,
                   "plait: MPI_Finalize: %d operation%s on queues that had not ended, the first of %s, %s given up: synchronize each queue "
                   "before MPI_Finalize\n",
                   left, left == 1 ? "" : "s", first_left_.load(std::memory_order_relaxed), left == 1 ? "is" : "are");
    }
  }
  [[nodiscard]] bool is_ending() const noexcept { return ending_.load(std::memory_order_acquire); }

  void note_left(const char* call) noexcept {
    const char* none = nullptr;
    first_left_.compare_exchange_strong(none, call, std::memory_order_relaxed);
    left_.fetch_add(1, std::memory_order_relaxed);
  }
  bool leave(Step& step) noexcept {
    if (!step.give_up(MPI_ERR_OTHER)) return false;
    note_left(step.call());
    return true;
  }
  void keep(StepPointer step) noexcept {
    const std::lock_guard guard(lock_);
    try {
      kept_.push_back(std::move(step));
    } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch): let go of after all
    }
  }

  void watch(Watched& watched) {
    bool late = false;
    {
      const std::lock_guard guard(lock_);
      late = ended_;
      if (!late) {
        incoming_.push_back(std::move(watched));
        some_incoming_.store(true, std::memory_order_release);
      }
    }
    if (late) {
      end(watched);
    } else {
      wake();
    }
  }

  void add(Polled& polled) {
    const std::lock_guard guard(looking_);
    polled_.push_back(&polled);
  }
  void remove(Polled& polled) noexcept {
    const std::lock_guard guard(looking_);
    std::erase(polled_, &polled);
  }

  void wake() noexcept {
    // As in EventCount: either the engine's last look before it sleeps sees what the caller has done, or this load sees where it sleeps.
    // The fence is that of the notifier where the kernel has no barrier for others; the call is rare.
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (EventCount* const at = asleep_at_.load(std::memory_order_relaxed)) at->notify();
  }

 private:
  /// Where the engine waits for steps: where the messages of one of them come.
  class At final : public progress::Waiter {
   public:
    explicit At(Engine& engine, progress::Waiter* waiter) noexcept : engine_(engine), waiter_(waiter), began_(Clock::now()) {}
    EventCount* event() noexcept override {
      EventCount* const its = waiter_ ? waiter_->event() : nullptr;
      EventCount* const at = its ? its : &engine_.wake_;
      // relaxed: ordered before the last look by what EventCount::prepare() does, which comes next.
      engine_.asleep_at_.store(at, std::memory_order_relaxed);
      return at;
    }
    void set_polled(bool here) noexcept override {
      if (waiter_) waiter_->set_polled(here);
    }
    [[nodiscard]] std::chrono::nanoseconds longest() const noexcept override {
      const bool told = waiter_ && waiter_->event() && engine_.active_.size() == 1 && !engine_.any_awaited();
      return told ? std::chrono::nanoseconds(10ms) : nap_after(Clock::now() - began_);
    }

   private:
    Engine& engine_;
    progress::Waiter* waiter_;
    Clock::time_point began_;
  };
  friend class At;

  void run() {
    prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);  // its naps are shorter than what the kernel adds to each
    while (!is_ending()) {
      if (round()) continue;
      if (!active_.empty()) {
        wait_for_steps();
      } else {
        wait_for_queues();
      }
    }
  }

  bool round() noexcept {
    bool moved = take_incoming();
    {
      const std::lock_guard guard(looking_);
      for (Polled* const p : polled_) moved |= p->awaited() && p->look();
    }
    for (std::size_t i = 0; i < active_.size();) {
      if (!active_[i].step->advance()) {
        ++i;
        continue;
      }
      Watched over = std::move(active_[i]);
      active_.erase(active_.begin() + static_cast<std::ptrdiff_t>(i));
      end(over);
      moved = true;
    }
    return moved;
  }

  void end(Watched& w) noexcept {
    leave(*w.step);  // nothing to do where it is over
    w.then(std::move(w.step));
    ended.notify();
  }

  bool take_incoming() noexcept {
    if (!some_incoming_.load(std::memory_order_acquire)) return false;
    const std::lock_guard guard(lock_);
    active_.insert(active_.end(), std::make_move_iterator(incoming_.begin()), std::make_move_iterator(incoming_.end()));
    incoming_.clear();
    some_incoming_.store(false, std::memory_order_relaxed);
    return true;
  }

  [[nodiscard]] bool any_awaited() const noexcept {
    const std::lock_guard guard(looking_);
    return std::ranges::any_of(polled_, [](const Polled* p) { return !p->wakes() && p->awaited(); });
  }
  /// How long it may sleep while nothing is awaited that has to be polled.
  [[nodiscard]] std::chrono::nanoseconds until_woken() const noexcept {
    const std::lock_guard guard(looking_);
    return std::ranges::any_of(polled_, &Polled::wakes) ? kNowAndThen : kUntilWoken;
  }

  /// Until something moves.
  void wait_for_steps() noexcept {
    progress::Waiter* its = nullptr;  // it stays when its step is gone
    for (std::size_t i = 0; i < active_.size() && !its; ++i) its = active_[i].step->waiter();
    At waiter(*this, its);
    const std::function<std::string()> text = [&] { return active_.front().step->waits_for(); };
    p2p::Hang hang(text);
    bool moved = false;
    progress::Wait wait(waiter, kForSteps);
    while (!moved && !is_ending()) {
      if (wait.is_long()) hang.check({active_.front().step->call(), nullptr});
      wait.pause([&] { return moved = round() || is_ending(); });
      moved = moved || round();
    }
    asleep_at_.store(&wake_, std::memory_order_relaxed);
  }

  /// Until something has come, from a queue or from `watch`.
  void wait_for_queues() noexcept {
    const Clock::time_point began = Clock::now();
    while (!is_ending()) {
      const bool awaited = any_awaited();
      if (awaited && Clock::now() - began < kAtOnce) {
        std::this_thread::yield();
        if (round()) return;
        continue;
      }
      const EventCount::Key key = wake_.prepare();
      if (round() || is_ending()) {
        wake_.cancel(key);
        return;
      }
      wake_.wait(key, awaited ? nap_after(Clock::now() - began) : until_woken());
      if (round()) return;
    }
  }

  EventCount wake_;
  std::atomic<EventCount*> asleep_at_{&wake_};
  std::mutex lock_;  // over what follows
  std::thread thread_;
  std::vector<Watched> incoming_;
  std::vector<StepPointer> kept_;
  bool ended_ = false;          ///< its thread has
  mutable std::mutex looking_;  // over this one
  std::vector<Polled*> polled_;
  std::vector<Watched> active_;  // the engine's thread's; once it has ended, that of the thread which ends it
  std::atomic<bool> some_incoming_{false}, ending_{false};
  std::atomic<int> left_{0};  ///< steps given up, as the MPI ends
  std::atomic<const char*> first_left_{nullptr};
};

}  // namespace

void start() { Engine::get().start(); }
void stop() noexcept { Engine::get().stop(); }
bool is_stopping() noexcept { return Engine::get().is_ending(); }
bool leave(Step& step) noexcept { return Engine::get().leave(step); }
void note_left(const char* call) noexcept { Engine::get().note_left(call); }
void keep(StepPointer step) noexcept { Engine::get().keep(std::move(step)); }
void watch(StepPointer&& step, std::function<void(StepPointer)> then) {
  Watched watched{std::move(step), std::move(then)};
  try {
    Engine::get().watch(watched);
  } catch (...) {
    step = std::move(watched.step);
    throw;
  }
}
void add(Polled& polled) { Engine::get().add(polled); }
void remove(Polled& polled) noexcept { Engine::get().remove(polled); }
void wake() noexcept { Engine::get().wake(); }
EventCount& ended() noexcept { return Engine::get().ended; }

progress::Waiter& where_steps_end() noexcept {
  class There final : public progress::Waiter {
   public:
    EventCount* event() noexcept override { return &ended(); }
  };
  static There there;
  return there;
}

bool wait_here(Step& step) noexcept {
  if (step.advance()) return true;
  progress::Nowhere nowhere;
  progress::Waiter* const its = step.waiter();
  const std::function<std::string()> text = [&] { return step.waits_for(); };
  p2p::Hang hang(text);
  progress::wait_until(
      its ? *its : nowhere, progress::kForMessage, [&] { return step.advance(); }, [&] { return step.over() || is_stopping(); },
      [&] { hang.check({step.call(), nullptr}); });
  return !leave(step);
}

}  // namespace plait::queue::engine
