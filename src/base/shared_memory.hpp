// Memory that processes of a node share. Each process has one Region for what plait itself needs, and one SharedHeap for
// buffers of the program. It alone allocates from them; the others map what they are told of by offset. They are anonymous
// files that live as long as somebody has them open: however processes end, nothing is left behind.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "base/chunked_array.hpp"

namespace plait {

/// What another process needs to open such a file.
struct RegionName {
  std::int32_t pid = 0;
  std::int32_t file = -1;   ///< descriptor in that process; -1: it has no region
  std::uint64_t nonce = 0;  ///< tells it from whatever else has that number, in another namespace say

  /// Tells regions of a node apart: pids do not, where there are several namespaces. Not negative.
  [[nodiscard]] std::int32_t id() const noexcept { return static_cast<std::int32_t>(nonce & 0x7FFFFFFF); }
};

/// Regions are mapped piecewise, so that address space too follows use.
inline constexpr std::size_t kRegionPiece = std::size_t{2} << 20;

/// The pieces of a region that are mapped here. Any thread.
class RegionMap {
 public:
  /// Owns the file.
  explicit RegionMap(int file) noexcept : file_(file) {}
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
  [[nodiscard]] int file() const noexcept { return file_; }

 private:
  [[nodiscard]] std::byte* map_or_end(std::size_t piece) noexcept;

  std::mutex lock_;
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

/// Another process's region. Any thread.
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

/// Blocks of whole pages. Any thread.
class SharedHeap {
 public:
  /// This process's.
  static SharedHeap& get();

  SharedHeap() = default;
  ~SharedHeap();
  SharedHeap(const SharedHeap&) = delete;
  SharedHeap& operator=(const SharedHeap&) = delete;

  /// Zeroed. Null where there is no memory.
  [[nodiscard]] void* take(std::size_t bytes) noexcept;
  /// False if it is not the address of a block.
  bool give(void* block) noexcept;

  /// Where bytes lie that are in one block.
  struct Place {
    RegionName heap;  ///< without a file: they are in none
    std::uint64_t offset = 0;
  };
  [[nodiscard]] Place find(const void* at, std::size_t bytes) noexcept;

 private:
  struct Block {
    std::uint64_t offset = 0;
    std::size_t bytes = 0;  ///< whole pages
  };
  [[nodiscard]] bool has_file() noexcept;
  [[nodiscard]] std::uint64_t room_for(std::size_t bytes);
  void add_room(std::uint64_t offset, std::size_t bytes);

  std::mutex lock_;
  RegionName name_;
  std::uint64_t end_ = 0;  ///< of the file
  std::map<const std::byte*, Block> blocks_;
  std::map<std::uint64_t, std::size_t> room_;  ///< what has been given back, by offset; neighbours are one
};

/// Some bytes of another process's heap, or of this one's, mapped once more.
class PeerWindow {
 public:
  /// Throws std::system_error.
  PeerWindow(const SharedHeap::Place& place, std::size_t bytes);
  ~PeerWindow();
  PeerWindow(const PeerWindow&) = delete;
  PeerWindow& operator=(const PeerWindow&) = delete;

  [[nodiscard]] std::byte* data() const noexcept { return data_; }

 private:
  void* pages_;
  std::size_t bytes_;
  std::byte* data_;
};

}  // namespace plait
