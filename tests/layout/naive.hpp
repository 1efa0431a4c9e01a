// What layouts are held against: type maps written out byte run by byte run, with no cleverness.
#pragma once

#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "layout/layout.hpp"

namespace plait::layout::test {

/// Basic elements in type-map order; those of no bytes may be among them.
using TypeMap = std::vector<Run>;

inline TypeMap shifted(TypeMap map, std::int64_t by) {
  for (Run& r : map) r.offset += by;
  return map;
}

inline void append(TypeMap& map, const TypeMap& more, std::int64_t by) {
  for (const Run& r : more) map.push_back({r.offset + by, r.bytes});
}

inline TypeMap times(const TypeMap& map, std::int64_t count, std::int64_t stride) {
  TypeMap all;
  for (std::int64_t i = 0; i < count; ++i) append(all, map, i * stride);
  return all;
}

/// The address of every byte in order.
inline std::vector<std::int64_t> addresses(const TypeMap& map) {
  std::vector<std::int64_t> all;
  for (const Run& r : map) {
    for (std::int64_t i = 0; i < r.bytes; ++i) all.push_back(r.offset + i);
  }
  return all;
}

/// Segments by their definition: a new one wherever a byte does not lie right behind the one before.
inline std::vector<Segment> segments(const TypeMap& map) {
  std::vector<Segment> all;
  for (const std::int64_t at : addresses(map)) {
    if (!all.empty() && all.back().offset + all.back().bytes == at) {
      ++all.back().bytes;
    } else {
      all.push_back({at, 1});
    }
  }
  return all;
}

class Random {
 public:
  explicit Random(std::uint64_t seed, bool tame = false) : engine_(seed), tame_(tame) {}
  /// True where what is made is for an MPI to move, some of which stumble over overlapping elements and empty members.
  [[nodiscard]] bool tame() const { return tame_; }
  std::int64_t in(std::int64_t low, std::int64_t high) { return std::uniform_int_distribution<std::int64_t>(low, high)(engine_); }
  bool chance(double p) { return std::bernoulli_distribution(p)(engine_); }

 private:
  std::mt19937_64 engine_;
  bool tame_;
};

}  // namespace plait::layout::test
