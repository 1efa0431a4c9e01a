#include "queue/place.hpp"

#include <mpi.h>

#include <algorithm>

#include "base/error.hpp"

namespace plait::queue {
namespace {

using layout::Kind;
using layout::Node;

/// Finds in which sort of memory a datatype's pieces lie. To ask a driver about one piece takes as long as a short message, so only some
/// are asked about: of copies at a fixed distance the first and the last, of pieces at any offset every n-th, and kLooks in all.
class Look {
 public:
  explicit Look(Device& device) noexcept : device_(device) {}

  void at(const Node& node, std::intptr_t address) {
    if (looks_ == kLooks) return;
    switch (node.kind) {
      case Kind::run:
        run(address, node.bytes);
        return;
      case Kind::repeated:
        at(*node.child, address);
        at(*node.child, address + (node.count - 1) * node.stride);
        return;
      case Kind::runs:
        some(node.count, [&](std::int64_t i) { run(address + node.offset[i], node.bytes_before(i + 1) - node.bytes_before(i)); });
        return;
      case Kind::parts:
        some(node.count, [&](std::int64_t i) { at(node.part[i].node, address + node.part[i].offset); });
        return;
    }
  }
  void run(std::intptr_t address, std::int64_t bytes) {
    if (bytes == 0 || looks_ == kLooks) return;
    const Place its = device_.place(reinterpret_cast<const void*>(address), static_cast<std::size_t>(bytes));  // NOLINT: of the program's
    require(its != Place::elsewhere && (its == found_ || looks_ == 0), MPI_ERR_BUFFER);
    found_ = its;
    ++looks_;
  }
  [[nodiscard]] Place found() const noexcept { return found_; }

 private:
  /// The first and the last of `count`, and of those between them as many as may be.
  template <class Body>
  void some(std::int64_t count, Body body) {
    const std::int64_t step = std::max<std::int64_t>(1, count / kOfOne);
    for (std::int64_t i = 0; i < count - 1; i += step) body(i);
    body(count - 1);
  }

  static constexpr std::int64_t kOfOne = 32;
  static constexpr int kLooks = 256;  ///< in all
  Device& device_;
  Place found_ = Place::host;
  int looks_ = 0;
};

}  // namespace

std::byte* first_byte(const lane::Memory& memory) noexcept {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): by number, as MPI_BOTTOM is null
  return memory.layout ? reinterpret_cast<std::byte*>(memory.buffer().at()) : memory.at;
}

Place place_of(Device* device, const lane::Memory& memory) {
  if (memory.bytes == 0) return Place::host;
  require(first_byte(memory) && first_byte(memory) != MPI_IN_PLACE, MPI_ERR_BUFFER);
  if (!device) return Place::host;
  Look look(*device);
  if (memory.layout) {
    const layout::Buffer buffer = memory.buffer();
    look.at(buffer.node(), buffer.at());
  } else {
    look.run(reinterpret_cast<std::intptr_t>(memory.at), static_cast<std::int64_t>(memory.bytes));
  }
  return look.found();
}

void require_of_host(Device* device, const lane::Memory& memory) {
  require(place_of(device, memory) == Place::host || device->is_shared(first_byte(memory)), MPI_ERR_BUFFER);
}

}  // namespace plait::queue
