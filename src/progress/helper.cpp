#include "progress/helper.hpp"

#include <sched.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <vector>

#include "base/event_count.hpp"
#include "base/no_signals.hpp"

namespace plait::progress {
namespace {

using namespace std::chrono_literals;

/// Rounds without success before it naps between two; and how long, with something pending and without.
constexpr int kYields = 200;
constexpr auto kShort = 20us;
constexpr auto kLong = 1ms;
/// Where something is pending and does not move, naps grow up to this; and where nothing has been pending for so many naps.
constexpr auto kStuck = 200us;
constexpr auto kLongest = 10ms;
constexpr int kGrow = 100;
constexpr int kMostIdle = 1'000'000;
/// Calls that block come one after the other: it stays awake for so many naps, so that engaging it makes no system call. Each nap's end
/// costs about as much as that call, and it takes the core from whoever computes there: with 100, a ping-pong took 4 % longer.
constexpr int kLinger = 2;

constinit std::atomic<bool> threads_expected{false};  // a hint: relaxed
constinit std::atomic<bool> used{false};
constinit std::atomic<int> threads_met{0};

class Helper {
 public:
  static Helper& get() {
    static Helper& helper = *new Helper;  // never destroyed: its thread may outlive static objects
    return helper;
  }

  bool engage() noexcept {
    // seq_cst: before the look at the sources, as the first source is there before help_blocked() looks here: one of the two sees the
    // other. `notify` orders it before the look of a helper that sleeps.
    engaged_here().fetch_add(1, std::memory_order_seq_cst);
    if (running_.load(std::memory_order_acquire)) [[likely]] {
      wake_.notify();
      return true;
    }
    if (sources.load(std::memory_order_seq_cst) == 0 || ensure()) return true;
    release();
    return false;
  }
  void release() noexcept { engaged_here().fetch_sub(1, std::memory_order_relaxed); }
  /// The first source is there.
  void help_blocked() noexcept {
    if (engaged() && ensure()) wake_.notify();
  }

  bool start(int key, bool (*made)(int)) noexcept try {
    {
      const std::lock_guard guard(lock_);
      if (std::ranges::find(watches_, key, &Watch::key) == watches_.end()) watches_.push_back({key, made});
      watching_.store(true, std::memory_order_relaxed);
    }
    if (!ensure()) return false;
    wake_.notify();
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
  bool stop(int key) noexcept {
    // Rounds are made under this lock.
    const std::lock_guard guard(lock_);
    const auto at = std::ranges::find(watches_, key, &Watch::key);
    if (at == watches_.end()) return false;
    watches_.erase(at);
    watching_.store(!watches_.empty(), std::memory_order_relaxed);
    return true;
  }
  void end() noexcept {
    ending_.store(true, std::memory_order_relaxed);
    wake_.notify();
    if (thread_.joinable()) thread_.join();
    running_.store(false, std::memory_order_relaxed);
  }

 private:
  struct Watch {
    int key;
    bool (*round)(int);
  };

  /// Counts of those that have engaged it, on lines of their own: under MPI_THREAD_MULTIPLE each blocking call counts.
  struct alignas(64) Count {
    std::atomic<int> engaged{0};
  };
  std::atomic<int>& engaged_here() noexcept {
    thread_local const auto mine = static_cast<unsigned>(threads_met.fetch_add(1, std::memory_order_relaxed));
    return counts_[mine % counts_.size()].engaged;
  }
  [[nodiscard]] bool engaged() const noexcept {
    return std::ranges::any_of(counts_, [](const Count& c) { return c.engaged.load(std::memory_order_seq_cst) > 0; });
  }

  bool ensure() noexcept {
    const std::lock_guard guard(lock_);
    if (ending_.load(std::memory_order_relaxed)) return false;
    if (thread_.joinable()) return true;
    event_count_begin();
    try {
      const NoSignals blocked;  // as the thread inherits it
      thread_ = std::thread([this] { run(); });
      running_.store(true, std::memory_order_release);
      return true;
    } catch (const std::system_error&) {
      return false;
    }
  }

  [[nodiscard]] bool wanted() const noexcept {
    return engaged() || watching_.load(std::memory_order_relaxed) || ending_.load(std::memory_order_relaxed);
  }

  void run() {
    int idle = 0;
    int lingering = 0;
    while (!ending_.load(std::memory_order_relaxed)) {
      if (!wanted()) {
        linger(lingering);
        continue;
      }
      lingering = 0;
      if (round()) {
        idle = 0;
      } else {
        idle = std::min(idle + 1, kMostIdle);
        nap(idle);
      }
    }
  }

  /// Nobody has engaged it.
  void linger(int& lingering) noexcept {
    if (++lingering < kLinger) {
      std::this_thread::sleep_for(kLong);
      return;
    }
    const EventCount::Key key = wake_.prepare();
    if (wanted()) {
      wake_.cancel(key);
    } else {
      wake_.wait(key, 10s);
    }
  }

  bool round() noexcept {
    bool moved = engaged() && drive();
    if (!watching_.load(std::memory_order_relaxed)) return moved;
    const std::lock_guard guard(lock_);
    for (std::size_t i = 0; i < watches_.size(); ++i) {
      const Watch w = watches_[i];  // a round may take some out
      moved |= w.round(w.key);
    }
    return moved;
  }

  void nap(int idle) const noexcept {
    const bool watching = watching_.load(std::memory_order_relaxed);
    const bool pending = any_pending() || (watching && windows_exist());
    if (idle < kYields && (pending || watching)) {
      sched_yield();
    } else if (pending) {
      std::this_thread::sleep_for(std::min<std::chrono::nanoseconds>(kStuck, kShort * (1 + idle / kYields)));
    } else {
      // Not for good: nobody tells when something begins.
      std::this_thread::sleep_for(std::min<std::chrono::nanoseconds>(kLongest, kLong * (1 + idle / kGrow)));
    }
  }

  EventCount wake_;
  std::array<Count, 16> counts_;
  std::recursive_mutex lock_;  // over the two below; recursive, for rounds call the program, which may stop them
  std::thread thread_;
  std::vector<Watch> watches_;
  std::atomic<bool> running_{false}, watching_{false}, ending_{false};
};

}  // namespace

constinit std::atomic<bool> Blocking::concerns{false};

bool engage_helper() noexcept {
  if (!used.load(std::memory_order_relaxed)) used.store(true, std::memory_order_relaxed);
  return Helper::get().engage();
}
void release_helper() noexcept { Helper::get().release(); }
bool start_thread(int key, bool (*round)(int)) noexcept {
  used.store(true, std::memory_order_relaxed);
  return Helper::get().start(key, round);
}
bool stop_thread(int key) noexcept { return used.load(std::memory_order_relaxed) && Helper::get().stop(key); }
void expect_threads() noexcept {
  threads_expected.store(true, std::memory_order_relaxed);
  Blocking::concerns.store(true, std::memory_order_relaxed);
}
void help_those_blocked() noexcept {
  Blocking::concerns.store(true, std::memory_order_relaxed);
  Helper::get().help_blocked();
}
void stop_helper() noexcept {
  if (used.load(std::memory_order_relaxed)) Helper::get().end();
}

void Blocking::begin() noexcept {
  flush();
  helped_ = (any_pending() || threads_expected.load(std::memory_order_relaxed)) && engage_helper();
}

}  // namespace plait::progress
