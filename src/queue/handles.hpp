// The objects behind the handles of plait/queue.h. Handles are addresses that are looked up, so that one that was freed is told from one
// that is used. Any thread.
#pragma once

#include <memory>
#include <mutex>
#include <unordered_map>

#include "base/error.hpp"
#include "queue/host.hpp"

namespace plait::queue {

struct Event {
  std::mutex lock;
  std::shared_ptr<Occurrence> last;  ///< null: it was never recorded
};

/// What a kind of handles leads to.
template <class Handle, class Object>
class Table {
 public:
  Handle enter(std::shared_ptr<Object> object) {
    auto* const handle = reinterpret_cast<Handle>(object.get());
    const std::lock_guard guard(lock_);
    objects_.emplace(handle, std::move(object));
    return handle;
  }
  /// Throws MPIError{MPI_ERR_ARG} for what is none.
  std::shared_ptr<Object> find(Handle handle) const {
    const std::lock_guard guard(lock_);
    const auto at = objects_.find(handle);
    require(at != objects_.end(), MPI_ERR_ARG);
    return at->second;
  }
  std::shared_ptr<Object> take(Handle handle) {
    const std::lock_guard guard(lock_);
    const auto at = objects_.find(handle);
    require(at != objects_.end(), MPI_ERR_ARG);
    std::shared_ptr<Object> object = std::move(at->second);
    objects_.erase(at);
    return object;
  }

 private:
  mutable std::mutex lock_;
  std::unordered_map<Handle, std::shared_ptr<Object>> objects_;
};

[[nodiscard]] Table<plait_queue, HostQueue>& queues();
[[nodiscard]] Table<plait_event, Event>& events();

}  // namespace plait::queue
