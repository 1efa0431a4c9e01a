// Buffers of other processes that lie in their shared heaps (base/shared_heap.hpp), as they lie here: each heap is mapped once, as a whole.
// What MPI_Alloc_mem has given is copied once, by plain loads and stores, without a system call. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "base/shared_heap.hpp"
#include "lane/memory.hpp"

namespace plait::lane {

/// Where a buffer of this process's lies for others; without a file: nowhere.
[[nodiscard]] inline SharedHeap::Place find_place(const Memory& m) noexcept {
  return m.layout ? SharedHeap::Place{} : SharedHeap::get().find(m.at, m.bytes);
}
/// Does it lie where others can map it?
[[nodiscard]] inline bool is_mappable(const Memory& m) noexcept { return !m.layout && SharedHeap::get().holds(m.at); }

/// A heap of another process.
struct PeerHeap {
  std::uint64_t nonce = 0;             ///< of its name
  std::shared_ptr<PeerWindow> window;  ///< null: it cannot be mapped
};

class PeerHeaps {
 public:
  static PeerHeaps& get();

  /// The heap in which a buffer lies.
  [[nodiscard]] PeerHeap find(const SharedHeap::Place& buffer) noexcept;

 private:
  /// The heaps of so many stay mapped. One that its process has given up keeps address space, and no memory.
  static constexpr std::size_t kKept = 256;

  std::mutex lock_;
  std::vector<PeerHeap> known_;  ///< the one that was found last is at the end
};

/// A buffer of another process.
struct MappedBuffer {
  std::byte* at = nullptr;             ///< null: it cannot be mapped
  std::shared_ptr<PeerWindow> window;  ///< it is there as long as this
};

/// `last`: what one lane has found last, so that it seldom has to look again.
[[nodiscard]] MappedBuffer map_buffer(PeerHeap& last, const SharedHeap::Place& buffer) noexcept;

}  // namespace plait::lane
