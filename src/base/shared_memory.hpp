// Memory of plait's own that processes of a node share. Each process has one Region; it alone allocates from it, and the others map
// what they are told of by offset. Buffers of the program lie in a SharedHeap.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "base/chunked_array.hpp"
#include "base/shared_file.hpp"

namespace plait {

/// Does the system give such files at all, as large as a region needs?
[[nodiscard]] bool shared_memory_works() noexcept;

/// Regions are mapped piecewise, so that address space too follows use.
inline constexpr std::size_t kRegionPiece = std::size_t{2} << 20;

/// The pieces of a region that are mapped here. Any thread.
class RegionMap {
 public:
  /// Owns `file`, of that name; without one, pieces are mapped like the first, which has to be there.
  RegionMap(const RegionName& name, int file) noexcept : name_(name), file_(file) {}
  ~RegionMap();
  RegionMap(const RegionMap&) = delete;
  RegionMap& operator=(const RegionMap&) = delete;

  /// The memory at an offset. Ends the program where the system refuses to map it. No lock, once its piece is mapped.
  [[nodiscard]] void* at(std::uint64_t offset) noexcept {
    const std::size_t i = offset / kRegionPiece;
    const std::atomic<std::byte*>* const known = pieces_.find(i);
    // acquire: none is needed of the mapping itself; it is the kernel's.
    std::byte* const piece = known ? known->load(std::memory_order_acquire) : nullptr;
    return (piece ? piece : map_or_end(i)) + offset % kRegionPiece;
  }
  /// The same of a piece, null where it cannot be mapped.
  [[nodiscard]] std::byte* map(std::size_t piece) noexcept;
  /// Closes the file, which mappings do not need; the first piece is there. Before any other thread comes.
  void close_file() noexcept;

 private:
  [[nodiscard]] std::byte* map_or_end(std::size_t piece) noexcept;
  [[nodiscard]] void* map_like_another(std::size_t piece) noexcept;
  [[nodiscard]] void* map_opened(std::size_t piece) noexcept;

  std::mutex lock_;
  RegionName name_;
  int file_;
  ChunkedArray<std::atomic<std::byte*>, 64, 1024> pieces_;
};

class Region {
 public:
  /// Throws std::system_error where the machine has no such memory.
  Region();
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;

  [[nodiscard]] RegionName name() const noexcept { return name_; }

  struct Place {
    std::uint64_t offset;
    void* memory;
  };
  /// Zeroed, aligned to 64 bytes, never given back. At most kRegionPiece. Throws std::bad_alloc. Any thread.
  [[nodiscard]] Place take(std::size_t bytes);
  [[nodiscard]] RegionMap& map() noexcept { return map_; }
  /// Bytes handed out.
  [[nodiscard]] std::size_t taken() const noexcept { return taken_; }

 private:
  std::mutex lock_;
  RegionName name_;
  RegionMap map_;
  std::size_t pieces_ = 0;
  std::size_t used_ = 0;  ///< of the last piece
  std::size_t taken_ = 0;
};

/// Another process's region. It has no file open: a process would have one for each other on its node. Any thread.
class PeerRegion {
 public:
  /// Throws std::system_error where it cannot be opened or is not the one named.
  explicit PeerRegion(const RegionName& name);

  [[nodiscard]] const RegionName& name() const noexcept { return name_; }
  [[nodiscard]] RegionMap& map() noexcept { return map_; }

 private:
  RegionName name_;
  RegionMap map_;
};

}  // namespace plait
