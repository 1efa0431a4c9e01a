// A message for which no receive is posted yet, and the pool of an endpoint's.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>

#include "base/list.hpp"
#include "transport/ring.hpp"

namespace plait::lane {

struct LaneIn;

struct Unexpected {
  Link<Unexpected> in_bucket, in_arrival;
  std::uint32_t source = 0;
  std::int32_t tag = 0;
  std::uint64_t bytes = 0;    ///< of the whole message
  std::uint64_t here = 0;     ///< of those, the bytes that have come
  bool offered = false;       ///< the payload is still at the sender: `offer` and `lane`, or `process` and `operation`
  bool lost = false;          ///< there was no memory for the payload: an error of the receive
  LaneIn* lane = nullptr;     ///< null: it came from another node
  std::int32_t process = -1;  ///< of another node, to which `operation` says what waits for the match
  std::uint32_t operation = 0;
  union {
    transport::Rts offer;
    std::array<std::byte, transport::kInline> small;
  };
  std::unique_ptr<std::byte[]> large;  ///< where it does not fit into `small`

  Unexpected() : small{} {}
  [[nodiscard]] const std::byte* data() const noexcept { return large ? large.get() : small.data(); }
  /// The first or next piece of the payload, where `bytes` are to come in all.
  void keep(const std::byte* from, std::size_t count) noexcept {
    if (here == 0 && bytes > small.size()) {
      large.reset(new (std::nothrow) std::byte[bytes]);
      lost = !large;
    }
    if (!lost) std::memcpy((large ? large.get() : small.data()) + here, from, count);
    here += count;
  }
};

/// Keeps records for the next messages, so that a small unexpected message usually allocates nothing. Under the endpoint's guard.
class UnexpectedPool {
 public:
  UnexpectedPool() = default;
  UnexpectedPool(const UnexpectedPool&) = delete;
  UnexpectedPool& operator=(const UnexpectedPool&) = delete;
  ~UnexpectedPool() {
    while (Unexpected* const u = free_.pop_front()) delete u;
  }

  /// Null where there is no memory.
  [[nodiscard]] Unexpected* take() noexcept {
    Unexpected* const used = free_.pop_front();
    if (!used) return new (std::nothrow) Unexpected;
    --count_;
    return new (static_cast<void*>(used)) Unexpected;
  }
  /// Of one that is in no list.
  void give(Unexpected& message) noexcept {
    if (count_ == kMost) {
      delete &message;
      return;
    }
    message.large.reset();
    free_.push_front(message);
    ++count_;
  }

 private:
  /// A flood's memory is given back.
  static constexpr std::size_t kMost = 1024;

  List<Unexpected, &Unexpected::in_bucket> free_;
  std::size_t count_ = 0;
};

}  // namespace plait::lane
