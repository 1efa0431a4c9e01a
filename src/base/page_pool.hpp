// Which of a mapping's pages are taken. Runs of pages are handed out and taken back without a search of the pages: free runs are linked by
// size (two-level segregated fit), and each says at both ends how long it is, so that neighbours become one. The pages themselves are never
// touched here. A pool belongs to one thread at a time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace plait {

class PagePool {
 public:
  static constexpr std::uint32_t kNone = UINT32_MAX;

  /// Of pages that all are free. `number`: the first one's address in pages. Throws std::bad_alloc.
  PagePool(std::uint64_t number, std::uint32_t pages);
  ~PagePool();
  PagePool(const PagePool&) = delete;
  PagePool& operator=(const PagePool&) = delete;

  /// So many pages, the first at a multiple of `alignment` pages, a power of two. Where they begin, or kNone.
  [[nodiscard]] std::uint32_t take(std::uint32_t pages, std::uint64_t alignment) noexcept;
  /// False where nothing that was taken begins.
  bool give(std::uint32_t begin) noexcept;
  [[nodiscard]] bool is_unused() const noexcept { return used_ == 0; }

  /// Free pages that may hold memory, since they have been taken once.
  [[nodiscard]] std::uint32_t touched() const noexcept { return touched_free_; }

  struct Run {
    std::uint32_t begin = kNone;
    std::uint32_t pages = 0;
  };
  /// A free run of at least so many pages with touched ones among them, a long one first. It is nobody's until `put_back`, so
  /// that its memory can be given to the system meanwhile. Without a begin if there is none.
  [[nodiscard]] Run hold_touched(std::uint32_t least) noexcept;
  /// `emptied`: its memory is gone.
  void put_back(const Run& run, bool emptied) noexcept;

 private:
  enum State : std::uint32_t { kInside, kTaken, kHeld, kFree, kFreeEnd };
  struct Page {
    std::uint32_t state;          ///< valid in a run's first page, and in its last where the run is free and longer than a page
    std::uint32_t run;            ///< its pages, in these two
    std::uint32_t before, after;  ///< free runs of the same bin
  };
  static constexpr std::uint32_t kBins = 240;
  static constexpr int kTries = 8;  ///< runs of a bin whose size is about right that are looked at before larger ones

  [[nodiscard]] static std::uint32_t bin_of(std::uint32_t pages) noexcept;
  [[nodiscard]] std::uint32_t find(std::uint32_t pages) const noexcept;
  [[nodiscard]] std::uint32_t search(std::uint32_t bin, std::uint32_t pages, int tries) const noexcept;
  [[nodiscard]] std::uint32_t filled_bin(std::uint32_t from) const noexcept;
  void add_free(std::uint32_t begin, std::uint32_t pages) noexcept;
  void remove_free(std::uint32_t begin) noexcept;
  void release(std::uint32_t begin) noexcept;
  [[nodiscard]] std::uint32_t count_touched(std::uint32_t begin, std::uint32_t pages) const noexcept;
  void set_touched(std::uint32_t begin, std::uint32_t pages, bool touched) noexcept;
  template <class Each>
  static void for_words(std::uint32_t begin, std::uint32_t pages, Each each) noexcept;

  std::uint64_t number_;
  std::uint32_t size_;
  std::uint32_t used_ = 0;
  std::uint32_t touched_free_ = 0;
  std::size_t bytes_;                 ///< of the two arrays
  Page* pages_;                       ///< zeros until used, so memory follows use
  std::uint64_t* touched_ = nullptr;  ///< a bit a page
  std::array<std::uint32_t, kBins> bins_;
  std::array<std::uint64_t, (kBins + 63) / 64> filled_{};
};

}  // namespace plait
