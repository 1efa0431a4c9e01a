// This process among those of its node: its shared memory, and that of the others that it has met. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

#include "base/shared_memory.hpp"

namespace plait::lane {

/// Where an endpoint's memory lies.
struct Address {
  std::int32_t pid = 0;
  std::uint64_t offset = 0;
};

class Node {
 public:
  /// Made at first use. Throws std::system_error where the machine has no shared memory.
  static Node& get();

  [[nodiscard]] Region& region() noexcept { return own_; }
  [[nodiscard]] std::int32_t pid() const noexcept { return own_.name().pid; }

  /// Makes another process's memory known; false where that cannot be had.
  [[nodiscard]] bool attach(const RegionName& name) noexcept;
  /// Memory of this process or one that is attached. Ends the program where the system refuses to map it.
  [[nodiscard]] void* at(Address address) noexcept;

  /// Reads a process's memory; false where that is not allowed or the process is gone.
  [[nodiscard]] static bool read(std::int32_t pid, std::uint64_t address, std::byte* to, std::size_t bytes) noexcept;

 private:
  Region own_;
  std::mutex lock_;
  std::map<std::int32_t, std::unique_ptr<PeerRegion>> peers_;
};

}  // namespace plait::lane
