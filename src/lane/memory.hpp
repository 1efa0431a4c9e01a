// Buffers of the program and the copies that move their bytes. Any thread, as far as the bytes allow.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "layout/layout.hpp"

namespace plait::lane {

/// A buffer of the program's: contiguous bytes, or `count` elements of a layout.
struct Memory {
  std::byte* at = nullptr;  ///< of the first byte where contiguous, else the buffer's address
  std::uint64_t bytes = 0;
  std::int64_t count = 0;
  std::shared_ptr<const layout::Layout> layout;  ///< null: contiguous

  [[nodiscard]] layout::Buffer buffer() const { return {*layout, at, count}; }
};

/// Bytes [begin, begin + bytes) of a message.
struct Part {
  std::uint64_t begin = 0, bytes = 0;
};

/// Bytes [begin, begin + n) of a buffer's packed form, which must be there.
void pack(const Memory& from, std::uint64_t begin, std::byte* to, std::size_t n) noexcept;
/// The same of contiguous bytes past this core's caches, to the beginning of a line.
void pack_past_caches(const Memory& from, std::uint64_t begin, std::byte* to, std::size_t n) noexcept;
#ifdef __x86_64__
inline constexpr bool kCanPassCaches = true;
#else
inline constexpr bool kCanPassCaches = false;
#endif
void unpack(const std::byte* from, const Memory& to, std::uint64_t begin, std::size_t n) noexcept;
/// Bytes [begin, begin + n) from one buffer to another.
void copy(const Memory& from, const Memory& to, std::uint64_t begin, std::uint64_t n) noexcept;

/// Copies of at most a cell, without a call: overlapping moves of fixed size.
[[gnu::always_inline]] inline void copy_small(std::byte* to, const std::byte* from, std::size_t n) noexcept {
  if (n >= 16) {
    for (std::size_t at = 0; at + 16 <= n; at += 16) __builtin_memcpy(to + at, from + at, 16);
    __builtin_memcpy(to + n - 16, from + n - 16, 16);
  } else if (n >= 8) {
    std::uint64_t first, last;
    __builtin_memcpy(&first, from, 8);
    __builtin_memcpy(&last, from + n - 8, 8);
    __builtin_memcpy(to, &first, 8);
    __builtin_memcpy(to + n - 8, &last, 8);
  } else if (n >= 4) {
    std::uint32_t first, last;
    __builtin_memcpy(&first, from, 4);
    __builtin_memcpy(&last, from + n - 4, 4);
    __builtin_memcpy(to, &first, 4);
    __builtin_memcpy(to + n - 4, &last, 4);
  } else {
    for (std::size_t i = 0; i < n; ++i) to[i] = from[i];
  }
}

}  // namespace plait::lane
