// Layouts built by hand, without MPI: segments, ranges and copies against type maps written out.
#include <gtest/gtest.h>

#include <thread>

#include "checks.hpp"

namespace plait::layout::test {
namespace {

struct Sample {
  Placed shape;
  TypeMap map;
};

std::int64_t random_run(Random& random) {
  static constexpr std::int64_t kUsual[] = {1, 2, 3, 4, 8, 12, 16, 24, 32, 40, 64, 65, 100, 152, 1100};
  return kUsual[random.in(0, std::size(kUsual) - 1)];
}

/// Strides that join, overlap, leave gaps, run backwards.
std::int64_t random_stride(const Sample& s, Random& random) {
  if (random.chance(0.4)) return s.shape.node.end;
  return random.in(-40, 700);
}

Sample random_sample(Arena& arena, Random& random, int depth) {
  if (depth == 0 || random.chance(0.1)) {
    const std::int64_t n = random.chance(0.05) ? 0 : random_run(random);
    return {{0, make_run(n)}, {{0, n}}};
  }
  Sample s;
  if (random.chance(0.6)) {
    const Sample child = random_sample(arena, random, depth - 1);
    const std::int64_t count = random.in(0, 12) % 7, stride = random_stride(child, random);
    s = {repeat(arena, child.shape, count, stride), times(child.map, count, stride)};
  } else {
    std::vector<Placed> pieces;
    const bool alike = random.chance(0.5), leaves = random.chance(0.4);
    Sample child = random_sample(arena, random, leaves ? 0 : depth - 1);
    std::int64_t at = random.in(-20, 20);
    for (std::int64_t n = random.in(0, 6); n > 0; --n) {
      pieces.push_back({child.shape.offset + at, child.shape.node});
      append(s.map, child.map, at);
      at += random.chance(0.4) ? child.shape.node.end : random.in(-30, 300);
      if (!alike) child = random_sample(arena, random, leaves ? 0 : depth - 1);
    }
    s.shape = concatenate(arena, pieces);
  }
  const std::int64_t by = random.in(-9, 9);
  return {{s.shape.offset + by, s.shape.node}, shifted(s.map, by)};
}

struct Built {
  std::unique_ptr<Layout> layout;
  TypeMap map;
};

Built random_layout(Random& random) {
  for (;;) {
    Arena arena;
    Sample s = random_sample(arena, random, static_cast<int>(random.in(1, 4)));
    if (addresses(s.map).size() > 6000) continue;
    const std::int64_t extent = random.chance(0.4) ? s.shape.node.end : random.in(-50, 900);
    return {std::make_unique<Layout>(std::move(arena), s.shape, extent), std::move(s.map)};
  }
}

Layout strided(std::int64_t run, std::int64_t count, std::int64_t stride) {
  Arena arena;
  const Placed shape = repeat(arena, {0, make_run(run)}, count, stride);
  return Layout(std::move(arena), shape, count * stride);
}

TEST(Shape, RandomLayoutsHaveTheSegmentsOfTheirTypeMap) {
  for (std::uint64_t seed = 0; seed < 6000; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const Built b = random_layout(random);
    ASSERT_NO_FATAL_FAILURE(expect_segments(*b.layout, b.map, random));
  }
}

TEST(Shape, AnyRangeIsPackedAndUnpackedLikeTheTypeMapSays) {
  for (std::uint64_t seed = 10000; seed < 13000; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const Built b = random_layout(random);
    ASSERT_NO_FATAL_FAILURE(expect_ranges(*b.layout, b.map, random.in(0, 3), random));
  }
}

TEST(Shape, AnyRangeIsCopiedBetweenLayouts) {
  for (std::uint64_t seed = 20000; seed < 22000; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const Built a = random_layout(random), b = random_layout(random);
    ASSERT_NO_FATAL_FAILURE(expect_copies(*a.layout, a.map, *b.layout, b.map, random));
  }
}

TEST(Shape, EveryRunLengthAndStrideIsMovedWhole) {
  Random random(7);
  for (std::int64_t run = 1; run <= 200; ++run) {
    for (const std::int64_t gap : {1, 7, 600, 5000}) {
      const Layout l = strided(run, 60, run + gap);
      ASSERT_NO_FATAL_FAILURE(expect_ranges(l, times({{0, run}}, 60, run + gap), 1, random));
    }
  }
}

TEST(Shape, NeighboursInMemoryButNotInOrderAreNotMerged) {
  Arena arena;
  const Placed shape = concatenate(arena, TypeMap{{8, 8}, {0, 8}});
  const Layout l(std::move(arena), shape, 16);
  EXPECT_EQ(l.segments(), 2);
  EXPECT_EQ(l.segment(0), (Segment{8, 8}));
  EXPECT_EQ(l.segment(1), (Segment{0, 8}));
}

TEST(Shape, ASegmentMayReachOverManyParts) {
  // x . x | x | x | x . x : the middle ones join their neighbours on both sides
  Arena arena;
  const Placed ends = repeat(arena, {0, make_run(4)}, 2, 8);
  const Placed shape = concatenate(arena, {ends, {12, make_run(4)}, {16, ends.node}, {28, ends.node}});
  const Layout l(std::move(arena), shape, 40);
  EXPECT_EQ(l.segments(), 4);
  EXPECT_EQ(l.segment(1), (Segment{8, 12}));
  EXPECT_EQ(l.segment(2), (Segment{24, 8}));
}

TEST(Shape, ABillionBlocksTakeBytes) {
  const Layout l = strided(8, 1'000'000'000, 24);
  EXPECT_LT(l.footprint(), 1024U);
  EXPECT_EQ(l.segments(), 1'000'000'000);
  EXPECT_EQ(l.segment(999'999'999), (Segment{999'999'999LL * 24, 8}));
  EXPECT_EQ(l.segments_within(8LL * 123'456'789 + 7), 123'456'789);
}

TEST(Shape, RowsThatGoOnFromPlaneToPlaneAreOneRepetition) {
  Arena arena;
  const Placed row = repeat(arena, {0, make_run(8)}, 128, 1024);
  const Placed face = repeat(arena, row, 128, 128 * 1024);
  EXPECT_EQ(face.node.count, 128 * 128);
  EXPECT_EQ(face.node.child->kind, Kind::run);
}

TEST(Shape, SpeltAsSingleRunsARegularShapeIsARepetition) {
  Arena arena;
  TypeMap runs;
  for (std::int64_t i = 0; i < 100'000; ++i) runs.push_back({i * 24, 8});
  const Placed shape = concatenate(arena, runs);
  EXPECT_EQ(shape.node.kind, Kind::repeated);
  EXPECT_LT(arena.footprint(), 1024U);
}

TEST(Shape, RangesBeyondTheEndAreClipped) {
  const Layout l = strided(4, 3, 8);
  std::byte memory[24] = {}, packed[64] = {};
  const Buffer b(l, memory, 1);
  EXPECT_EQ(pack(b, 10, packed), 2U);
  EXPECT_EQ(pack(b, 12, packed), 0U);
  EXPECT_EQ(pack(b, 100, packed), 0U);
  EXPECT_EQ(pack(b, -1, packed), 0U);
  EXPECT_EQ(unpack(packed, b, 11), 1U);
  EXPECT_EQ(copy(b, 0, b, 12, 5), 0U);
  EXPECT_EQ(pack(Buffer(l, memory, -3), 0, packed), 0U);
}

TEST(Shape, ThreadsMoveDisjointRangesAtOnce) {
  const Layout source = strided(24, 5000, 56), target = strided(40, 3000, 48);
  std::vector<std::byte> from(5000 * 56), to(3000 * 48), packed(120'000), once(120'000);
  Random random(3);
  for (auto& b : from) b = static_cast<std::byte>(random.in(0, 255));
  const Buffer a(source, from.data(), 1), b(target, to.data(), 1);
  constexpr std::int64_t kThreads = 4, kShare = 120'000 / kThreads;
  std::vector<std::thread> threads;
  threads.reserve(kThreads);
  for (std::int64_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      pack(a, t * kShare, std::span(packed).subspan(static_cast<std::size_t>(t * kShare), kShare));
      copy(a, t * kShare, b, t * kShare, kShare);
    });
  }
  for (auto& t : threads) t.join();
  pack(a, 0, once);
  EXPECT_EQ(packed, once);
  pack(b, 0, once);
  EXPECT_EQ(packed, once);
}

}  // namespace
}  // namespace plait::layout::test
