// Things under way, by numbers that others send back. Any thread; a number is given again when its thing is over.
#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <vector>

#include "base/spinlock.hpp"

namespace plait::gaspi {

template <class T>
class Slots {
 public:
  /// Throws std::bad_alloc.
  [[nodiscard]] std::uint32_t add(const T& thing) {
    const std::lock_guard guard(lock_);
    if (free_.empty()) {
      if (free_.capacity() <= all_.size()) free_.reserve(2 * all_.size() + 8);  // so that removing needs no memory
      all_.push_back(thing);
      return static_cast<std::uint32_t>(all_.size() - 1);
    }
    const std::uint32_t number = free_.back();
    free_.pop_back();
    all_[number] = thing;
    return number;
  }
  /// It stays where it is until it is removed.
  [[nodiscard]] T& operator[](std::uint32_t number) noexcept {
    const std::lock_guard guard(lock_);
    return all_[number];
  }
  void remove(std::uint32_t number) noexcept {
    const std::lock_guard guard(lock_);
    free_.push_back(number);
  }

 private:
  Spinlock lock_;
  std::deque<T> all_;
  std::vector<std::uint32_t> free_;
};

}  // namespace plait::gaspi
