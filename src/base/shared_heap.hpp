// Buffers of the program that other processes of the node can map. A heap has few arenas: each is a file, mapped once, whose pages
// a PagePool hands out. Blocks that are given back keep their memory for the next, up to kKept; beyond that long free runs
// go back to the system. What is where is known in private memory only, so nothing that others write can disturb it.
#pragma once

#include <sys/types.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "base/page_pool.hpp"
#include "base/shared_file.hpp"

namespace plait {

/// Any thread.
class SharedHeap {
 public:
  /// This process's. In a child of fork() it hands out nothing; the parent's blocks are there, and what the child writes into
  /// them is its own.
  static SharedHeap& get();

  SharedHeap() noexcept;
  ~SharedHeap();
  SharedHeap(const SharedHeap&) = delete;
  SharedHeap& operator=(const SharedHeap&) = delete;

  /// At a multiple of `alignment` bytes, a power of two, and of a page. Not zeroed. Null where there is no memory, or none that
  /// can be shared.
  [[nodiscard]] void* take(std::size_t bytes, std::size_t alignment = 1) noexcept;

  enum class Given { taken_back, not_a_block, not_mine };
  Given give(void* block) noexcept;

  /// Where bytes of a block lie.
  struct Place {
    RegionName heap;  ///< without a file: in none
    std::uint64_t offset = 0;
    std::uint64_t heap_bytes = 0;  ///< of all of it
  };
  /// Takes no lock where they lie in no heap.
  [[nodiscard]] Place find(const void* at, std::size_t bytes) noexcept;
  /// Does the address lie in a heap? Takes no lock.
  [[nodiscard]] bool holds(const void* at) const noexcept;

  /// So many bytes of free blocks may stay in memory, and arenas of so many bytes in all when nothing in them is used.
  static constexpr std::size_t kKept = std::size_t{64} << 20;
  /// The first arena; later ones grow with what there is.
  static constexpr std::size_t kLeastArena = std::size_t{32} << 20;
  static constexpr std::size_t kMostArenas = 64;

 private:
  struct Arena;
  [[nodiscard]] Arena* arena_of(const void* at) const noexcept;
  void note_ranges() noexcept;
  [[nodiscard]] Arena* add_arena(std::size_t bytes, std::size_t alignment);
  [[nodiscard]] std::unique_ptr<Arena> make_arena(std::size_t bytes);
  [[nodiscard]] std::unique_ptr<Arena> drop_if_unused(Arena& arena) noexcept;
  [[nodiscard]] std::size_t touched() const noexcept;
  void empty_some() noexcept;
  void become_child() noexcept;

  std::mutex lock_;
  std::vector<std::unique_ptr<Arena>> arenas_;
  /// The addresses of each, written under the lock and read without it. Whoever has a block was given it after its range was written; one
  /// who misses it while another arena goes away takes the block for memory that nobody can map.
  struct Range {
    std::atomic<std::uintptr_t> begin{0}, end{0};
  };
  std::array<Range, kMostArenas> ranges_{};
  std::atomic<std::size_t> range_count_{0};
  std::size_t bytes_ = 0;  ///< of all arenas
  std::size_t empty_at_;   ///< when free blocks hold more bytes than this, long free runs return theirs to the system
  bool emptying_ = false;  ///< a thread is in empty_some()
  bool available_;
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
