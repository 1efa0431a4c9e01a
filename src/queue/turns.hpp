// The order of sends whose data are copied from a device first: a message must not overtake one that was put on the queue before it, and
// whose copy takes longer. By the engine's thread.
#pragma once

#include <cstdint>
#include <deque>

namespace plait::queue {

class Turns {
 public:
  using Number = std::uint64_t;

  /// Behind those that have been taken.
  [[nodiscard]] Number take() {
    passed_.push_back(false);
    return first_ + passed_.size() - 1;
  }
  [[nodiscard]] bool is_next(Number number) const noexcept { return number == first_; }
  /// It has started, or never will.
  void pass(Number number) noexcept {
    if (number < first_) return;
    passed_[number - first_] = true;
    while (!passed_.empty() && passed_.front()) {
      passed_.pop_front();
      ++first_;
    }
  }

 private:
  Number first_ = 0;
  std::deque<bool> passed_;
};

}  // namespace plait::queue
