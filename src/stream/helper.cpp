#include "stream/helper.hpp"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "lane/endpoint.hpp"
#include "plait/mpix.h"
#include "stream/stream.hpp"
#include "transport/network.hpp"

namespace plait::stream {
namespace {

using namespace std::chrono_literals;

/// Rounds without success before it sleeps between two; and how long, with something pending and without.
constexpr int kYields = 200;
constexpr auto kShort = 20us;
constexpr auto kLong = 1ms;

constinit std::atomic<int> windows{0};

class Helper {
 public:
  static Helper& get() {
    static Helper& helper = *new Helper;  // never destroyed: its thread may outlive static objects
    return helper;
  }

  bool engage() noexcept {
    const std::lock_guard guard(lock_);
    if (!ensure()) return false;
    ++engaged_;
    wake_.notify_one();
    return true;
  }
  void release() noexcept {
    const std::lock_guard guard(lock_);
    --engaged_;
  }
  bool start(int stream, void (*poll_rest)()) noexcept try {
    const std::lock_guard guard(lock_);
    if (!ensure()) return false;
    if (std::ranges::find(streams_, stream) == streams_.end()) streams_.push_back(stream);
    if (poll_rest) poll_rest_ = poll_rest;
    wake_.notify_one();
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
  bool stop(int stream) noexcept {
    std::unique_lock guard(lock_);
    const auto at = std::ranges::find(streams_, stream);
    if (at == streams_.end()) return false;
    streams_.erase(at);
    // Its stream may be freed next, and the MPI finalized.
    const auto round = rounds_;
    wake_.notify_one();
    round_done_.wait(guard, [&] { return !working_ || rounds_ != round; });
    return true;
  }
  void end() noexcept {
    {
      const std::lock_guard guard(lock_);
      ending_ = true;
      wake_.notify_one();
    }
    if (thread_.joinable()) thread_.join();
  }

 private:
  bool ensure() noexcept {
    if (ending_) return false;
    if (thread_.joinable()) return true;
    try {
      thread_ = std::thread([this] { run(); });
      return true;
    } catch (const std::system_error&) {
      return false;
    }
  }

  void run() {
    parking_begin();
    int idle = 0;
    std::vector<int> streams;
    std::unique_lock guard(lock_);
    for (;;) {
      wake_.wait(guard, [&] { return ending_ || engaged_ > 0 || !streams_.empty(); });
      if (ending_) return;
      streams = streams_;
      const bool engaged = engaged_ > 0;
      working_ = true;
      guard.unlock();
      const bool moved = round(engaged, streams);
      const bool pending = engaged || windows.load(std::memory_order_relaxed) > 0 || lane::any_neglected();
      idle = moved ? 0 : idle + 1;
      guard.lock();
      working_ = false;
      ++rounds_;
      round_done_.notify_all();
      if (idle == 0) continue;
      if (idle < kYields) {
        guard.unlock();
        sched_yield();
        guard.lock();
      } else {
        // Not for good: nobody tells when the MPI's own operations begin.
        wake_.wait_for(guard, pending ? std::chrono::nanoseconds(kShort) : std::chrono::nanoseconds(kLong));
      }
    }
  }

  bool round(bool engaged, const std::vector<int>& streams) noexcept {
    bool moved = transport::drive_network();
    if (engaged) moved |= lane::visit_neglected();
    for (const int handle : streams) {
      if (handle == MPIX_STREAM_NULL) {
        if (poll_rest_) poll_rest_();
      } else if (!engaged) {
        if (const Stream* const s = find(handle)) moved |= s->endpoint->visit();
      }
    }
    return moved;
  }

  std::mutex lock_;
  std::condition_variable wake_, round_done_;
  std::thread thread_;
  int engaged_ = 0;
  bool ending_ = false, working_ = false;
  unsigned rounds_ = 0;
  std::vector<int> streams_;
  void (*poll_rest_)() = nullptr;
};

constinit std::atomic<bool> used{false};

}  // namespace

bool engage_helper() noexcept {
  used.store(true, std::memory_order_relaxed);
  return Helper::get().engage();
}
void release_helper() noexcept { Helper::get().release(); }
bool start_progress(int stream, void (*poll_rest)()) noexcept {
  used.store(true, std::memory_order_relaxed);
  return Helper::get().start(stream, poll_rest);
}
bool stop_progress(int stream) noexcept { return used.load(std::memory_order_relaxed) && Helper::get().stop(stream); }
void count_windows(int more) noexcept { windows.fetch_add(more, std::memory_order_relaxed); }
void stop_helper() noexcept {
  if (used.load(std::memory_order_relaxed)) Helper::get().end();
}

}  // namespace plait::stream
