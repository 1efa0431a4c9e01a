#include "progress/source.hpp"

#include <algorithm>
#include <array>
#include <mutex>

#include "base/fatal.hpp"
#include "progress/helper.hpp"

namespace plait::progress {

constinit std::atomic<std::size_t> sources{0};

namespace {

/// There is one for each feature.
constexpr std::size_t kMost = 16;
constinit std::array<std::atomic<Source*>, kMost> list{};
constinit std::atomic<bool> polling{false};  // a hint: relaxed
constinit std::atomic<void (*)() noexcept> mpi_poll{nullptr};
constinit std::atomic<int> windows{0};  // a hint: relaxed

/// This thread drives the sources.
thread_local bool inside = false;

template <class Visitor>
bool any_source(Visitor visitor) noexcept {
  // acquire: the entries.
  const std::size_t n = sources.load(std::memory_order_acquire);
  bool any = false;
  for (std::size_t i = 0; i < n; ++i) any |= visitor(*list[i].load(std::memory_order_relaxed));
  return any;
}

}  // namespace

void add_source(Source& source, bool polled) noexcept {
  static constinit std::mutex lock;
  const std::lock_guard guard(lock);
  const std::size_t at = sources.load(std::memory_order_relaxed);
  if (at == kMost) fatal("more than %zu progress sources: a mistake of plait's", kMost);
  list[at].store(&source, std::memory_order_relaxed);
  if (polled) polling.store(true, std::memory_order_relaxed);
  // The entry, and the source as it was made. seq_cst: before the look at those that are blocked.
  sources.store(at + 1, std::memory_order_seq_cst);
  if (at == 0) help_those_blocked();
}

bool must_poll() noexcept { return polling.load(std::memory_order_relaxed) || windows_exist(); }

bool any_pending() noexcept {
  return any_source([](const Source& s) { return s.pending(); });
}

bool drive() noexcept {
  if (inside) return false;
  inside = true;
  const bool moved = any_source([](Source& s) { return s.pending() && s.try_progress(); });
  inside = false;
  return moved;
}

void flush() noexcept {
  static_cast<void>(any_source([](Source& s) {
    s.flush();
    return false;
  }));
}

void set_mpi_poll(void (*poll)() noexcept) noexcept { mpi_poll.store(poll, std::memory_order_relaxed); }

void poll_mpi() noexcept {
  if (void (*const poll)() noexcept = mpi_poll.load(std::memory_order_relaxed)) poll();
}

void count_windows(int more) noexcept { windows.fetch_add(more, std::memory_order_relaxed); }
bool windows_exist() noexcept { return windows.load(std::memory_order_relaxed) > 0; }

bool drive_sometimes() noexcept {
  /// A round costs more than most calls that ask.
  constexpr unsigned kEvery = 16;
  thread_local unsigned calls = 0;
  if (++calls % kEvery != 0) return false;
  if (sources_exist()) static_cast<void>(drive());
  return true;
}

}  // namespace plait::progress
