// Where threads of a process wait for partitioned messages, and what wakes them. Any thread.
#pragma once

#include <chrono>

#include "lane/node.hpp"
#include "progress/wait.hpp"

namespace plait::partitioned {

class Doorbell final : public progress::Waiter {
 public:
  /// Made at first use. Throws std::bad_alloc, std::system_error.
  static Doorbell& get();

  [[nodiscard]] lane::Address address() const noexcept { return address_; }
  /// Another process's, or this one's.
  [[nodiscard]] static EventCount& at(lane::Address address) noexcept;
  /// This process's.
  void ring() noexcept { event_->notify(); }

  [[nodiscard]] EventCount* event() noexcept override { return event_; }
  /// Between nodes the MPI has to be asked, and rings no bell.
  [[nodiscard]] std::chrono::nanoseconds longest() const noexcept override { return std::chrono::microseconds(200); }

 private:
  Doorbell();

  lane::Address address_;
  EventCount* event_;
};

}  // namespace plait::partitioned
