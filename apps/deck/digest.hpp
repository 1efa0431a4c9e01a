// Whether two runs ended with the same bits, whatever the number of processes and threads.
#pragma once

#include <fmt/format.h>

#include <bit>
#include <cstdint>
#include <string>

#include "deck/files.hpp"

namespace plait::deck {

/// 128 bits over numbers and their places, a sum: equal exactly when every bit is equal (but for an accident of 2^-128). Digests of parts
/// are added half by half.
struct Digest {
  std::uint64_t low = 0, high = 0;

  void add(std::uint64_t place, double value) {
    const std::uint64_t at = mix(place + 1), bits = std::bit_cast<std::uint64_t>(value);
    low += mix(at + bits);
    high += mix(~at ^ bits);
  }
  [[nodiscard]] std::string text() const { return fmt::format("{:016x}{:016x}", low, high); }
};

}  // namespace plait::deck
