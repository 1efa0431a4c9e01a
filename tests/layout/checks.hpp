// The properties every layout must have, given its type map.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>

#include "naive.hpp"

namespace plait::layout::test {

/// Memory around address 0 of a layout, large enough for `count` elements of it.
class Memory {
 public:
  Memory(const std::vector<std::int64_t>& bytes) {
    for (const std::int64_t at : bytes) {
      lowest_ = std::min(lowest_, at);
      highest_ = std::max(highest_, at + 1);
    }
    bytes_.resize(static_cast<std::size_t>(highest_ - lowest_) + 1);  // some, since MPI refuses a null buffer
  }
  void fill(Random& random) {
    for (auto& b : bytes_) b = static_cast<std::byte>(random.in(0, 255));
  }
  [[nodiscard]] std::byte* base() { return bytes_.data() - lowest_; }
  bool operator==(const Memory&) const = default;

 private:
  std::int64_t lowest_ = 0, highest_ = 0;
  std::vector<std::byte> bytes_;
};

inline void expect_segments(const Layout& layout, const TypeMap& map, Random& random) {
  const auto expected = segments(map);
  ASSERT_EQ(layout.segments(), static_cast<std::int64_t>(expected.size()));
  std::int64_t position = 0;
  for (std::size_t k = 0; k < expected.size(); ++k) {
    const auto index = static_cast<std::int64_t>(k);
    ASSERT_EQ(layout.segment(index), expected[k]) << "segment " << k;
    ASSERT_EQ(layout.start(index).position, position);
    ASSERT_EQ(layout.segments_within(position), index);
    ASSERT_EQ(layout.segments_within(position + expected[k].bytes - 1), index);
    position += expected[k].bytes;
  }
  ASSERT_EQ(layout.bytes(), position);
  ASSERT_EQ(layout.segments_within(position), layout.segments());
  ASSERT_EQ(layout.segments_within(position + 1), layout.segments());
  for (int i = 0; i < 4; ++i) {
    const auto first = static_cast<std::size_t>(random.in(0, layout.segments()));
    std::vector<Segment> out(static_cast<std::size_t>(random.in(0, layout.segments() + 2)));
    out.resize(layout.segments(static_cast<std::int64_t>(first), out));
    const auto from = expected.begin() + static_cast<std::ptrdiff_t>(first);
    ASSERT_LE(out.size(), expected.size() - first);
    ASSERT_TRUE(std::equal(out.begin(), out.end(), from));
  }
}

/// The addresses of all bytes of `count` elements.
inline std::vector<std::int64_t> bytes_of(const Layout& layout, const TypeMap& map, std::int64_t count) {
  return addresses(times(map, count, layout.extent()));
}

inline bool overlaps(std::vector<std::int64_t> at) {
  std::sort(at.begin(), at.end());
  return std::adjacent_find(at.begin(), at.end()) != at.end();
}

/// Random ranges packed and unpacked, against one byte at a time.
inline void expect_ranges(const Layout& layout, const TypeMap& map, std::int64_t count, Random& random) {
  const auto at = bytes_of(layout, map, count);
  const auto total = static_cast<std::int64_t>(at.size());
  Memory memory(at);
  memory.fill(random);
  const Buffer buffer(layout, memory.base(), count);
  ASSERT_EQ(buffer.bytes(), total);
  for (int i = 0; i < 6; ++i) {
    const std::int64_t begin = i == 0 ? 0 : random.in(0, total);
    const auto n = static_cast<std::size_t>(i == 0 ? total : random.in(0, total - begin));
    std::vector<std::byte> packed(n + 2, std::byte{0xEE});
    ASSERT_EQ(pack(buffer, begin, std::span(packed).subspan(1, n)), n);
    ASSERT_EQ(packed.front(), std::byte{0xEE});
    ASSERT_EQ(packed.back(), std::byte{0xEE});
    for (std::size_t k = 0; k < n; ++k) {
      ASSERT_EQ(packed[k + 1], memory.base()[at[static_cast<std::size_t>(begin) + k]]) << "byte " << k;
      packed[k + 1] = static_cast<std::byte>(random.in(0, 255));
    }
    Memory expected = memory;
    for (std::size_t k = 0; k < n; ++k) expected.base()[at[static_cast<std::size_t>(begin) + k]] = packed[k + 1];
    ASSERT_EQ(unpack(std::span(packed).subspan(1, n), buffer, begin), n);
    ASSERT_EQ(memory, expected) << "unpack from " << begin << " of " << n;
  }
}

/// A random range of one buffer to a random place in another.
inline void expect_copies(const Layout& a, const TypeMap& map_a, const Layout& b, const TypeMap& map_b, Random& random) {
  const auto from = bytes_of(a, map_a, 2), to = bytes_of(b, map_b, 3);
  Memory source(from), target(to);
  source.fill(random);
  for (int i = 0; i < 4; ++i) {
    const std::int64_t at_from = random.in(0, static_cast<std::int64_t>(from.size()));
    const std::int64_t at_to = random.in(0, static_cast<std::int64_t>(to.size()));
    const auto f = static_cast<std::size_t>(at_from), t = static_cast<std::size_t>(at_to);
    const std::size_t n = std::min(from.size() - f, to.size() - t);
    Memory expected = target;
    for (std::size_t k = 0; k < n; ++k) expected.base()[to[t + k]] = source.base()[from[f + k]];
    ASSERT_EQ(copy(Buffer(a, source.base(), 2), at_from, Buffer(b, target.base(), 3), at_to, 1 << 30), n);
    ASSERT_EQ(target, expected);
  }
}

}  // namespace plait::layout::test
