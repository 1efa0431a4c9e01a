#include "stream/stream.hpp"

#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "plait/mpix.h"

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

p2p::Attachment attach(int handle) {
  if (handle == MPIX_STREAM_NULL) return {&lane::shared_endpoint(), handle};
  const Stream* const s = find(handle);
  return {s ? s->endpoint : nullptr, handle};
}

}  // namespace

Stream& create() {
  All& a = all();
  const std::lock_guard guard(a.lock);
  auto stream = std::make_unique<Stream>(Stream{a.next, nullptr});
  Stream& made = *stream;
  const auto at = a.streams.emplace(a.next, std::move(stream)).first;
  try {
    made.endpoint = &lane::take_endpoint(lane::Use::serial);
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
  for (const int handle : streams) endpoints.push_back(attach(handle));
  MPI_Comm ordinary = MPI_COMM_NULL;
  p2p::Draft made = p2p::build_communicator(parent, endpoints, multiplex, &ordinary);
  if (!made) return ordinary;
  p2p::enter(*made);
  return made.release()->handle;
}

}  // namespace plait::stream
