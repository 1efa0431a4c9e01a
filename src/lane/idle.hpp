// Waiting at an endpoint: spin, then yield, then sleep until another writes to it. Where endpoints outnumber the cores that
// the process may use, spinning is short. One object per wait, used by the endpoint's thread.
#pragma once

#include <chrono>

#include "base/backoff.hpp"
#include "lane/endpoint.hpp"

namespace plait::lane {

/// How many endpoints there are and how many cores they have together, on this node, as far as is known: processes may be
/// bound to cores of their own. Any thread.
void set_load(int endpoints, int cores) noexcept;
[[nodiscard]] bool is_crowded() noexcept;

class Idle {
 public:
  explicit Idle(Endpoint& endpoint) noexcept : endpoint_(endpoint), spins_(spins(endpoint)) {}

  Idle(const Idle&) = delete;
  Idle& operator=(const Idle&) = delete;
  ~Idle() {
    if (attended_) [[unlikely]]
      leave();
  }

  /// After a round without success.
  void pause() noexcept {
    if (++rounds_ < spins_) [[likely]] {
      relax();
    } else {
      give_way();
    }
  }
  /// Nothing has come for so long that there is time for other things.
  [[nodiscard]] bool long_since() const noexcept { return rounds_ >= spins_; }
  /// After a round with success.
  void reset() noexcept { rounds_ = 0; }

 private:
  void give_way() noexcept;
  void give_way_to_network() noexcept;
  void park(std::chrono::nanoseconds longest) noexcept;
  void leave() noexcept;
  static int spins(Endpoint& endpoint) noexcept;

  Endpoint& endpoint_;
  bool attended_ = false;  ///< the endpoint knows that we wait
  bool driver_ = false;    ///< this wait is the one that looks after the network
  int rounds_ = 0;
  int parks_ = 0;
  int spins_;
};

}  // namespace plait::lane
