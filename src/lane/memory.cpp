#include "lane/memory.hpp"

#include <cstring>

#ifdef __x86_64__
#include <emmintrin.h>
#endif

namespace plait::lane {
namespace {

constexpr std::size_t kSmall = 64;

void copy_bytes(std::byte* to, const std::byte* from, std::size_t n) noexcept {
  if (n <= kSmall) {
    copy_small(to, from, n);
  } else {
    std::memcpy(to, from, n);
  }
}

}  // namespace

void pack(const Memory& from, std::uint64_t begin, std::byte* to, std::size_t n) noexcept {
  if (from.layout) {
    layout::pack(from.buffer(), static_cast<std::int64_t>(begin), {to, n});
  } else {
    copy_bytes(to, from.at + begin, n);
  }
}

void pack_past_caches(const Memory& from, std::uint64_t begin, std::byte* to, std::size_t n) noexcept {
#ifdef __x86_64__
  constexpr std::size_t kLine = 64;
  constexpr std::size_t kVector = sizeof(__m128i);
  const std::byte* const first = from.at + begin;
  std::size_t at = 0;
  for (; at + kLine <= n; at += kLine) {
    for (std::size_t i = at; i < at + kLine; i += kVector)
      _mm_stream_si128(reinterpret_cast<__m128i*>(to + i), _mm_loadu_si128(reinterpret_cast<const __m128i*>(first + i)));
  }
  std::memcpy(to + at, first + at, n - at);
  _mm_sfence();  // such stores are not ordered by a release
#else
  pack(from, begin, to, n);
#endif
}

void unpack(const std::byte* from, const Memory& to, std::uint64_t begin, std::size_t n) noexcept {
  if (to.layout) {
    layout::unpack({from, n}, to.buffer(), static_cast<std::int64_t>(begin));
  } else {
    copy_bytes(to.at + begin, from, n);
  }
}

void copy(const Memory& from, const Memory& to, std::uint64_t begin, std::uint64_t n) noexcept {
  if (!from.layout) {
    unpack(from.at + begin, to, begin, n);
  } else if (!to.layout) {
    pack(from, begin, to.at + begin, n);
  } else {
    const auto at = static_cast<std::int64_t>(begin);
    layout::copy(from.buffer(), at, to.buffer(), at, static_cast<std::int64_t>(n));
  }
}

}  // namespace plait::lane
