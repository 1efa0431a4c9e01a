#include "base/page_pool.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <new>

namespace plait {

PagePool::PagePool(std::uint64_t number, std::uint32_t pages) : number_(number), size_(pages) {
  const std::size_t words = (std::size_t{pages} + 63) / 64;
  bytes_ = pages * sizeof(Page) + words * sizeof(std::uint64_t);
  void* const at = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) throw std::bad_alloc();
  pages_ = static_cast<Page*>(at);
  touched_ = reinterpret_cast<std::uint64_t*>(pages_ + pages);
  bins_.fill(kNone);
  add_free(0, pages);
}

PagePool::~PagePool() { munmap(pages_, bytes_); }

// ---- free runs by size

/// One bin for each size up to 15 pages; above that, eight bins for each power of two.
std::uint32_t PagePool::bin_of(std::uint32_t pages) noexcept {
  if (pages < 8) return pages;
  const auto log = static_cast<std::uint32_t>(std::bit_width(pages)) - 1;
  return (log - 2) * 8 + ((pages >> (log - 3)) & 7);
}

void PagePool::add_free(std::uint32_t begin, std::uint32_t pages) noexcept {
  const std::uint32_t bin = bin_of(pages);
  Page& first = pages_[begin];
  first = {kFree, pages, kNone, bins_[bin]};
  if (pages > 1) pages_[begin + pages - 1] = {kFreeEnd, pages, kNone, kNone};
  if (first.after != kNone) pages_[first.after].before = begin;
  bins_[bin] = begin;
  filled_[bin / 64] |= std::uint64_t{1} << bin % 64;
}

/// Clears the marks at both ends; the caller sets the run's new ones.
void PagePool::remove_free(std::uint32_t begin) noexcept {
  Page& first = pages_[begin];
  const std::uint32_t bin = bin_of(first.run);
  if (first.after != kNone) pages_[first.after].before = first.before;
  if (first.before != kNone) {
    pages_[first.before].after = first.after;
  } else {
    bins_[bin] = first.after;
    if (first.after == kNone) filled_[bin / 64] &= ~(std::uint64_t{1} << bin % 64);
  }
  pages_[begin + first.run - 1].state = kInside;
  first.state = kInside;
}

std::uint32_t PagePool::search(std::uint32_t bin, std::uint32_t pages, int tries) const noexcept {
  for (std::uint32_t at = bins_[bin]; at != kNone && tries != 0; at = pages_[at].after, --tries) {
    if (pages_[at].run >= pages) return at;
  }
  return kNone;
}

/// The first from `from` on with a run in it, or kBins.
std::uint32_t PagePool::filled_bin(std::uint32_t from) const noexcept {
  for (std::uint32_t word = from / 64; word < filled_.size(); ++word) {
    const std::uint64_t bits = filled_[word] & (word == from / 64 ? ~std::uint64_t{0} << from % 64 : ~std::uint64_t{0});
    if (bits) return word * 64 + static_cast<std::uint32_t>(std::countr_zero(bits));
  }
  return kBins;
}

/// A run that is large enough: about as large if that is quickly found, else any of the next larger kind.
std::uint32_t PagePool::find(std::uint32_t pages) const noexcept {
  const std::uint32_t bin = bin_of(pages);
  if (const std::uint32_t near = search(bin, pages, kTries); near != kNone) return near;
  const std::uint32_t larger = bin + 1 < kBins ? filled_bin(bin + 1) : kBins;
  return larger < kBins ? bins_[larger] : search(bin, pages, -1);
}

// ---- taking and giving

std::uint32_t PagePool::take(std::uint32_t pages, std::uint64_t alignment) noexcept {
  if (pages == 0 || alignment > size_ || pages > size_ - (alignment - 1)) return kNone;
  const std::uint32_t run = find(pages + static_cast<std::uint32_t>(alignment - 1));
  if (run == kNone) return kNone;
  const std::uint32_t length = pages_[run].run;
  remove_free(run);
  const auto front = static_cast<std::uint32_t>(-(number_ + run) & (alignment - 1));
  const std::uint32_t begin = run + front;
  if (front > 0) add_free(run, front);
  if (const std::uint32_t rest = length - front - pages; rest > 0) add_free(begin + pages, rest);
  pages_[begin] = {kTaken, pages, kNone, kNone};
  used_ += pages;
  touched_free_ -= count_touched(begin, pages);
  set_touched(begin, pages, true);
  return begin;
}

bool PagePool::give(std::uint32_t begin) noexcept {
  if (pages_[begin].state != kTaken) return false;
  touched_free_ += pages_[begin].run;
  release(begin);
  return true;
}

/// Frees a run and merges it with free neighbours.
void PagePool::release(std::uint32_t begin) noexcept {
  std::uint32_t pages = pages_[begin].run;
  pages_[begin].state = kInside;
  used_ -= pages;
  if (const std::uint32_t next = begin + pages; next < size_ && pages_[next].state == kFree) {
    pages += pages_[next].run;
    remove_free(next);
  }
  if (begin > 0) {
    const Page& before = pages_[begin - 1];  // the end of a free run, or one that is a page long
    if (before.state == kFreeEnd || before.state == kFree) {
      const std::uint32_t length = before.run;
      begin -= length;
      pages += length;
      remove_free(begin);
    }
  }
  add_free(begin, pages);
}

// ---- pages that hold memory

PagePool::Run PagePool::hold_touched(std::uint32_t least) noexcept {
  for (std::uint32_t bin = kBins; bin-- > bin_of(least);) {
    for (std::uint32_t at = bins_[bin]; at != kNone; at = pages_[at].after) {
      const std::uint32_t pages = pages_[at].run;
      if (pages < least || count_touched(at, pages) == 0) continue;
      remove_free(at);
      pages_[at] = {kHeld, pages, kNone, kNone};
      used_ += pages;
      return {at, pages};
    }
  }
  return {};
}

void PagePool::put_back(const Run& run, bool emptied) noexcept {
  if (emptied) {
    touched_free_ -= count_touched(run.begin, run.pages);
    set_touched(run.begin, run.pages, false);
  }
  release(run.begin);
}

/// Calls with each word that has some of the pages, and the bits of these.
template <class Each>
void PagePool::for_words(std::uint32_t begin, std::uint32_t pages, Each each) noexcept {
  while (pages > 0) {
    const std::uint32_t bit = begin % 64;
    const std::uint32_t here = std::min(pages, 64 - bit);
    each(begin / 64, ~std::uint64_t{0} >> (64 - here) << bit);
    begin += here;
    pages -= here;
  }
}

std::uint32_t PagePool::count_touched(std::uint32_t begin, std::uint32_t pages) const noexcept {
  std::uint32_t n = 0;
  for_words(begin, pages,
            [&](std::uint32_t word, std::uint64_t bits) { n += static_cast<std::uint32_t>(std::popcount(touched_[word] & bits)); });
  return n;
}

void PagePool::set_touched(std::uint32_t begin, std::uint32_t pages, bool touched) noexcept {
  for_words(begin, pages,
            [&](std::uint32_t word, std::uint64_t bits) { touched_[word] = touched ? touched_[word] | bits : touched_[word] & ~bits; });
}

}  // namespace plait
