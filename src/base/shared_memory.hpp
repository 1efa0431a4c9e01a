// Memory that processes of a node share. Each process has one Region, which it alone allocates from; the others map what
// they are told of by offset. It is an anonymous file that lives as long as somebody has it open: however processes end,
// nothing is left behind.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace plait {

/// What another process needs to open a region.
struct RegionName {
  std::int32_t pid = 0;
  std::int32_t file = -1;   ///< descriptor in that process; -1: it has no region
  std::uint64_t nonce = 0;  ///< tells it from whatever else has that number, in another namespace say
};

/// Regions are mapped piecewise, so that address space too follows use.
inline constexpr std::size_t kRegionPiece = std::size_t{2} << 20;

class Region {
 public:
  /// Throws std::system_error where the machine has no such memory.
  Region();
  ~Region();
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;

  [[nodiscard]] RegionName name() const noexcept { return name_; }

  struct Place {
    std::uint64_t offset;
    void* memory;
  };
  /// Zeroed, aligned to 64 bytes, never given back. At most kRegionPiece. Throws std::bad_alloc. Any thread.
  [[nodiscard]] Place take(std::size_t bytes);
  [[nodiscard]] void* at(std::uint64_t offset);
  /// Bytes handed out.
  [[nodiscard]] std::size_t taken() const noexcept { return taken_; }

 private:
  std::mutex lock_;
  RegionName name_;
  std::vector<void*> pieces_;
  std::size_t used_ = 0;  ///< of the last piece
  std::size_t taken_ = 0;
};

/// Another process's region. Any thread.
class PeerRegion {
 public:
  /// Throws std::system_error where it cannot be opened or is not the one named.
  explicit PeerRegion(const RegionName& name);
  ~PeerRegion();
  PeerRegion(const PeerRegion&) = delete;
  PeerRegion& operator=(const PeerRegion&) = delete;

  /// Throws std::system_error.
  [[nodiscard]] void* at(std::uint64_t offset);

 private:
  std::mutex lock_;
  int file_;
  std::vector<void*> pieces_;
};

}  // namespace plait
