#include "partitioned/receiver.hpp"

#include <algorithm>
#include <mutex>

namespace plait::partitioned {

Receiver::Receiver(Side side)
    : side_(std::move(side)),
      part_bytes_(side_.part_bytes()),
      parts_(side_.partitions > 1 && part_bytes_ > 0 ? static_cast<std::size_t>(side_.partitions) : 0),
      sure_(side_.nobody()) {}

void Receiver::start() {
  const std::lock_guard guard(busy_);
  ++round_;
  received_ = 0;
  for (auto& bytes : parts_) bytes.store(0, std::memory_order_relaxed);
  done_.store(side_.nobody(), std::memory_order_relaxed);
  active_.store(true, std::memory_order_relaxed);
  if (offer_) begin();
}

void Receiver::begin() {
  if (offer_->channel) {
    offer_->channel->begin(round_);
  } else {
    offer_->net->begin();
  }
}

void Receiver::match(std::unique_ptr<Offer> offer) {
  const std::lock_guard guard(busy_);
  if (offer->channel) offer->channel->match(side_.memory, parts_.empty() ? 0 : part_bytes_, true);
  units_ = std::max<std::uint64_t>(offer->message.source.bytes, 1);
  offer_ = std::move(offer);
  matched_.store(true, std::memory_order_release);
  if (active_.load(std::memory_order_relaxed)) begin();
}

std::unique_ptr<Offer> Receiver::unmatch() noexcept {
  const std::lock_guard guard(busy_);
  if (received_ > 0 || round_ > 1) return nullptr;
  matched_.store(false, std::memory_order_relaxed);
  return std::move(offer_);
}

void Receiver::take(std::uint64_t begin, std::uint64_t units) noexcept {
  sure_.store(true, std::memory_order_relaxed);
  const std::uint64_t end = std::min({begin + units, offer_->message.source.bytes, side_.memory.bytes});
  for (std::uint64_t at = begin; !parts_.empty() && at < end;) {
    const std::uint64_t part = at / part_bytes_;
    const std::uint64_t n = std::min(end, (part + 1) * part_bytes_) - at;
    // release: the bytes, for a thread that asks for the partition.
    parts_[part].fetch_add(n, std::memory_order_release);
    at += n;
  }
  received_ += units;
  if (received_ != units_) return;
  if (offer_->channel) offer_->channel->end();
  active_.store(false, std::memory_order_relaxed);
  // release: all of it.
  done_.store(true, std::memory_order_release);
}

bool Receiver::step() noexcept {
  // relaxed: a hint.
  if (!matched_.load(std::memory_order_relaxed) || !active_.load(std::memory_order_relaxed)) return false;
  const std::unique_lock guard(busy_, std::try_to_lock);
  if (!guard || !offer_ || !active_.load(std::memory_order_relaxed)) return false;
  if (ChannelReceiver* const channel = offer_->channel.get()) {
    const bool moved = channel->take([this](std::uint64_t begin, std::uint64_t units) { take(begin, units); });
    if (channel->lost() && !done()) {
      active_.store(false, std::memory_order_relaxed);
      done_.store(true, std::memory_order_release);
    }
    return moved;
  }
  bool moved = false;
  for (;;) {
    const NetReceiver::Piece piece = offer_->net->step();
    if (piece.units == 0) return moved;
    take(piece.begin, piece.units);
    moved = true;
  }
}

bool Receiver::arrived(int partition) const noexcept {
  if (done()) return true;
  // acquire: the partition's bytes.
  return !parts_.empty() && parts_[static_cast<std::size_t>(partition)].load(std::memory_order_acquire) == part_bytes_;
}

void Receiver::set_polled(bool here) noexcept {
  std::unique_lock guard(busy_, std::defer_lock);
  if (here) {
    static_cast<void>(guard.try_lock());  // a hint
  } else {
    guard.lock();
  }
  if (guard && offer_ && offer_->channel) offer_->channel->set_polled(here);
}

std::uint64_t Receiver::received() const noexcept { return offer_ ? std::min(offer_->message.source.bytes, side_.memory.bytes) : 0; }

int Receiver::error() const noexcept {
  if (!offer_) return MPI_SUCCESS;
  if (offer_->channel && offer_->channel->lost()) return MPI_ERR_OTHER;
  return offer_->message.source.bytes > side_.memory.bytes ? MPI_ERR_TRUNCATE : MPI_SUCCESS;
}

}  // namespace plait::partitioned
