// Memory that the host cannot read or write itself: a GPU's. Messages are made of host memory, so what lies on a device is copied there
// and back by the device, asynchronously. By the engine's thread, but for `place`,
// `is_pageable`, `take` and `give`, which are any thread's.
#pragma once

#include <cstddef>
#include <cstdint>

namespace plait::queue {

enum class Place : std::uint8_t {
  host,       ///< the host reads and writes it
  device,     ///< copies are needed
  elsewhere,  ///< of another device than the queue's
};

/// A copy that was begun.
struct Copy {
  std::uint64_t number = 0;
};

class Device {
 public:
  Device() = default;
  virtual ~Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  [[nodiscard]] virtual Place place(const void* at) noexcept = 0;
  /// Host memory that the device does not know: its own copies take their data at once.
  [[nodiscard]] virtual bool is_pageable(const void*) noexcept { return false; }
  /// Begins to copy between host memory from `take` and the device's. Throws MPIError.
  [[nodiscard]] virtual Copy copy_to_host(std::byte* to, const void* from, std::size_t bytes) = 0;
  [[nodiscard]] virtual Copy copy_to_device(void* to, const std::byte* from, std::size_t bytes) = 0;
  /// Throws MPIError where it has failed.
  [[nodiscard]] virtual bool is_over(Copy copy) = 0;
  /// Host memory that the device copies to and from fast. Throws std::bad_alloc, MPIError.
  [[nodiscard]] virtual std::byte* take(std::size_t bytes) = 0;
  virtual void give(std::byte* at) noexcept = 0;
};

}  // namespace plait::queue
