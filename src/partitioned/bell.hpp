// Where threads of a process sleep that wait for partitioned messages, and what wakes them. Any thread.
#pragma once

#include <chrono>

#include "base/parking.hpp"
#include "lane/node.hpp"

namespace plait::partitioned {

class Bell {
 public:
  /// Made at first use. Throws std::bad_alloc, std::system_error.
  static Bell& get();

  [[nodiscard]] lane::Address address() const noexcept { return address_; }
  /// Another process's, or this one's.
  [[nodiscard]] static ParkingSpot& at(lane::Address address) noexcept;

  /// This process's. Any thread.
  void wake() noexcept { spot_->wake_if_parked(); }

  /// Sleeps until somebody rings, for so long at most, unless `look` finds work. One thread at a time gets to sleep so; others
  /// doze.
  template <class Look>
  void sleep(std::chrono::nanoseconds longest, Look look) noexcept {
    if (!begin()) return;
    spot_->prepare();
    if (look()) {
      spot_->cancel();
    } else {
      spot_->sleep(longest);
    }
    end();
  }

 private:
  Bell();
  [[nodiscard]] bool begin() noexcept;
  void end() noexcept { taken_.store(false, std::memory_order_release); }

  lane::Address address_;
  ParkingSpot* spot_;
  std::atomic<bool> taken_{false};
};

}  // namespace plait::partitioned
