#include "stream/stream.hpp"

#include <mutex>
#include <unordered_map>

#include "plait/mpix.h"

namespace plait::stream {
namespace {

/// Handles count from here on; MPIX_STREAM_NULL is the one before.
constexpr int kFirst = 0x3c000001;

struct All {
  std::mutex lock;
  int next = kFirst;
  std::unordered_map<int, std::unique_ptr<Stream>> streams;
  std::vector<lane::Endpoint*> idle;  ///< endpoints without a stream
};

All& all() {
  static All& all = *new All;  // never destroyed: exit handlers may still use streams
  return all;
}

std::atomic<lane::Endpoint*> shared_one{nullptr};

}  // namespace

Stream& create() {
  parking_begin();
  All& a = all();
  const std::lock_guard guard(a.lock);
  lane::Endpoint* endpoint = nullptr;
  if (a.idle.empty()) {
    endpoint = new lane::Endpoint;
    a.idle.reserve(a.streams.size() + 1);
  } else {
    endpoint = a.idle.back();
    a.idle.pop_back();
  }
  const int handle = a.next++;
  std::unique_ptr<Stream>& stream = a.streams[handle];
  stream = std::make_unique<Stream>(Stream{handle, endpoint});
  return *stream;
}

Stream* find(int handle) noexcept {
  All& a = all();
  const std::lock_guard guard(a.lock);
  const auto found = a.streams.find(handle);
  return found == a.streams.end() ? nullptr : found->second.get();
}

void destroy(Stream& stream) noexcept {
  All& a = all();
  const std::lock_guard guard(a.lock);
  a.idle.push_back(stream.endpoint);
  a.streams.erase(stream.handle);
}

std::size_t count() noexcept {
  All& a = all();
  const std::lock_guard guard(a.lock);
  return a.streams.size();
}

lane::Endpoint& shared_endpoint() {
  static lane::Endpoint& endpoint = []() -> lane::Endpoint& {
    parking_begin();
    auto& made = *new lane::Endpoint;
    made.shared = true;
    shared_one.store(&made, std::memory_order_release);
    return made;
  }();
  return endpoint;
}

lane::Endpoint* shared_endpoint_if_any() noexcept { return shared_one.load(std::memory_order_acquire); }

}  // namespace plait::stream
