// Host memory in which the data of one call are while they travel, in packed form, for a buffer in a device's memory. By the engine's
// thread, but for making and destroying one.
#pragma once

#include <vector>

#include "lane/memory.hpp"
#include "queue/device.hpp"

namespace plait::queue {

class Staging {
 public:
  /// For a buffer in the device's memory. Throws MPIError, std::bad_alloc.
  Staging(Device& device, lane::Memory memory);
  ~Staging();
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  [[nodiscard]] std::byte* host() const noexcept { return host_; }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return memory_.bytes; }

  /// Begin to copy all; or the first so many bytes, which a receive has got. Throw MPIError.
  void to_host();
  void to_device(std::uint64_t bytes);
  /// Throws MPIError where a copy has failed.
  [[nodiscard]] bool is_over();

 private:
  /// Calls copy(address on the device, offset in the packed form, bytes) for each run of bytes.
  template <class Run>
  void for_each_run(std::uint64_t bytes, Run copy) const;

  Device& device_;
  lane::Memory memory_;
  std::byte* host_;
  std::vector<Copy> copies_;
};

}  // namespace plait::queue
