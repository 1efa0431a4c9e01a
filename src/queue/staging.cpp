#include "queue/staging.hpp"

#include <algorithm>
#include <utility>

namespace plait::queue {
namespace {

/// What is spread lies on the host as far from a multiple of this as on the device: calls that compute may want it so.
constexpr std::intptr_t kAligned = 64;

[[nodiscard]] std::byte* pointer(std::intptr_t at) noexcept {
  return reinterpret_cast<std::byte*>(at);  // NOLINT(performance-no-int-to-ptr): by number, as MPI_BOTTOM is null
}

}  // namespace

Staging::Staging(Queue& queue, lane::Memory memory, Form form)
    : device_(*queue.device()),
      memory_(std::move(memory)),
      form_(memory_.layout ? form : Form::packed),
      queue_copies_(queue.queue_copies()),
      engine_copies_(queue.engine_copies()) {
  if (queue_copies_ && memory_.layout) pieces_ = pieces_of(memory_);
  if (form_ == Form::packed) {
    host_ = taken_ = device_.take(memory_.bytes);
    return;
  }
  const Span span = span_of(memory_);
  low_ = span.low;
  taken_ = device_.take(static_cast<std::size_t>(span.high - span.low + kAligned));
  host_ = taken_ + low_ % kAligned;
}
Staging::~Staging() { device_.give(taken_); }

void* Staging::host_of(const void* at) const noexcept {
  return pointer(reinterpret_cast<std::intptr_t>(host_) + (reinterpret_cast<std::intptr_t>(at) - low_));
}

template <class Run>
void Staging::for_each_run(std::uint64_t bytes, Run copy) const {
  if (!memory_.layout) {
    copy(memory_.at, host_, std::min(bytes, memory_.bytes));
    return;
  }
  const layout::Layout& layout = *memory_.layout;
  std::uint64_t position = 0;
  for (std::int64_t i = 0; i < memory_.count; ++i) {
    const std::intptr_t element = reinterpret_cast<std::intptr_t>(memory_.at) + i * layout.extent();
    for (std::int64_t k = 0; k < layout.segments(); ++k) {
      if (position >= bytes) return;
      const layout::Segment s = layout.segment(k);
      const std::uint64_t n = std::min(static_cast<std::uint64_t>(s.bytes), bytes - position);
      const std::intptr_t at = element + s.offset;
      copy(pointer(at), form_ == Form::packed ? host_ + position : host_ + (at - low_), n);
      position += n;
    }
  }
}

template <class Copy>
void Staging::for_each_piece(Copy copy) const {
  if (!memory_.layout) {
    copy(memory_.at, host_, Rows{memory_.bytes, 1, 0, 0});
    return;
  }
  for (const Piece& p : pieces_) {
    if (form_ == Form::packed) {
      copy(pointer(p.at), host_ + p.position, p.rows);
    } else {
      copy(pointer(p.at), host_ + (p.at - low_), Rows{p.rows.bytes, p.rows.count, p.rows.on_device, p.rows.on_device});
    }
  }
}

void Staging::put_to_host() const {
  for_each_piece([&](std::byte* at, std::byte* here, const Rows& rows) { queue_copies_->put_to_host(here, at, rows); });
}

void Staging::put_to_device() const {
  for_each_piece([&](std::byte* at, std::byte* here, const Rows& rows) { queue_copies_->put_to_device(at, here, rows); });
}

void Staging::copy_now(std::uint64_t bytes) const {
  if (bytes >= memory_.bytes) {
    for_each_piece([&](std::byte* at, std::byte* here, const Rows& rows) { queue_copies_->copy_now(at, here, rows); });
  } else {
    for_each_run(bytes, [&](std::byte* at, std::byte* here, std::uint64_t n) { queue_copies_->copy_now(at, here, Rows{n, 1, 0, 0}); });
  }
}

void Staging::to_host() {
  for_each_run(memory_.bytes,
               [&](std::byte* at, std::byte* here, std::uint64_t n) { copies_.push_back(engine_copies_->copy_to_host(here, at, n)); });
}

void Staging::to_device(std::uint64_t bytes) {
  for_each_run(bytes,
               [&](std::byte* at, std::byte* here, std::uint64_t n) { copies_.push_back(engine_copies_->copy_to_device(at, here, n)); });
}

bool Staging::is_over() {
  while (!copies_.empty()) {
    if (!engine_copies_->is_over(copies_.back())) return false;
    copies_.pop_back();
  }
  return true;
}

}  // namespace plait::queue
