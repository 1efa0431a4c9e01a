// Binary search in a table that is computed entry by entry.
#pragma once

#include <cstdint>

namespace plait::layout {

/// The last i in [0, count) with key(i) <= value; keys ascend and key(0) <= value.
template <class Key>
[[nodiscard]] std::int64_t last_not_above(std::int64_t count, std::int64_t value, Key key) {
  std::int64_t first = 0;
  while (count > 1) {
    const std::int64_t half = count / 2;
    if (key(first + half) <= value) first += half;
    count -= half;
  }
  return first;
}

}  // namespace plait::layout
