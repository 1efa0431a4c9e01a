#include "queue/gpu_per_thread.hpp"

#include <mpi.h>

#include <algorithm>
#include <numeric>

#include "base/error.hpp"

namespace plait::queue {

const PerThreadQueue::Self& PerThreadQueue::self() {
  static thread_local const Self self = std::make_shared<const int>(0);
  return self;
}

void PerThreadQueue::drop_ended() noexcept {
  std::erase_if(lines_, [](const Line& l) { return l.thread.expired() && l.queue->is_unused(); });
}

GpuQueue& PerThreadQueue::here() {
  const Self& mine = self();
  const std::lock_guard guard(lock_);
  // By what owns it: a block of memory is not another thread's as long as this one is remembered.
  const auto its =
      std::ranges::find_if(lines_, [&](const Line& l) { return !l.thread.owner_before(mine) && !mine.owner_before(l.thread); });
  if (its != lines_.end()) return *its->queue;
  drop_ended();
  lines_.reserve(lines_.size() + 1);
  return *lines_.emplace_back(Line{mine, GpuQueue::make(device_, stream_)}).queue;
}

bool PerThreadQueue::idle() noexcept {
  try {
    return here().idle();
  } catch (...) {  // no memory for a queue of this thread's: the put tells
    return false;
  }
}

void PerThreadQueue::forget() noexcept {
  const std::lock_guard guard(lock_);
  for (const Line& l : lines_) l.queue->forget();
}

int PerThreadQueue::take_error() {
  const std::lock_guard guard(lock_);
  for (const Line& l : lines_) {
    if (const int error = l.queue->take_error(); error != MPI_SUCCESS) return error;
  }
  return MPI_SUCCESS;
}

int PerThreadQueue::outstanding() const noexcept {
  const std::lock_guard guard(lock_);
  return std::accumulate(lines_.begin(), lines_.end(), 0, [](int n, const Line& l) { return n + l.queue->outstanding(); });
}

}  // namespace plait::queue
