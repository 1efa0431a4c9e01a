// Where the MPI lets only one thread in at a time: a lock over every call of the MPI's that may meet another thread's. Not
// held where the MPI needs none.
#pragma once

#include <atomic>

namespace plait {

/// From now on there has to be a Gate: several threads may want to call an MPI that lets in one. It stays so.
void need_gate() noexcept;

/// One thread may hold several, one in the other.
class Gate {
 public:
  Gate() noexcept {
    // relaxed: it is set while the communicator that needs it is made, and stays.
    if (needed_.load(std::memory_order_relaxed)) [[unlikely]]
      lock();
  }
  ~Gate() {
    if (held_) [[unlikely]]
      unlock();
  }
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  /// The same for those that do not wait: true if it was free, or none is needed. Then `leave`.
  [[nodiscard]] static bool enter_if_free() noexcept;
  static void leave() noexcept;

 private:
  friend void need_gate() noexcept;
  void lock() noexcept;
  static void unlock() noexcept;
  static std::atomic<bool> needed_;
  bool held_ = false;
};

}  // namespace plait
