#include "gaspi/passive.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "gaspi/job.hpp"
#include "lane/node.hpp"

namespace plait::gaspi {

/// This process's message to that rank is on its way. False where another one is.
bool Passive::begin(Peer& peer, const Piece& message) {
  const std::lock_guard guard(lock_);
  if (const auto known = sending_.find(peer.rank); known != sending_.end()) {
    Sending& other = known->second;
    const bool same = other.segment == message.segment && other.offset == message.offset && other.bytes == message.bytes;
    if (same) return std::exchange(other.left, false);
    // One that was given up has nobody who looks whether it has been received.
    if (!other.left || !ended(peer)) return false;
  }
  Sending& sending = sending_[peer.rank];
  sending = {message.segment, message.offset, message.bytes};
  if (!peer.control) {
    far::send_passive(job_, peer, {message.data(), message.bytes});
    return true;
  }
  if (copies_.empty()) copies_.push_back(lane::Node::get().region().take(kPassive));
  sending.copy = copies_.back();
  copies_.pop_back();
  std::memcpy(sending.copy.memory, message.data(), message.bytes);
  PassiveSlot& slot = peer.control->passive(static_cast<std::size_t>(job_.local), job_.locals);
  slot.offset = sending.copy.offset;
  slot.bytes = message.bytes;
  slot.rank = job_.rank;
  // release: the message.
  slot.state.store(PassiveSlot::kOffered, std::memory_order_release);
  peer.control->bell.notify();
  return true;
}

bool Passive::is_over(Peer& peer) {
  const std::lock_guard guard(lock_);
  return ended(peer);
}

/// This process's message to that rank has been received, and is forgotten.
bool Passive::ended(Peer& peer) {
  const auto at = sending_.find(peer.rank);
  if (peer.control) {
    PassiveSlot& slot = peer.control->passive(static_cast<std::size_t>(job_.local), job_.locals);
    // acquire: the copy may be written again.
    if (slot.state.load(std::memory_order_acquire) != PassiveSlot::kTaken) return false;
    slot.state.store(PassiveSlot::kFree, std::memory_order_relaxed);
    copies_.push_back(at->second.copy);
  } else if (!at->second.received) {
    return false;
  }
  sending_.erase(at);
  return true;
}

gaspi_return_t Passive::send(const Piece& message, std::uint16_t rank, gaspi_timeout_t timeout) {
  const Deadline deadline(timeout);
  Peer& peer = job_.peers[rank];
  bool begun = false;
  const bool sent = wait_for(job_, deadline, progress::kForMessage, job_.control->bell, [&] {
    if (peer.dead.load(std::memory_order_relaxed)) return true;
    if (!begun && !message.view.is_there()) return true;
    if (!begun) begun = begin(peer, message);
    return begun && is_over(peer);
  });
  if (peer.dead.load(std::memory_order_relaxed)) return GASPI_ERROR;
  if (sent) return begun ? GASPI_SUCCESS : GASPI_ERR_INV_SEG;
  if (begun) {
    const std::lock_guard guard(lock_);
    sending_[rank].left = true;
  }
  return GASPI_TIMEOUT;
}

bool Passive::take_near(std::byte* to, std::uint64_t room, gaspi_rank_t& from, gaspi_return_t& result) {
  for (std::uint32_t i = 0; i < job_.locals; ++i) {
    const std::uint32_t local = (next_ + i) % job_.locals;
    PassiveSlot& slot = job_.control->passive(local, job_.locals);
    // acquire: the message.
    if (slot.state.load(std::memory_order_acquire) != PassiveSlot::kOffered) continue;
    next_ = local + 1;
    Peer& sender = job_.peers[slot.rank];
    result = slot.bytes <= room ? GASPI_SUCCESS : GASPI_ERR_INV_SIZE;
    if (result != GASPI_SUCCESS) return true;
    std::memcpy(to, lane::Node::get().at({sender.region, slot.offset}), slot.bytes);
    from = sender.rank;
    // release: it has been read.
    slot.state.store(PassiveSlot::kTaken, std::memory_order_release);
    sender.control->bell.notify();
    return true;
  }
  return false;
}

bool Passive::take(std::byte* to, std::uint64_t room, gaspi_rank_t& from, gaspi_return_t& result) {
  const std::lock_guard guard(lock_);
  if (arrived_.empty()) return take_near(to, room, from, result);
  const Message& message = arrived_.front();
  result = message.data.size() <= room ? GASPI_SUCCESS : GASPI_ERR_INV_SIZE;
  if (result != GASPI_SUCCESS) return true;
  std::memcpy(to, message.data.data(), message.data.size());
  from = message.from;
  far::acknowledge_passive(job_, job_.peers[from]);
  arrived_.pop_front();
  return true;
}

gaspi_return_t Passive::receive(const Piece& room, gaspi_rank_t& from, gaspi_timeout_t timeout) {
  const Deadline deadline(timeout);
  gaspi_return_t result = GASPI_TIMEOUT;
  wait_for(job_, deadline, progress::kForMessage, job_.control->bell, [&] {
    if (!room.view.is_there()) result = GASPI_ERR_INV_SEG;
    return result != GASPI_TIMEOUT || take(room.data(), room.bytes, from, result);
  });
  if (result == GASPI_SUCCESS) static_cast<void>(far::drive());  // the answer
  return result;
}

void Passive::arrive(std::uint16_t from, std::uint64_t all, std::uint64_t at, std::span<const std::byte> data) {
  const std::lock_guard guard(lock_);
  Message& message = coming_[from];
  message.from = from;
  message.data.resize(all);
  std::memcpy(message.data.data() + at, data.data(), data.size());
  message.come += data.size();
  if (message.come < all) return;
  arrived_.push_back(std::move(message));
  coming_.erase(from);
  job_.control->bell.notify();
}

void Passive::received(std::uint16_t by) {
  const std::lock_guard guard(lock_);
  if (const auto at = sending_.find(by); at != sending_.end()) at->second.received = true;
  job_.control->bell.notify();
}

}  // namespace plait::gaspi
