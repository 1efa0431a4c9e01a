// Segments: those of this process, and those of others as they lie here. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/shared_heap.hpp"
#include "gaspi/board.hpp"
#include "gaspi/in_use.hpp"
#include "gaspi/job.hpp"

namespace plait::gaspi {

/// A near rank's segment as it lies here. Found inside an InUse, and used there or pinned.
struct View {
  ~View();

  Pins pins;

  enum class Way : std::uint8_t {
    mapped,    ///< at `data`
    system,    ///< by the system's calls on other processes' memory
    messages,  ///< its process does it
  };
  SegmentEntry* entry = nullptr;
  std::uint32_t version = 0;
  Way way = Way::mapped;
  bool counted = false;  ///< those that write are, as the memory is the program's
  std::byte* data = nullptr;
  std::uint64_t bytes = 0;
  Board* board = nullptr;
  std::uint64_t address = 0;  ///< in its process

  void* pages = nullptr;
  std::size_t page_bytes = 0;
  std::shared_ptr<PeerWindow> window;
  int file = -1;  ///< of one of this process's

  [[nodiscard]] bool is_there() const noexcept { return entry->version() == version; }
  [[nodiscard]] bool has(std::uint64_t offset, std::uint64_t n) const noexcept { return offset <= bytes && n <= bytes - offset; }
};

/// Null where there is none, or it is not registered here.
[[nodiscard]] View* find_new(Job& job, Peer& peer, std::uint32_t segment) noexcept;
[[nodiscard]] inline View* find(Job& job, Peer& peer, std::uint32_t segment) noexcept {
  // acquire: as it was made.
  if (Peer::Views* const views = peer.views.load(std::memory_order_acquire)) [[likely]] {
    View* const known = (*views)[segment].load(std::memory_order_acquire);
    if (known && known->is_there()) [[likely]]
      return known;
  }
  return find_new(job, peer, segment);
}
/// This process's own.
[[nodiscard]] inline View* own(Job& job, std::uint32_t segment) noexcept {
  Peer::Views* const views = job.self().views.load(std::memory_order_acquire);
  View* const known = views ? (*views)[segment].load(std::memory_order_acquire) : nullptr;
  return known && known->is_there() ? known : nullptr;
}

// These return GASPI's codes. Whether the number can be is known.
[[nodiscard]] gaspi_return_t allocate(Job& job, std::uint32_t segment, std::uint64_t bytes);
[[nodiscard]] gaspi_return_t bind(Job& job, std::uint32_t segment, void* memory, std::uint64_t bytes);
[[nodiscard]] gaspi_return_t remove(Job& job, std::uint32_t segment);
/// With a near rank: at once.
void register_near(Job& job, std::uint32_t segment, Peer& peer) noexcept;
/// Allocates, or binds what is not null, registers with all of a group and waits for them. Takes up a call that has timed out.
[[nodiscard]] gaspi_return_t create(Job& job, std::uint32_t segment, void* memory, std::uint64_t bytes, std::uint32_t group,
                                    gaspi_timeout_t timeout);
/// With any rank.
[[nodiscard]] gaspi_return_t register_with(Job& job, std::uint32_t segment, Peer& peer, const Deadline& deadline) noexcept;
/// All of them, at the end.
void remove_all(Job& job) noexcept;
/// Forgets those of others.
void forget_views(Peer& peer) noexcept;

}  // namespace plait::gaspi
