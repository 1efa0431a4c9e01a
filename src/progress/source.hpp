// The progress engine. A source is anything that may have work which no thread is looking at: messages that found no room, a
// rendezvous half done, packets in line, a partitioned round, a generalized request. Features register theirs once; every call
// that waits or asks drives all of them. Any thread.
#pragma once

#include <atomic>
#include <cstddef>

namespace plait::progress {

class Source {
 public:
  Source() = default;
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;

  /// Is there something that has to be moved on, and that no thread is looking at? Cheap; the answer may be old.
  [[nodiscard]] virtual bool pending() const noexcept = 0;
  /// One round of it; true if something moved. Returns at once where another thread is at it.
  virtual bool try_progress() noexcept = 0;
  /// Hands over what is complete for the program and has not left yet, before a call that may take long.
  virtual void flush() noexcept {}

 protected:
  ~Source() = default;
};

/// Registers a source, which stays. `polled`: nobody notifies those that wait for it, so that one of them has to poll.
void add_source(Source& source, bool polled = false) noexcept;

/// relaxed: what every call of the MPI's asks first. A program without plait's features has none.
extern std::atomic<std::size_t> sources;
[[nodiscard]] inline bool sources_exist() noexcept { return sources.load(std::memory_order_relaxed) != 0; }
/// Is there one that has to be polled, or a window?
[[nodiscard]] bool must_poll() noexcept;

[[nodiscard]] bool any_pending() noexcept;
/// A round of all that have something pending; true if something moved. Does nothing where this thread is in one already, as
/// callbacks of the program's are.
bool drive() noexcept;
void flush() noexcept;

/// The engine that carries messages between nodes, and the program's own calls of it: the MPI. It does not say what is pending;
/// waits let it move now and then. Set once.
void set_mpi_poll(void (*poll)() noexcept) noexcept;
void poll_mpi() noexcept;
/// While there are windows, others access this process's memory at any time, by the MPI, which has to be polled for that.
void count_windows(int more) noexcept;
[[nodiscard]] bool windows_exist() noexcept;

/// Around a call of plait's that has asked in vain, or of the MPI's that asks and comes back: a program that asks again and again
/// waits no less than one that blocks. Every so many calls of a thread drive all sources; true for those.
bool drive_sometimes() noexcept;

}  // namespace plait::progress
