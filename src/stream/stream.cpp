#include "stream/stream.hpp"

#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "plait/mpix.h"
#include "queue/communicator.hpp"

namespace plait::stream {
namespace {

/// Handles count from here on; MPIX_STREAM_NULL is the one before.
constexpr int kFirst = 0x3c000001;

struct All {
  std::mutex lock;
  int next = kFirst;
  std::unordered_map<int, std::unique_ptr<Stream>> streams;
};

All& all() {
  static All& all = *new All;  // never destroyed: exit handlers may still use streams
  return all;
}

p2p::Attachment attach(int handle, bool multiplex) {
  if (handle == MPIX_STREAM_NULL) return {&lane::shared_endpoint(), handle};
  const Stream* const s = find(handle);
  // One queue is a communicator's: with several, nobody could say on which a message is put.
  if (!s || (s->queue && multiplex)) return {nullptr, handle};
  return {s->endpoint, handle, s->queue != nullptr};
}

}  // namespace

Stream& create(queue::QueuePointer queue) {
  All& a = all();
  const std::lock_guard guard(a.lock);
  auto stream = std::make_unique<Stream>(Stream{a.next, nullptr, std::move(queue)});
  Stream& made = *stream;
  const auto at = a.streams.emplace(a.next, std::move(stream)).first;
  try {
    // A queue is run by threads of plait's, beside those of the program that put messages there.
    made.endpoint = &lane::take_endpoint(made.queue ? lane::Use::shared : lane::Use::serial);
  } catch (...) {
    a.streams.erase(at);
    throw;
  }
  ++a.next;
  return made;
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
  lane::give_endpoint(*stream.endpoint);
  a.streams.erase(stream.handle);
}

MPI_Comm create_communicator(MPI_Comm parent, std::span<const int> streams, bool multiplex) {
  std::vector<p2p::Attachment> endpoints;
  endpoints.reserve(streams.size());
  for (const int handle : streams) endpoints.push_back(attach(handle, multiplex));
  MPI_Comm ordinary = MPI_COMM_NULL;
  p2p::Draft made = p2p::build_communicator(parent, endpoints, multiplex, &ordinary);
  if (!made) return ordinary;
  if (made->queues > 0) {
    const Stream* const s = find(streams.front());
    made = queue::take_over(std::move(made), s ? s->queue : nullptr);
  }
  p2p::enter(*made);
  return made.release()->handle;
}

}  // namespace plait::stream
