#include "lane/peer_heaps.hpp"

#include <algorithm>
#include <exception>

namespace plait::lane {

PeerHeaps& PeerHeaps::get() {
  static PeerHeaps& heaps = *new PeerHeaps;  // never destroyed: exit handlers may still receive
  return heaps;
}

PeerHeap PeerHeaps::find(const SharedHeap::Place& buffer) noexcept {
  PeerHeap found{buffer.heap.nonce, nullptr};
  try {
    const std::lock_guard guard(lock_);
    const auto at = std::ranges::find(known_, buffer.heap.nonce, &PeerHeap::nonce);
    if (at != known_.end()) {
      std::rotate(at, at + 1, known_.end());
      return known_.back();
    }
    known_.reserve(known_.size() + 1);
    try {
      found.window = std::make_shared<PeerWindow>(SharedHeap::Place{buffer.heap, 0, buffer.heap_bytes}, buffer.heap_bytes);
    } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): is remembered, too
    }
    if (known_.size() == kKept) known_.erase(known_.begin());
    known_.push_back(found);
  } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): the next message may find room
  }
  return found;
}

MappedBuffer map_buffer(PeerHeap& last, const SharedHeap::Place& buffer) noexcept {
  if (last.nonce != buffer.heap.nonce) last = PeerHeaps::get().find(buffer);
  if (!last.window) return {};
  return {last.window->data() + buffer.offset, last.window};
}

}  // namespace plait::lane
