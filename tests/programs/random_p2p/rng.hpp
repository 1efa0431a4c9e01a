// Random numbers that every process draws alike: a draw depends on the seed and on what is asked about, not on who asks
// or when. No state is shared; a generator belongs to one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace random_p2p {

/// SplitMix64's finaliser (Steele, Lea, Flood 2014): every bit of the result depends on every bit of x.
constexpr std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

constexpr std::uint64_t golden = 0x9e3779b97f4a7c15U;

template <class... Words>
constexpr std::uint64_t hash(Words... words) {
  std::uint64_t h = 0;
  ((h = mix(h + golden + static_cast<std::uint64_t>(words))), ...);
  return h;
}

class Rng {
 public:
  explicit Rng(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() { return mix(state_ += golden); }
  /// Uniform in [0, n), n below 2^32.
  std::uint32_t below(std::uint64_t n) { return static_cast<std::uint32_t>(((next() >> 32) * n) >> 32); }
  bool one_in(std::uint32_t n) { return below(n) == 0; }
  template <class T>
  void shuffle(std::vector<T>& items) {
    for (std::size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[below(i)]);
  }

 private:
  std::uint64_t state_;
};

}  // namespace random_p2p
