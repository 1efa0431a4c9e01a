// An array that grows and whose elements stay where they are, so that they are found by number without a lock. Chunks are made at
// first use, and not freed at the end of the program, when some thread may still look. Any thread may look elements up; those that make
// some exclude each other.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <new>

namespace plait {

template <class T, std::size_t ChunkSize, std::size_t Chunks>
class ChunkedArray {
 public:
  static constexpr std::size_t kSize = ChunkSize * Chunks;

  /// Null where its chunk was never made.
  [[nodiscard]] T* find(std::size_t i) const noexcept {
    // acquire: the elements as they were made.
    T* const chunk = chunks_[i / ChunkSize].load(std::memory_order_acquire);
    return chunk ? &chunk[i % ChunkSize] : nullptr;
  }
  /// One that is known to be there.
  [[nodiscard]] T& operator[](std::size_t i) const noexcept {
    return chunks_[i / ChunkSize].load(std::memory_order_acquire)[i % ChunkSize];
  }
  /// Null where there is no memory. `prepare` is given a new chunk's first element before others see it.
  template <class Prepare>
  [[nodiscard]] T* make(std::size_t i, Prepare prepare) noexcept {
    std::atomic<T*>& chunk = chunks_[i / ChunkSize];
    if (!chunk.load(std::memory_order_relaxed)) {
      auto* const made = new (std::nothrow) T[ChunkSize];
      if (!made) return nullptr;
      prepare(made);
      // release: what was made of them.
      chunk.store(made, std::memory_order_release);
    }
    return find(i);
  }
  [[nodiscard]] T* make(std::size_t i) noexcept {
    return make(i, [](T*) {});
  }

  /// Calls f(element) for all in chunks that were made, and frees these. Nobody looks any more.
  template <class F>
  void free(F f) noexcept {
    for (std::atomic<T*>& chunk : chunks_) {
      T* const all = chunk.exchange(nullptr, std::memory_order_relaxed);
      for (std::size_t i = 0; all && i < ChunkSize; ++i) f(all[i]);
      delete[] all;
    }
  }

 private:
  std::array<std::atomic<T*>, Chunks> chunks_{};
};

}  // namespace plait
