// What a completion call does between two rounds without success: waits as its requests are best waited for, drives what else is
// pending, and when PLAIT_WATCHDOG says that it takes too long, tells once what is waited for. One per call, used by the thread
// that waits.
#pragma once

#include <optional>
#include <span>

#include "base/watchdog.hpp"
#include "lane/request.hpp"
#include "progress/wait.hpp"

namespace plait::mpi {

/// What a call waits for.
class Pending {
 public:
  /// Plait's requests that have not ended. What was returned before may be changed by this.
  [[nodiscard]] virtual std::span<Request*> ours() noexcept = 0;
  /// How many of the MPI's own are waited for beside them.
  [[nodiscard]] virtual int natives() const noexcept = 0;

 protected:
  ~Pending() = default;
};

/// One request of plait's.
class Single final : public Pending {
 public:
  explicit Single(Request& request) noexcept : request_(&request) {}
  [[nodiscard]] std::span<Request*> ours() noexcept override { return {&request_, 1}; }
  [[nodiscard]] int natives() const noexcept override { return 0; }

 private:
  Request* request_;
};

class Waiting {
 public:
  /// `caller`: the address that the call returns to.
  Waiting(Pending& pending, const char* call, const void* caller, int count) noexcept
      : pending_(pending), call_(call), caller_(caller), count_(count) {}
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;
  ~Waiting() {
    if (wait_) end();
  }

  /// `look`: one more round; true if something has ended or moved.
  template <class Look>
  void pause(Look look) noexcept {
    if (!wait_) begin();
    if ((may_block_ || wait_->is_long()) && long_round()) return;
    wait_->pause(look);
  }
  /// After a round in which something moved.
  void reset() noexcept {
    if (wait_) wait_->reset();
  }

 private:
  /// Waits where all of the requests are waited for, if that is one place and nothing of the MPI's is among them: then the rounds of
  /// the call look at what comes there, to its end. Else nowhere: a place whose requests have ended would be left to nobody.
  class Place final : public progress::Waiter {
   public:
    explicit Place(Pending& pending) noexcept;
    [[nodiscard]] EventCount* event() noexcept override { return of_all_ ? of_all_->event() : nullptr; }
    [[nodiscard]] std::chrono::nanoseconds longest() const noexcept override { return of_all_->longest(); }
    void set_polled(bool here) noexcept override {
      if (of_all_) of_all_->set_polled(here);
    }

   private:
    progress::Waiter* of_all_ = nullptr;
  };

  [[gnu::noinline]] void begin() noexcept;
  void end() noexcept;
  [[nodiscard]] bool long_round() noexcept;
  [[nodiscard]] bool block() noexcept;

  Pending& pending_;
  const char* call_;
  const void* caller_;
  int count_;
  bool may_block_ = false;    ///< in a way of the program's
  bool has_blocked_ = false;  ///< in that way, once at least
  Watchdog watchdog_;
  std::optional<Place> place_;
  std::optional<progress::Wait> wait_;
};

}  // namespace plait::mpi
