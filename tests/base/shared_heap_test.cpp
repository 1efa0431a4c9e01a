// Buffers of the program that other processes can map: which pages are taken. Threads are named per test.
#include "base/page_pool.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <random>
#include <vector>

namespace plait {
namespace {

// ---- pages

/// What a pool has to know, page by page.
class PageModel {
 public:
  explicit PageModel(std::uint32_t pages) : taken_(pages), touched_(pages) {}

  void take(std::uint32_t begin, std::uint32_t pages) {
    for (std::uint32_t i = begin; i < begin + pages; ++i) {
      ASSERT_FALSE(taken_[i]);
      taken_[i] = touched_[i] = true;
    }
  }
  void give(std::uint32_t begin, std::uint32_t pages) { std::fill_n(taken_.begin() + begin, pages, false); }
  void empty(std::uint32_t begin, std::uint32_t pages) {
    for (std::uint32_t i = begin; i < begin + pages; ++i) {
      ASSERT_FALSE(taken_[i]);
      touched_[i] = false;
    }
  }
  [[nodiscard]] std::uint32_t touched() const {
    std::uint32_t n = 0;
    for (std::size_t i = 0; i < taken_.size(); ++i) n += touched_[i] && !taken_[i] ? 1 : 0;
    return n;
  }

 private:
  std::vector<bool> taken_, touched_;
};

/// Random runs, aligned and not, some of them emptied: apart from each other, and in the end one again.
TEST(PagePool, RunsAreApartAlignedAndBecomeOneAgain) {  // 1 thread
  for (unsigned seed = 0; seed < 20; ++seed) {
    std::mt19937 random(seed);
    const std::uint32_t size = 1 + random() % 3000;
    const std::uint64_t number = random();
    PagePool pool(number, size);
    PageModel model(size);
    std::map<std::uint32_t, std::uint32_t> runs;
    for (int i = 0; i < 4000; ++i) {
      const std::uint32_t kind = random() % 100;
      if (kind < 50) {
        const std::uint32_t pages = 1 + random() % (1U << random() % 10);
        const std::uint64_t alignment = random() % 3 ? 1 : std::uint64_t{1} << random() % 8;
        const std::uint32_t at = pool.take(pages, alignment);
        if (at == PagePool::kNone) continue;
        ASSERT_LE(at + pages, size);
        ASSERT_EQ((number + at) % alignment, 0U);
        model.take(at, pages);
        runs[at] = pages;
      } else if (kind < 97 && !runs.empty()) {
        const auto victim = std::next(runs.begin(), static_cast<long>(random() % runs.size()));
        model.give(victim->first, victim->second);
        ASSERT_TRUE(pool.give(victim->first));
        ASSERT_FALSE(pool.give(victim->first));
        runs.erase(victim);
      } else {
        const PagePool::Run held = pool.hold_touched(1 + random() % 64);
        if (held.pages == 0) continue;
        const bool emptied = random() % 2;
        if (emptied) model.empty(held.begin, held.pages);
        pool.put_back(held, emptied);
      }
      ASSERT_EQ(pool.touched(), model.touched());
    }
    for (const auto& [at, pages] : runs) EXPECT_TRUE(pool.give(at));
    EXPECT_TRUE(pool.is_unused());
    EXPECT_EQ(pool.take(size + 1, 1), PagePool::kNone);
    EXPECT_EQ(pool.take(size, 1), 0U);
    EXPECT_EQ(pool.take(1, 1), PagePool::kNone);
  }
}

}  // namespace
}  // namespace plait
