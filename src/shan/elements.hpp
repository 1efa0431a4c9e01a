// What a neighbour is sent and what is received from it: elements by their offsets, or the layout of a datatype. Those of a sender on the
// node are read where it has published them. No thread changes them meanwhile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "layout/layout.hpp"

namespace plait::shan {

/// Elements of equal length, in memory of so many bytes.
struct Elements {
  std::byte* memory = nullptr;
  std::size_t memory_bytes = 0;
  std::int64_t count = 0;
  std::int64_t length = 0;
  const long* offset = nullptr;
  const layout::Layout* layout = nullptr;  ///< instead of those three

  [[nodiscard]] std::int64_t bytes() const noexcept { return layout ? layout->bytes() : count * length; }
};

/// Throws Failure where elements lie outside of the memory, or more bytes are sent than received or fewer: then some may have been copied.
void copy(const Elements& from, const Elements& to);
void gather(const Elements& from, std::span<std::byte> to);
void scatter(std::span<const std::byte> from, const Elements& to);

/// A layout as others can read it: runs in the order of its bytes, as few as there are regular pieces.
struct PublishedRun {
  std::int64_t at, bytes, count, stride, planes, plane_stride;
};
[[nodiscard]] std::vector<PublishedRun> publish(const layout::Layout& layout);
[[nodiscard]] std::unique_ptr<layout::Layout> rebuild(std::span<const PublishedRun> runs);

}  // namespace plait::shan
