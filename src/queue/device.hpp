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
  elsewhere,  ///< of another device than the queue's, or not all of it is there
};

/// Any thread.
class Device {
 public:
  Device() = default;
  virtual ~Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  /// Of so many bytes, at least one.
  [[nodiscard]] virtual Place place(const void* at, std::size_t bytes) noexcept = 0;
  /// Of the device's memory: can the host's threads read and write it, too, whenever they like?
  [[nodiscard]] virtual bool is_shared(const void*) noexcept { return false; }
  /// Host memory that the device does not know: its own copies take their data at once.
  [[nodiscard]] virtual bool is_pageable(const void*) noexcept { return false; }
  /// Host memory that the device copies to and from fast. Throws std::bad_alloc, MPIError.
  [[nodiscard]] virtual std::byte* take(std::size_t bytes) = 0;
  virtual void give(std::byte* at) noexcept = 0;
};

/// A copy that was begun.
struct Copy {
  std::uint64_t number = 0;
};

/// Of a queue beside which the engine copies. By its thread. Functions throw MPIError.
class EngineCopies {
 public:
  EngineCopies() = default;
  virtual ~EngineCopies() = default;
  EngineCopies(const EngineCopies&) = delete;
  EngineCopies& operator=(const EngineCopies&) = delete;

  /// Begin to copy between host memory from `Device::take` and the device's.
  [[nodiscard]] virtual Copy copy_to_host(std::byte* to, const void* from, std::size_t bytes) = 0;
  [[nodiscard]] virtual Copy copy_to_device(void* to, const std::byte* from, std::size_t bytes) = 0;
  /// Throws where it has failed.
  [[nodiscard]] virtual bool is_over(Copy copy) = 0;
};

/// Rows of so many bytes, and how far each begins behind the one before; a single one is a run of bytes.
struct Rows {
  std::size_t bytes = 0, count = 1;
  std::size_t on_device = 0, on_host = 0;
};

/// Of a queue on which the copies are put. Any thread. Functions throw MPIError.
class QueueCopies {
 public:
  QueueCopies() = default;
  virtual ~QueueCopies() = default;
  QueueCopies(const QueueCopies&) = delete;
  QueueCopies& operator=(const QueueCopies&) = delete;

  /// Puts one on the queue, behind all that is there now.
  virtual void put_to_host(std::byte* to, const void* from, const Rows& rows) = 0;
  virtual void put_to_device(void* to, const std::byte* from, const Rows& rows) = 0;
  /// Copies at once, beside the queue, and waits for that.
  virtual void copy_now(void* to, const std::byte* from, const Rows& rows) = 0;
};

}  // namespace plait::queue
