// What is learned of two ways: which is faster, and when that changes.
#include "lane/choice.hpp"

#include <gtest/gtest.h>

namespace plait::lane {
namespace {

/// So many turns, in which the ways take that many nanoseconds for a thousand bytes; how many of them went the second way.
int turns(Choice<2>& choice, int n, std::uint64_t first, std::uint64_t second) {
  int seconds = 0;
  for (int i = 0; i < n; ++i) {
    const std::size_t way = choice.next();
    choice.took(way, 1000, way == 0 ? first : second);
    seconds += way == 1 ? 1 : 0;
  }
  return seconds;
}

TEST(Choice, TakesTheFasterWay) {  // 1 thread
  Choice<2> first;
  EXPECT_LT(turns(first, 1000, 100, 300), 30);
  Choice<2> second;
  EXPECT_GT(turns(second, 1000, 300, 100), 970);
}

TEST(Choice, FollowsAChange) {
  Choice<2> choice;
  turns(choice, 1000, 100, 300);
  turns(choice, 1000, 300, 100);
  EXPECT_GT(turns(choice, 1000, 300, 100), 970);
  turns(choice, 1000, 100, 300);
  EXPECT_LT(turns(choice, 1000, 100, 300), 30);
}

TEST(Choice, IsNotMisledByOneThatWasHeldUp) {
  Choice<2> choice;
  choice.took(choice.next(), 1000, 1'000'000);  // the very first
  EXPECT_LT(turns(choice, 1000, 100, 150), 30);
  choice.took(0, 1000, 1'000'000);
  EXPECT_LT(turns(choice, 1000, 100, 300), 30);
}

TEST(Choice, HasTriedBothBeforeItChooses) {
  Choice<2> choice;
  const int seconds = turns(choice, 6, 100, 100);
  EXPECT_EQ(seconds, 3);
}

TEST(Choice, KnowsThePlacesOfThree) {
  Choice<3> choice;
  for (int i = 0; i < 9; ++i) {
    const std::size_t way = choice.next();
    choice.took(way, 1000, way == 0 ? 300 : way * 100);
  }
  EXPECT_EQ(choice.at(0), 1U);
  EXPECT_EQ(choice.at(1), 2U);
  EXPECT_EQ(choice.at(2), 0U);
  Choice<3> nothing_known;
  EXPECT_EQ(nothing_known.at(2), 2U);
}

}  // namespace
}  // namespace plait::lane
