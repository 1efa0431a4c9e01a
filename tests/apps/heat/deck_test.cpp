#include "deck.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "deck/error.hpp"

namespace plait::heat {
namespace {

const std::string kGood = "[plate]\nsize = 20\n[run]\nsteps = 10\n";

TEST(Deck, GoodOneIsRead) {
  const Deck d = parse_deck(kGood, "decks/some.toml", {"run.tolerance=1e-3", "run.schedule=\"static,10\""});
  EXPECT_EQ(d.name, "some");
  EXPECT_EQ(d.size, 20);
  EXPECT_EQ(d.steps, 10);
  EXPECT_EQ(d.tolerance, 1e-3);
  EXPECT_EQ(d.schedule.kind, omp_sched_static);
  EXPECT_EQ(d.schedule.chunk, 10);
}

TEST(Deck, SchedulesAreThoseOfOpenMP) {
  const auto kind = [](const std::string& text) { return parse_deck(kGood, "a.toml", {"run.schedule=\"" + text + "\""}).schedule; };
  EXPECT_EQ(parse_deck(kGood, "a.toml").schedule.kind, omp_sched_static);
  EXPECT_EQ(kind("dynamic").kind, omp_sched_dynamic);
  EXPECT_EQ(kind("guided").kind, omp_sched_guided);
  EXPECT_EQ(kind("static").chunk, 0);
  EXPECT_EQ(kind("dynamic,7").chunk, 7);
}

struct Bad {
  std::string text, setting, says;
};
class BadDeck : public testing::TestWithParam<Bad> {};

TEST_P(BadDeck, IsOneClearMessage) {
  try {
    (void)parse_deck(GetParam().text, "a.toml", GetParam().setting.empty() ? std::vector<std::string>{} : std::vector{GetParam().setting});
    FAIL();
  } catch (const deck::Error& e) {
    EXPECT_THAT(e.what(), testing::HasSubstr(GetParam().says));
    EXPECT_THAT(e.what(), testing::Not(testing::HasSubstr("\n")));
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, BadDeck,
    testing::Values(
        Bad{"[plate]\nsize = 20\n", "", "the table [run] is missing"}, Bad{"[run]\nsteps = 1\n", "", "the table [plate] is missing"},
        Bad{"[plate]\n[run]\nsteps = 1\n", "", "'plate.size' is missing"}, Bad{"[plate]\nsize = 9\n[run]\n", "", "'run.steps' is missing"},
        Bad{"[plaet]\nsize = 9\n", "", "did you mean 'plate'?"}, Bad{kGood, "run.step=1", "did you mean 'steps'?"},
        Bad{kGood, "plate.size=0", "'plate.size' must be at least 3, not 0"}, Bad{kGood, "plate.size=200000", "must be at most 100000"},
        Bad{kGood, "plate.size=9.5", "must be a whole number"}, Bad{kGood, "run.steps=0", "must be at least 1, not 0"},
        Bad{kGood, "run.tolerance=-1.0", "must be above 0"}, Bad{kGood, "run.schedule=\"sttaic\"", "did you mean 'static'?"},
        Bad{kGood, "run.schedule=\"static,\"", "behind the comma must be a whole number of at least 1, like 'static,10'"},
        Bad{kGood, "run.schedule=\"dynamic,0\"", "behind the comma"}, Bad{kGood, "run.schedule=\"static,1x\"", "behind the comma"},
        Bad{kGood, "run.schedule=3", "must be a text in quotes"}));

}  // namespace
}  // namespace plait::heat
