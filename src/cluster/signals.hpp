// Handlers of signals that the program has. One may touch memory that is elsewhere, and then the engine is at work in whichever thread the
// handler has interrupted. So it does not run while that thread holds what the engine wants: its lock, the heap's, libc's or the MPI's.
// The signal comes when the thread has left all of them. Handlers of libraries, and of what an instruction itself raises, run at once.
#pragma once

#include <atomic>
#include <csignal>
#include <cstdint>
#include <mutex>

namespace plait::cluster {

/// What this thread holds, and signals that wait until it holds nothing, as bits. Written by the thread and by handlers in it.
struct Holding {
  int count;
  std::uint64_t waiting;
};
/// In the thread's own block from the beginning: malloc comes here.
[[gnu::tls_model("initial-exec")]] extern thread_local volatile Holding holding;
/// The signals that wait come now.
void let_signals_come() noexcept;

inline void begin_holding() noexcept {
  holding.count = holding.count + 1;
  // A handler in this thread finds it counted before anything is held.
  std::atomic_signal_fence(std::memory_order_seq_cst);
}
inline void end_holding() noexcept {
  std::atomic_signal_fence(std::memory_order_seq_cst);
  holding.count = holding.count - 1;
  if (holding.waiting != 0 && holding.count == 0) [[unlikely]]
    let_signals_come();
}

/// While one lives, no handler of the program's runs in this thread.
class Undisturbed {
 public:
  Undisturbed() noexcept { begin_holding(); }
  ~Undisturbed() { end_holding(); }
  Undisturbed(const Undisturbed&) = delete;
  Undisturbed& operator=(const Undisturbed&) = delete;
};

/// A lock that the engine may want in a handler.
template <class Lock>
class UndisturbedLock {
 public:
  explicit UndisturbedLock(Lock& lock) : guard_(lock) {}

 private:
  Undisturbed undisturbed_;
  std::lock_guard<Lock> guard_;
};

/// The system's own, which the library stands before.
int real_sigaction(int signal, const struct sigaction* wanted, struct sigaction* before) noexcept;
/// Several processes: the handlers that the program has set so far are led, and those it will set.
void lead_signals();

}  // namespace plait::cluster
