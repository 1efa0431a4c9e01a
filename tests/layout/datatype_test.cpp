// Datatypes of the MPI underneath: what layouts make of them, against type maps and against that MPI's own MPI_Pack.
#include <gtest/gtest.h>

#include <iostream>
#include <thread>

#include "checks.hpp"
#include "datatypes.hpp"
#include "layout/cache.hpp"
#include "layout/flatten.hpp"

namespace plait::layout::test {
namespace {

/// A random committed datatype, not too large to write out.
Sample random_committed(Random& random) {
  for (;;) {
    Sample s = random_datatype(random, static_cast<int>(random.in(0, 4)));
    if (addresses(s.map).size() > 4000) continue;
    MPI_Datatype t = s.type.get();
    MPI_Type_commit(&t);
    return s;
  }
}

/// Packs and unpacks by the MPI and by the layout; false where they differ.
bool moves_like_mpi(const Sample& s, const Layout& layout, int count, Random& random) {
  const auto at = bytes_of(layout, s.map, count);
  if (at.empty()) return true;
  Memory memory(at);
  memory.fill(random);
  std::vector<std::byte> ours(at.size()), theirs(at.size());
  const auto size = static_cast<int>(at.size());
  int position = 0;
  MPI_Pack(memory.base(), count, s.type.get(), theirs.data(), size, &position, MPI_COMM_SELF);
  const Buffer buffer(layout, memory.base(), count);
  if (position != size || pack(buffer, 0, ours) != at.size() || ours != theirs) return false;
  if (overlaps(at)) return true;  // what MPI_Unpack does then is not defined
  for (auto& b : ours) b ^= std::byte{0x5A};
  Memory expected = memory;
  position = 0;
  MPI_Unpack(ours.data(), size, &position, expected.base(), count, s.type.get(), MPI_COMM_SELF);
  return unpack(ours, buffer, 0) == at.size() && memory == expected;
}

TEST(Datatype, RandomOnesHaveTheSegmentsOfTheirTypeMap) {
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    Random random(seed);
    const Sample s = random_committed(random);
    SCOPED_TRACE(std::to_string(seed) + ": " + s.name);
    const auto layout = layout_of(s.type.get());
    ASSERT_EQ(layout->extent(), s.extent());
    ASSERT_NO_FATAL_FAILURE(expect_segments(*layout, s.map, random));
  }
}

// Each of the MPIs moves wrong bytes for a few of the strangest datatypes, every one for others: those differ from
// the type map, which AnyRangeOfRandomOnesIsMoved holds us to. So a handful may differ here, and is named.
TEST(Datatype, RandomOnesArePackedAndUnpackedLikeTheMpiDoes) {
  int differ = 0;
  for (std::uint64_t seed = 10'000; seed < 13'000; ++seed) {
    Random random(seed, /*tame=*/true);
    const Sample s = random_committed(random);
    const auto count = static_cast<int>(random.in(0, 3));
    if (moves_like_mpi(s, *layout_of(s.type.get()), count, random)) continue;
    ++differ;
    std::cout << "the MPI differs: seed " << seed << ", " << count << " of " << s.name << '\n';
  }
  EXPECT_LE(differ, 5);
}

TEST(Datatype, AnyRangeOfRandomOnesIsMoved) {
  for (std::uint64_t seed = 20'000; seed < 21'000; ++seed) {
    Random random(seed);
    const Sample a = random_committed(random), b = random_committed(random);
    SCOPED_TRACE(std::to_string(seed) + ": " + a.name + ", " + b.name);
    const auto from = layout_of(a.type.get()), to = layout_of(b.type.get());
    ASSERT_NO_FATAL_FAILURE(expect_ranges(*from, a.map, 2, random));
    ASSERT_NO_FATAL_FAILURE(expect_copies(*from, a.map, *to, b.map, random));
  }
}

TEST(Datatype, LongDoublesKeepTheirValues) {
  const long double from[] = {1.0L / 3, 2, -1e4000L, 4, 5};
  MPI_Datatype t;
  MPI_Type_vector(3, 1, 2, MPI_LONG_DOUBLE, &t);
  MPI_Type_commit(&t);
  long double packed[3] = {};
  EXPECT_EQ(pack(Buffer(*layout_of(t), from, 1), 0, std::as_writable_bytes(std::span(packed))), sizeof packed);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(packed[i], from[2 * i]);
  MPI_Type_free(&t);
}

TEST(Datatype, EveryPredefinedPairHasItsGap) {
  const auto gap = [](MPI_Datatype t) { return layout_of(t)->segments(); };
  EXPECT_EQ(gap(MPI_FLOAT_INT), 1);
  EXPECT_EQ(gap(MPI_DOUBLE_INT), 1);
  EXPECT_EQ(gap(MPI_SHORT_INT), 2);
  EXPECT_EQ(gap(MPI_LONG_DOUBLE_INT), 1);
  EXPECT_EQ(layout_of(MPI_DOUBLE_INT)->extent(), 16);
  EXPECT_EQ(layout_of(MPI_SHORT_INT)->bytes(), 6);
}

TEST(Datatype, NestedAHundredDeepIsFlattened) {
  MPI_Datatype t;
  MPI_Type_dup(MPI_INT, &t);
  for (int i = 0; i < 100; ++i) {
    MPI_Datatype outer;
    if (i < 8) {
      MPI_Type_create_hvector(2, 1, 5LL << (2 * i), t, &outer);
    } else {
      MPI_Type_create_resized(t, 0, 1 << 20, &outer);
    }
    MPI_Type_free(&t);
    t = outer;
  }
  MPI_Type_commit(&t);
  const auto layout = layout_of(t);
  EXPECT_EQ(layout->segments(), 256);
  EXPECT_EQ(layout->extent(), 1 << 20);
  MPI_Type_free(&t);
}

TEST(Datatype, AVectorOfABillionBlocksTakesBytes) {
  MPI_Datatype t;
  MPI_Type_create_hvector(1'000'000'000, 1, 24, MPI_DOUBLE, &t);
  MPI_Type_commit(&t);
  EXPECT_EQ(layout_of(t)->segments(), 1'000'000'000);
  EXPECT_EQ(layout_of(t)->segment(123'456'789), (Segment{123'456'789LL * 24, 8}));
  EXPECT_LT(layout_of(t)->footprint(), 1024U);
  MPI_Type_free(&t);
}

TEST(Datatype, AStructWithAbsoluteAddressesStartsFromNoObject) {
  int a = 1, b = 2;
  int lengths[] = {1, 1};
  MPI_Aint addresses[2];
  MPI_Get_address(&a, &addresses[0]);
  MPI_Get_address(&b, &addresses[1]);
  MPI_Datatype types[] = {MPI_INT, MPI_INT}, t;
  MPI_Type_create_struct(2, lengths, addresses, types, &t);
  MPI_Type_commit(&t);
  int packed[2] = {};
  EXPECT_EQ(pack(Buffer(*layout_of(t), MPI_BOTTOM, 1), 0, std::as_writable_bytes(std::span(packed))), 8U);
  EXPECT_EQ(packed[0], 1);
  EXPECT_EQ(packed[1], 2);
  MPI_Type_free(&t);
}

#if MPI_VERSION >= 4
TEST(Datatype, LargeCountConstructorsAreRead) {
  const MPI_Count lengths[] = {2, 1}, places[] = {5, 1}, sizes[] = {4, 6}, sub[] = {2, 3}, start[] = {1, 2};
  const int kinds[] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC}, defaults[] = {MPI_DISTRIBUTE_DFLT_DARG, MPI_DISTRIBUTE_DFLT_DARG};
  const int grid[] = {2, 2};
  const MPI_Datatype types[] = {MPI_INT, MPI_DOUBLE};
  std::vector<std::pair<MPI_Datatype, TypeMap>> all(11);
  MPI_Type_contiguous_c(3, MPI_INT, &all[0].first);
  all[0].second = {{0, 12}};
  MPI_Type_vector_c(2, 1, 3, MPI_INT, &all[1].first);
  all[1].second = {{0, 4}, {12, 4}};
  MPI_Type_create_hvector_c(2, 2, 40, MPI_INT, &all[2].first);
  all[2].second = {{0, 8}, {40, 8}};
  MPI_Type_indexed_c(2, lengths, places, MPI_INT, &all[3].first);
  all[3].second = {{20, 8}, {4, 4}};
  MPI_Type_create_hindexed_c(2, lengths, places, MPI_INT, &all[4].first);
  all[4].second = {{5, 8}, {1, 4}};
  MPI_Type_create_indexed_block_c(2, 2, places, MPI_INT, &all[5].first);
  all[5].second = {{20, 8}, {4, 8}};
  MPI_Type_create_hindexed_block_c(2, 1, places, MPI_INT, &all[6].first);
  all[6].second = {{5, 4}, {1, 4}};
  MPI_Type_create_struct_c(2, lengths, sizes, types, &all[7].first);
  all[7].second = {{4, 8}, {6, 8}};
  MPI_Type_create_subarray_c(2, sizes, sub, start, MPI_ORDER_C, MPI_INT, &all[8].first);
  all[8].second = {{32, 12}, {56, 12}};
  MPI_Type_create_darray_c(4, 3, 2, sizes, kinds, defaults, grid, MPI_ORDER_C, MPI_INT, &all[9].first);
  all[9].second = {{52, 4}, {60, 4}, {68, 4}, {76, 4}, {84, 4}, {92, 4}};
  MPI_Type_create_resized_c(MPI_INT, -4, 64, &all[10].first);
  all[10].second = {{0, 4}};
  Random random(1);
  for (auto& [type, map] : all) {
    SCOPED_TRACE(&all[0].first - &type);
    MPI_Type_commit(&type);
    EXPECT_NO_FATAL_FAILURE(expect_segments(*layout_of(type), map, random));
    MPI_Type_free(&type);
  }
}

TEST(Datatype, CountsBeyondAnIntAreRead) {
  constexpr MPI_Count kMany = 5'000'000'000;
  MPI_Datatype t;
  MPI_Type_vector_c(kMany, 1, 2, MPI_INT, &t);
  MPI_Type_commit(&t);
  EXPECT_EQ(layout_of(t)->segments(), kMany);
  EXPECT_EQ(layout_of(t)->segment(kMany - 1), (Segment{(kMany - 1) * 8, 4}));
  MPI_Type_free(&t);
}
#endif

TEST(Datatype, IsFlattenedOnceAndForgottenWhenFreed) {
  MPI_Datatype t;
  MPI_Type_vector(3, 1, 2, MPI_INT, &t);
  MPI_Type_commit(&t);
  std::weak_ptr<const Layout> layout = layout_of(t);
  EXPECT_EQ(layout_of(t), layout.lock());
  const auto held = layout_of(t);
  MPI_Type_free(&t);
  EXPECT_EQ(held->segments(), 3);  // as a pending operation needs it
  EXPECT_EQ(held.use_count(), 1);
}

TEST(Datatype, ThreadsThatAskAtOnceGetTheSameLayout) {
  int level = 0;
  MPI_Query_thread(&level);
  if (level < MPI_THREAD_MULTIPLE) GTEST_SKIP() << "the MPI gives no MPI_THREAD_MULTIPLE";
  for (int round = 0; round < 200; ++round) {
    MPI_Datatype t;
    MPI_Type_vector(3 + round, 1, 2, MPI_INT, &t);
    MPI_Type_commit(&t);
    std::shared_ptr<const Layout> got[4];
    std::vector<std::thread> threads;
    for (auto& g : got) threads.emplace_back([&g, t] { g = layout_of(t); });
    for (auto& thread : threads) thread.join();
    for (const auto& g : got) EXPECT_EQ(g, got[0]);
    MPI_Type_free(&t);
  }
}

}  // namespace
}  // namespace plait::layout::test
