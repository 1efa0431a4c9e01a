// Memory of each process of a communicator that all of them can use. It lies in their shared heaps, which are mapped once.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "lane/peer_heaps.hpp"

namespace plait::shan {

class SharedBlock {
 public:
  /// `bytes` for this process, zeroed. Collective. Throws Failure in all processes or in none.
  SharedBlock(std::size_t bytes, MPI_Comm comm);
  ~SharedBlock();
  SharedBlock(const SharedBlock&) = delete;
  SharedBlock& operator=(const SharedBlock&) = delete;

  [[nodiscard]] std::size_t processes() const noexcept { return parts_.size(); }
  [[nodiscard]] std::byte* at(std::size_t process) const noexcept { return parts_[process].at; }
  [[nodiscard]] std::size_t bytes(std::size_t process) const noexcept { return bytes_[process]; }

 private:
  void* mine_ = nullptr;
  std::vector<lane::MappedBuffer> parts_;
  std::vector<std::size_t> bytes_;
};

/// A block of this process's own in its shared heap.
class OwnBlock {
 public:
  /// Throws Failure.
  explicit OwnBlock(std::size_t bytes);
  ~OwnBlock();
  OwnBlock(const OwnBlock&) = delete;
  OwnBlock& operator=(const OwnBlock&) = delete;

  [[nodiscard]] std::byte* data() const noexcept { return static_cast<std::byte*>(memory_); }
  [[nodiscard]] SharedHeap::Place place() const noexcept { return SharedHeap::get().find(memory_, bytes_); }

 private:
  void* memory_;
  std::size_t bytes_;
};

}  // namespace plait::shan
