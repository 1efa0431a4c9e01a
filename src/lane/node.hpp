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
  std::int32_t region = 0;  ///< RegionName::id
  std::uint64_t offset = 0;
};

class Node {
 public:
  /// Made at first use. Throws std::system_error where the machine has no shared memory.
  static Node& get();

  [[nodiscard]] Region& region() noexcept { return own_; }
  /// This process's, as addresses have it.
  [[nodiscard]] std::int32_t region_id() const noexcept { return id_; }

  /// Makes another process's memory known; false where that cannot be had, or where it is not told from another's.
  [[nodiscard]] bool attach(const RegionName& name) noexcept;
  /// The memory of this process or of one that is attached. What is read again and again is better found by this.
  [[nodiscard]] RegionMap& map_of(std::int32_t region) noexcept;
  [[nodiscard]] void* at(Address address) noexcept { return map_of(address.region).at(address.offset); }
  /// The pid of one that is attached.
  [[nodiscard]] std::int32_t pid_of(std::int32_t region) noexcept;

 private:
  [[nodiscard]] PeerRegion& peer(std::int32_t region) noexcept;

  Region own_;
  std::int32_t id_ = own_.name().id();
  std::mutex lock_;
  std::map<std::int32_t, std::unique_ptr<PeerRegion>> peers_;
};

}  // namespace plait::lane
