// Short-lived arrays of a call: from a buffer that the thread keeps, so that no call but the first few allocates. Calls
// that are made inside others (by callbacks) take the heap.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <span>
#include <type_traits>

namespace plait {

class Scratch {
 public:
  /// Room for `bytes` in all. Throws std::bad_alloc.
  explicit Scratch(std::size_t bytes) {
    if (!kept().busy) {
      kept().busy = owner_ = true;
      try {
        reserve(kept(), bytes);
      } catch (...) {
        kept().busy = false;
        throw;
      }
      next_ = kept().memory.get();
    } else {
      own_ = std::make_unique_for_overwrite<std::byte[]>(bytes);
      next_ = own_.get();
    }
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() {
    if (owner_) kept().busy = false;
  }

  /// What `take` needs of the room.
  template <class T>
  static constexpr std::size_t bytes(std::size_t count) {
    return count * sizeof(T) + alignof(std::max_align_t);
  }

  template <class T>
  std::span<T> take(std::size_t count) {
    static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);
    T* const first = reinterpret_cast<T*>(next_);
    const std::size_t unit = alignof(std::max_align_t);
    next_ += (count * sizeof(T) + unit - 1) / unit * unit;
    std::uninitialized_default_construct_n(first, count);
    return {first, count};
  }

 private:
  struct Kept {
    std::unique_ptr<std::byte[]> memory;
    std::size_t bytes = 0;
    bool busy = false;
  };
  static Kept& kept() {
    thread_local Kept kept;
    return kept;
  }
  static void reserve(Kept& kept, std::size_t bytes) {
    if (kept.bytes >= bytes) return;
    kept.memory = std::make_unique_for_overwrite<std::byte[]>(bytes);
    kept.bytes = bytes;
  }

  bool owner_ = false;
  std::unique_ptr<std::byte[]> own_;
  std::byte* next_ = nullptr;
};

}  // namespace plait
