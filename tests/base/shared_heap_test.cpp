// Buffers of the program that other processes can map: which pages are taken, blocks of many threads, limits, children. Threads are named
// per test.
#include "base/shared_heap.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <new>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "base/page_pool.hpp"
#include "base/shared_memory.hpp"

namespace plait {
namespace {

using Given = SharedHeap::Given;

constexpr std::size_t kPage = 4096;
constexpr std::size_t kMega = std::size_t{1} << 20;

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

// ---- blocks

TEST(SharedHeap, BlocksAreApartAndComeBack) {  // 1 thread
  struct Block {
    std::size_t bytes;
    unsigned char mark;
  };
  SharedHeap heap;
  std::mt19937 random(7);
  std::map<unsigned char*, Block> blocks;
  std::uint64_t most = 0;
  for (int i = 0; i < 3000; ++i) {
    if (blocks.size() < 20 || (blocks.size() < 60 && random() % 2)) {
      const std::size_t bytes = 1 + random() % 50'000;
      auto* const at = static_cast<unsigned char*>(heap.take(bytes));
      ASSERT_NE(at, nullptr);
      std::fill_n(at, bytes, static_cast<unsigned char>(i | 1));
      const SharedHeap::Place first = heap.find(at, bytes);
      const SharedHeap::Place last = heap.find(at + bytes - 1, 1);
      ASSERT_GE(first.heap.file, 0);
      ASSERT_EQ(last.offset, first.offset + bytes - 1);
      if (i % 100 == 0) {  // another view of the same bytes
        const PeerWindow window(first, bytes);
        ASSERT_EQ(window.data()[bytes / 2], static_cast<std::byte>(i | 1));
      }
      most = std::max(most, last.offset);
      blocks[at] = {bytes, static_cast<unsigned char>(i | 1)};
    } else {
      const auto victim = std::next(blocks.begin(), static_cast<long>(random() % blocks.size()));
      const auto [at, block] = *victim;
      ASSERT_TRUE(std::all_of(at, at + block.bytes, [&](unsigned char c) { return c == block.mark; }));
      blocks.erase(victim);
      ASSERT_EQ(heap.give(at), Given::taken_back);
      ASSERT_EQ(heap.give(at), Given::not_a_block);
    }
  }
  EXPECT_LT(most, 60u * 2 * 52'000);  // and not 1,500 blocks
  for (const auto& [at, block] : blocks) EXPECT_EQ(heap.give(at), Given::taken_back);
  EXPECT_LT(heap.find(&heap, 1).heap.file, 0);
  EXPECT_EQ(heap.give(&heap), Given::not_mine);
}

TEST(SharedHeap, AlignsAsAskedFor) {  // 1 thread
  SharedHeap heap;
  for (std::size_t alignment = 1; alignment <= 64 * kMega; alignment *= 2) {
    void* const at = heap.take(10'000, alignment);
    ASSERT_NE(at, nullptr);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(at) % alignment, 0U);
    std::memset(at, 1, 10'000);
  }
}

/// 30,000 blocks are more than a process may have mappings by some limits, and they need a hundredth of these.
TEST(SharedHeap, ManyBlocksTakeFewMappings) {  // 1 thread
  const auto mappings = [] {
    std::FILE* const file = std::fopen("/proc/self/maps", "r");
    int lines = 0;
    for (int c = 0; file && (c = std::fgetc(file)) != EOF;) lines += c == '\n' ? 1 : 0;
    if (file) std::fclose(file);
    return lines;
  };
  SharedHeap heap;
  const int before = mappings();
  std::set<void*> blocks;
  for (int i = 0; i < 30'000; ++i) blocks.insert(heap.take(kPage));
  EXPECT_EQ(blocks.size(), 30'000U);
  EXPECT_FALSE(blocks.contains(nullptr));
  EXPECT_LT(mappings() - before, 300);
}

/// Blocks of random sizes, each full of a pattern of its own, handed from thread to thread.
TEST(SharedHeap, BlocksOfManyThreadsKeepTheirBytes) {  // 4 threads
  struct Block {
    std::uint64_t* at = nullptr;
    std::size_t words = 0;
    std::uint64_t pattern = 0;
  };
  SharedHeap heap;
  std::array<std::atomic<Block*>, 64> slots{};
  std::atomic<int> wrong{0};
  // Of a large one a word a page.
  const auto step = [](const Block& block) { return block.words > 65536 ? std::size_t{512} : std::size_t{1}; };
  const auto check_and_give = [&](Block* block) {
    for (std::size_t i = 0; i < block->words; i += step(*block)) wrong += block->at[i] != block->pattern + i ? 1 : 0;
    wrong += heap.give(block->at) != Given::taken_back ? 1 : 0;
    delete block;
  };
  const auto work = [&](unsigned seed) {
    std::mt19937 random(seed);
    for (int i = 0; i < 3000; ++i) {
      // Now and then so large a one that memory goes back to the system while the others go on.
      const std::size_t bytes = i % 1500 == 1499 ? 70 * kMega : sizeof(std::uint64_t) + random() % (1U << (4 + random() % 16));
      auto* const block = new Block{static_cast<std::uint64_t*>(heap.take(bytes)), bytes / sizeof(std::uint64_t), random()};
      if (!block->at) {
        ++wrong;
        delete block;
        continue;
      }
      for (std::size_t k = 0; k < block->words; k += step(*block)) block->at[k] = block->pattern + k;
      // acq_rel: the bytes go with the block.
      if (Block* const other = slots[random() % slots.size()].exchange(block, std::memory_order_acq_rel)) check_and_give(other);
    }
  };
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (unsigned t = 0; t < 4; ++t) threads.emplace_back(work, t);
  for (std::thread& t : threads) t.join();
  for (std::atomic<Block*>& slot : slots) {
    if (Block* const left = slot.load()) check_and_give(left);
  }
  EXPECT_EQ(wrong, 0);
}

/// Bytes that a heap's file has in memory.
std::uint64_t resident(const SharedHeap::Place& place) {
  struct stat file{};
  return fstat(place.heap.file, &file) == 0 ? static_cast<std::uint64_t>(file.st_blocks) * 512 : 0;
}

TEST(SharedHeap, KeepsSomeOfWhatIsGivenAndNotAll) {  // 1 thread
  SharedHeap heap;
  const auto fill = [&] {
    std::vector<void*> blocks;
    for (int i = 0; i < 30; ++i) {
      blocks.push_back(heap.take(kMega));
      std::memset(blocks.back(), 1, kMega);
    }
    return blocks;
  };
  void* const stays = heap.take(kPage);
  const SharedHeap::Place place = heap.find(stays, kPage);
  for (void* const block : fill()) heap.give(block);
  EXPECT_GE(resident(place), 30 * kMega);  // a few blocks come back as they are

  std::vector<void*> all;
  for (int i = 0; i < 8; ++i) {
    for (void* const block : fill()) all.push_back(block);
  }
  std::set<std::uint64_t> files;
  std::vector<SharedHeap::Place> places;
  for (void* const block : all) {
    const SharedHeap::Place at = heap.find(block, 1);
    if (files.insert(at.heap.nonce).second) places.push_back(at);
  }
  for (void* const block : all) heap.give(block);
  std::uint64_t sum = 0;
  for (const SharedHeap::Place& at : places) sum += resident(at);
  EXPECT_LE(sum, SharedHeap::kKept + 2 * places.size() * kMega);  // of 240 MB; a huge page may stay at an arena's ends
}

TEST(SharedHeap, GivesLargeOnesBackWhole) {  // 1 thread
  SharedHeap heap;
  void* const at = heap.take(200 * kMega);
  ASSERT_NE(at, nullptr);
  std::memset(at, 1, 200 * kMega);
  const int file = heap.find(at, 1).heap.file;
  ASSERT_EQ(heap.give(at), Given::taken_back);
  struct stat gone{};
  EXPECT_NE(fstat(file, &gone), 0);
  EXPECT_EQ(heap.give(at), Given::not_mine);
}

// ---- limits

TEST(SharedHeap, RefusesWhatTheMachineDoesNotHave) {  // 1 thread
  SharedHeap heap;
  EXPECT_EQ(heap.take(std::size_t{1} << 44), nullptr);
  EXPECT_EQ(heap.take(PTRDIFF_MAX), nullptr);
  EXPECT_EQ(heap.take(SIZE_MAX), nullptr);
  EXPECT_EQ(heap.take(kPage, std::size_t{1} << 60), nullptr);
  EXPECT_NE(heap.take(kPage), nullptr);
}

/// For as long as it lives.
class Limit {
 public:
  Limit(__rlimit_resource what, std::size_t bytes) : what_(what) {
    getrlimit(what, &before_);
    const rlimit now{bytes, before_.rlim_max};
    EXPECT_EQ(setrlimit(what, &now), 0);
  }
  ~Limit() { setrlimit(what_, &before_); }
  Limit(const Limit&) = delete;
  Limit& operator=(const Limit&) = delete;

 private:
  __rlimit_resource what_;
  rlimit before_{};
};

/// Files larger than allowed would end the process by SIGXFSZ.
TEST(SharedHeap, KeepsToTheLargestFile) {  // 1 thread
  SharedHeap heap;
  {
    const Limit limit(RLIMIT_FSIZE, 4 * kMega);
    EXPECT_NE(heap.take(kMega), nullptr);
    EXPECT_EQ(heap.take(5 * kMega), nullptr);
  }
  EXPECT_NE(heap.take(5 * kMega), nullptr);
  const Limit none(RLIMIT_FSIZE, 0);
  EXPECT_EQ(SharedHeap().take(kPage), nullptr);
}

std::ptrdiff_t open_files() { return std::ranges::distance(std::filesystem::directory_iterator("/proc/self/fd")); }

TEST(Region, OthersMapItAndHaveNoFileOpen) {  // 1 thread
  Region region;
  std::array<Region::Place, 5> places;
  for (std::size_t i = 0; i < places.size(); ++i) {
    places[i] = region.take(kRegionPiece);  // each a piece of its own, behind the first
    *static_cast<std::size_t*>(places[i].memory) = 7 + i;
  }
  const std::ptrdiff_t before = open_files();
  PeerRegion peer(region.name());
  for (const std::size_t i : {3, 1, 0, 4, 2}) {
    auto* const seen = static_cast<std::size_t*>(peer.map().at(places[i].offset));
    ASSERT_NE(seen, places[i].memory);
    EXPECT_EQ(*seen, 7 + i);
    *seen = 70 + i;
    EXPECT_EQ(*static_cast<std::size_t*>(places[i].memory), 70 + i);
    EXPECT_EQ(seen, peer.map().at(places[i].offset));
  }
  EXPECT_EQ(open_files(), before);
}

TEST(Region, OthersMapAFarPieceWithLittleAddressSpaceLeft) {  // 1 thread
  Region region;
  Region::Place last{};
  for (int i = 0; i < 200; ++i) last = region.take(kRegionPiece);
  *static_cast<int*>(last.memory) = 7;
  PeerRegion peer(region.name());
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_AS, &before), 0);
  std::size_t pages = 0;
  ASSERT_TRUE(std::ifstream("/proc/self/statm") >> pages);
  const rlimit little{pages * kPage + 50 * kMega, before.rlim_max};  // 200 pieces are 400 MB
  ASSERT_EQ(setrlimit(RLIMIT_AS, &little), 0);
  std::byte* const piece = peer.map().map(last.offset / kRegionPiece);
  ASSERT_EQ(setrlimit(RLIMIT_AS, &before), 0);
  ASSERT_NE(piece, nullptr);
  EXPECT_EQ(*reinterpret_cast<int*>(piece), 7);
}

TEST(Region, KeepsToTheLargestFile) {  // 1 thread
  {
    const Limit none(RLIMIT_FSIZE, 0);
    EXPECT_THROW(Region(), std::system_error);
  }
  const Limit limit(RLIMIT_FSIZE, 3 * kMega);
  Region region;
  EXPECT_NE(region.take(kMega).memory, nullptr);
  EXPECT_THROW(static_cast<void>(region.take(kRegionPiece)), std::bad_alloc);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST(SharedHeap, KeepsToTheAddressSpace) {  // 1 thread; sanitizers need terabytes of it
  std::size_t pages = 0;
  std::FILE* const file = std::fopen("/proc/self/statm", "r");
  ASSERT_NE(file, nullptr);
  ASSERT_EQ(std::fscanf(file, "%zu", &pages), 1);
  std::fclose(file);
  SharedHeap heap;
  const Limit limit(RLIMIT_AS, pages * kPage + 24 * kMega);
  EXPECT_NE(heap.take(8 * kMega), nullptr);  // not in an arena of 32 MB
  EXPECT_EQ(heap.take(32 * kMega), nullptr);
}
#endif

// ---- children

int status_of(pid_t child) {
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return status;
}

TEST(SharedHeap, LeavesTheParentsBlocksAloneInAChild) {  // 1 thread, and another that takes and gives meanwhile
  SharedHeap& heap = SharedHeap::get();
  auto* const block = static_cast<char*>(heap.take(kMega));
  ASSERT_NE(block, nullptr);
  std::memset(block, 1, kMega);
  std::atomic<bool> stop{false};
  std::thread other([&] {
    while (!stop) heap.give(heap.take(kPage));
  });
  for (int i = 0; i < 20; ++i) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      const bool right = block[0] == 1 && block[kMega - 1] == 1 && !heap.take(kPage) && heap.find(block, 1).heap.file < 0;
      std::memset(block, 2, kMega);
      const bool given = heap.give(block) == Given::taken_back;
      _exit(right && given ? 0 : 1);
    }
    EXPECT_EQ(status_of(child), 0);
    EXPECT_TRUE(std::all_of(block, block + kMega, [](char c) { return c == 1; }));
  }
  stop = true;
  other.join();
  EXPECT_EQ(heap.give(block), Given::taken_back);
}

}  // namespace
}  // namespace plait
