// Where the members of a group leave letters for one of them, in its region. Each slot is written by one member, in turn with the owner's
// reading it. Copies of this are views of the same memory.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "gaspi/config.hpp"
#include "gaspi/group.hpp"

namespace plait::gaspi {

class Mailbox {
 public:
  Mailbox() = default;
  /// How one is laid out, without memory: for so many members, and reductions of so many bytes of the program's or so many elements, or for
  /// a piece of these.
  Mailbox(std::size_t members, std::size_t bytes, std::size_t elements) noexcept
      : rounds_(static_cast<std::size_t>(std::bit_width(members))),
        stride_((kData + std::min(std::max(bytes, elements * sizeof(double)), kReduction) + 63) / 64 * 64) {}
  Mailbox(std::byte* memory, const Mailbox& as) noexcept : memory_(memory), rounds_(as.rounds_), stride_(as.stride_) {}

  explicit operator bool() const noexcept { return memory_ != nullptr; }
  [[nodiscard]] std::size_t bytes() const noexcept { return rounds_ * 64 + 2 * (rounds_ + 2) * stride_; }

  void put(const Letter& letter, const void* data, std::size_t bytes) noexcept {
    std::byte* const at = slot(letter.kind, letter.slot, letter.number);
    if (bytes > 0) std::memcpy(at + kData, data, bytes);
    // release: the data.
    number(at).store(letter.number, std::memory_order_release);
  }
  [[nodiscard]] bool has_come(Letter::Kind kind, std::uint8_t which, std::uint64_t n) const noexcept {
    // acquire: the data. A barrier's slot may have the next one's number already.
    return number(slot(kind, which, n)).load(std::memory_order_acquire) >= n;
  }
  [[nodiscard]] void* data(std::uint8_t which, std::uint64_t n) const noexcept { return slot(Letter::Kind::reduction, which, n) + kData; }

 private:
  /// Behind the number, in the same line where it fits.
  static constexpr std::size_t kData = 16;

  [[nodiscard]] std::byte* slot(Letter::Kind kind, std::uint8_t which, std::uint64_t n) const noexcept {
    if (kind == Letter::Kind::barrier) return memory_ + std::size_t{which} * 64;
    return memory_ + rounds_ * 64 + (2 * std::size_t{which} + n % 2) * stride_;
  }
  static std::atomic<std::uint64_t>& number(std::byte* at) noexcept { return *reinterpret_cast<std::atomic<std::uint64_t>*>(at); }

  std::byte* memory_ = nullptr;
  std::size_t rounds_ = 0, stride_ = 0;
};

}  // namespace plait::gaspi
