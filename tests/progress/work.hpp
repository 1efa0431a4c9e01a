// A source whose work is what a test says, and a place to wait. A test that waits for what never comes is ended by its time limit.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <utility>

#include "base/event_count.hpp"
#include "progress/source.hpp"
#include "progress/wait.hpp"

namespace plait::progress::test {

class Work final : public Source {
 public:
  /// One for all tests of a program, for sources stay.
  static Work& get(bool polled = false) {
    static Work& work = [polled]() -> Work& {
      event_count_begin();
      auto& made = *new Work;
      add_source(made, polled);
      return made;
    }();
    return work;
  }

  /// Pending from now on. `round` is what try_progress() does, by one thread at a time.
  void begin(std::function<bool()> round) {
    set_round(std::move(round));
    rounds = 0;
    flushes = 0;
    pending_.store(true, std::memory_order_release);
  }
  void end() {
    pending_.store(false, std::memory_order_release);
    set_round(nullptr);
  }

  [[nodiscard]] bool pending() const noexcept override { return pending_.load(std::memory_order_acquire); }
  bool try_progress() noexcept override {
    if (busy_.exchange(true, std::memory_order_acquire)) return false;
    ++rounds;
    const bool moved = round_ && round_();
    busy_.store(false, std::memory_order_release);
    return moved;
  }
  void flush() noexcept override { ++flushes; }

  std::atomic<int> rounds{0}, flushes{0};

 private:
  Work() = default;

  /// A thread that saw the work pending before it ended may make a round still, even after the next has begun.
  void set_round(std::function<bool()> round) {
    while (busy_.exchange(true, std::memory_order_acquire)) relax();
    round_ = std::move(round);
    busy_.store(false, std::memory_order_release);
  }

  std::function<bool()> round_;
  std::atomic<bool> pending_{false}, busy_{false};
};

/// Nothing notifies it.
class Alone final : public Waiter {};

class Place final : public Waiter {
 public:
  [[nodiscard]] EventCount* event() noexcept override { return &event_; }
  void set_polled(bool here) noexcept override { here ? ++begun : ++ended; }
  /// Only a notification ends a sleep early.
  [[nodiscard]] std::chrono::nanoseconds longest() const noexcept override { return std::chrono::hours(1); }

  int begun = 0, ended = 0;

 private:
  EventCount event_;
};

/// A wait that makes no progress of its own.
template <class Done>
void await(Waiter& waiter, const Patience& patience, Done done) {
  wait_until(waiter, patience, [] { return false; }, done, [] {});
}

}  // namespace plait::progress::test
