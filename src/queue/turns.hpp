// The order of sends whose data are copied from a device first: a message must not overtake one that was put on the queue before it, and
// whose copy takes longer. Any thread.
#pragma once

#include <cstdint>
#include <deque>
#include <mutex>

namespace plait::queue {

class Turns {
 public:
  using Number = std::uint64_t;

  /// Behind those that have been taken.
  [[nodiscard]] Number take() {
    const std::lock_guard guard(lock_);
    passed_.push_back(false);
    return first_ + passed_.size() - 1;
  }
  [[nodiscard]] bool is_next(Number number) const noexcept {
    const std::lock_guard guard(lock_);
    return number == first_;
  }
  /// It has started, or never will.
  void pass(Number number) noexcept {
    const std::lock_guard guard(lock_);
    if (number < first_) return;
    passed_[number - first_] = true;
    while (!passed_.empty() && passed_.front()) {
      passed_.pop_front();
      ++first_;
    }
  }

 private:
  mutable std::mutex lock_;
  Number first_ = 0;
  std::deque<bool> passed_;
};

}  // namespace plait::queue
