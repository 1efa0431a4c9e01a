#include "cluster/diff.hpp"

#include <array>
#include <bit>
#include <cstring>

#include "cluster/space.hpp"

namespace plait::cluster {
namespace {

constexpr std::size_t kWords = kPage / 8;
constexpr std::size_t kMap = kWords / 8;

std::uint64_t word_at(const std::byte* page, std::size_t word) noexcept {
  std::uint64_t value;
  std::memcpy(&value, page + word * 8, 8);
  return value;
}

/// A bit for each byte that is not zero.
std::uint8_t bytes_set(std::uint64_t word) noexcept {
  constexpr std::uint64_t kLow = 0x7F7F7F7F7F7F7F7F;
  const std::uint64_t high = (((word & kLow) + kLow) | word) & ~kLow;
  return static_cast<std::uint8_t>(((high >> 7) * 0x0102040810204080) >> 56);
}

constexpr std::array<std::uint64_t, 256> kWide = [] {
  std::array<std::uint64_t, 256> wide{};
  for (std::size_t mask = 0; mask < wide.size(); ++mask) {
    for (unsigned bit = 0; bit < 8; ++bit) {
      if (mask & (std::size_t{1} << bit)) wide[mask] |= std::uint64_t{0xFF} << (8 * bit);
    }
  }
  return wide;
}();

}  // namespace

std::vector<std::byte> encode_diff(const std::byte* page, const std::byte* twin) {
  std::array<std::uint64_t, kMap / 8> map{};
  std::array<std::uint8_t, kWords> masks;
  std::array<std::uint64_t, kWords> words;
  std::size_t count = 0;
  for (std::size_t line = 0; line < kWords; line += 8) {
    if (std::memcmp(page + line * 8, twin + line * 8, 64) == 0) continue;
    for (std::size_t word = line; word < line + 8; ++word) {
      const std::uint64_t value = word_at(page, word);
      const std::uint64_t changed = value ^ word_at(twin, word);
      if (!changed) continue;
      map[word / 64] |= std::uint64_t{1} << (word % 64);
      masks[count] = bytes_set(changed);
      words[count++] = value;
    }
  }
  std::vector<std::byte> diff;
  if (count == 0) return diff;
  diff.resize(kMap + count * 9);
  std::memcpy(diff.data(), map.data(), kMap);
  std::memcpy(diff.data() + kMap, masks.data(), count);
  std::memcpy(diff.data() + kMap + count, words.data(), count * 8);
  return diff;
}

std::vector<std::byte> diff_of_object(std::size_t offset, std::size_t bytes, const std::byte* page) {
  const std::size_t word = offset / 8;
  const std::uint64_t value = word_at(page, word);
  std::vector<std::byte> diff(kMap + 9);
  diff[word / 8] = std::byte{1} << (word % 8);
  diff[kMap] = static_cast<std::byte>(((1U << bytes) - 1) << (offset % 8));
  std::memcpy(diff.data() + kMap + 1, &value, sizeof value);
  return diff;
}

namespace {

/// Calls `put(place, value, mask)` for each word that has changed.
template <class Put>
void for_each_word(std::span<const std::byte> diff, std::byte* page, Put put) noexcept {
  if (diff.size() < kMap) return;
  const std::size_t count = (diff.size() - kMap) / 9;
  std::array<std::uint64_t, kMap / 8> map;
  std::memcpy(map.data(), diff.data(), kMap);
  const std::byte* const masks = diff.data() + kMap;
  const std::byte* const words = masks + count;
  std::size_t next = 0;
  for (std::size_t part = 0; part < map.size(); ++part) {
    for (std::uint64_t left = map[part]; left; left &= left - 1) {
      const std::size_t word = part * 64 + static_cast<std::size_t>(std::countr_zero(left));
      put(page + word * 8, word_at(words, next), static_cast<std::uint8_t>(masks[next]));
      ++next;
    }
  }
}

}  // namespace

void apply_diff(std::span<const std::byte> diff, std::byte* page) noexcept {
  for_each_word(diff, page, [](std::byte* place, std::uint64_t value, std::uint8_t mask) {
    const std::uint64_t merged = (word_at(place, 0) & ~kWide[mask]) | (value & kWide[mask]);
    std::memcpy(place, &merged, 8);
  });
}

void apply_diff_to_page_in_use(std::span<const std::byte> diff, std::byte* page) noexcept {
  for_each_word(diff, page, [](std::byte* place, std::uint64_t value, std::uint8_t mask) {
    if (mask == 0xFF) {
      std::memcpy(place, &value, 8);
      return;
    }
    for (unsigned i = 0; i < 8; ++i) {
      // A store of one byte, which the compiler must not widen.
      if (mask >> i & 1) const_cast<volatile std::byte*>(place)[i] = static_cast<std::byte>(value >> (8 * i));
    }
  });
}

bool differs(const std::byte* page, const std::byte* twin) noexcept { return std::memcmp(page, twin, kPage) != 0; }

}  // namespace plait::cluster
