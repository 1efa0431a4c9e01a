// The table of environment variables: what is taken for right, what holds where nothing is, what is complained of.
#include "base/settings.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

namespace plait::settings {
namespace {

/// A variable for the time of a test; what was there before comes back.
class Given {
 public:
  Given(const char* name, const char* value) : name_(name) {
    if (const char* const before = std::getenv(name)) before_ = before;
    setenv(name, value, 1);
  }
  ~Given() { before_ ? setenv(name_, before_->c_str(), 1) : unsetenv(name_); }
  Given(const Given&) = delete;
  Given& operator=(const Given&) = delete;

 private:
  const char* name_;
  std::optional<std::string> before_;
};

/// Without the variables that whoever runs the test has set.
struct Settings : testing::Test {
  Settings() {
    for (const Setting& s : table()) unsetenv(s.name);
  }
};

TEST_F(Settings, NothingSetIsNothingRead) {
  EXPECT_EQ(number(Id::channels), std::nullopt);
  EXPECT_EQ(seconds(Id::watchdog), std::nullopt);
  EXPECT_FALSE(flag(Id::report));
  EXPECT_EQ(text(Id::thread_level), "");
}

TEST_F(Settings, RightValuesAreRead) {
  const Given channels("PLAIT_CHANNELS", "64"), watchdog("PLAIT_WATCHDOG", "0.25"), report("PLAIT_REPORT", "1");
  const Given level("PLAIT_THREAD_LEVEL", "serialized"), rank("PMIX_RANK", "0");
  EXPECT_EQ(number(Id::channels), 64);
  EXPECT_EQ(seconds(Id::watchdog), 0.25);
  EXPECT_TRUE(flag(Id::report));
  EXPECT_EQ(text(Id::thread_level), "serialized");
  EXPECT_EQ(text(Id::pmix_rank), "0");
  EXPECT_EQ(problems(), std::vector<std::string>());
}

TEST_F(Settings, EmptyIsAsNotSet) {
  const Given channels("PLAIT_CHANNELS", ""), level("PLAIT_THREAD_LEVEL", "");
  EXPECT_EQ(number(Id::channels), std::nullopt);
  EXPECT_EQ(problems(), std::vector<std::string>());
}

TEST_F(Settings, WrongWholeNumbersLeaveTheDefault) {
  for (const char* const wrong : {"many", "0", "65", "-1", "1.5", "3 ", " 3", "0x3", "99999999999999999999"}) {
    const Given channels("PLAIT_CHANNELS", wrong);
    EXPECT_EQ(number(Id::channels), std::nullopt) << wrong;
    ASSERT_EQ(problems().size(), 1U) << wrong;
    EXPECT_EQ(problems()[0],
              std::string("PLAIT_CHANNELS=") + wrong +
                  ": expected a whole number from 1 to 64; the default holds: MPIR_CVAR_CH4_NUM_VCIS, at most one a core; else 1");
  }
}

TEST_F(Settings, WrongSecondsFlagsAndWordsAreNamed) {
  const Given watchdog("PLAIT_WATCHDOG", "nan"), report("PLAIT_REPORT", "yes"), level("PLAIT_THREAD_LEVEL", "single");
  const Given mpi("PLAIT_MPI", "lam");
  EXPECT_EQ(seconds(Id::watchdog), std::nullopt);
  EXPECT_FALSE(flag(Id::report));
  EXPECT_EQ(text(Id::thread_level), "");
  EXPECT_EQ(problems(),
            (std::vector<std::string>{
                "PLAIT_REPORT=yes: expected 0 or 1; the default holds: 0",
                "PLAIT_THREAD_LEVEL=single: expected serialized; the default holds: what the program asks for; multiple between nodes",
                "PLAIT_WATCHDOG=nan: expected a number of seconds from 0 on; the default holds: 0",
                "PLAIT_MPI=lam: expected mpich, openmpi, impi or system; the default holds: system where mpicc is on the PATH, else mpich",
            }));
}

TEST_F(Settings, UnknownNamesAreNamedWithTheNearest) {
  const Given slip("PLAIT_CHANELS", "3"), other("PLAIT_NOTHING_OF_THE_KIND", "3"), others("PLAITED", "3"), brief("PLAIT_FOO", "3");
  std::vector<std::string> lines = problems();
  std::sort(lines.begin(), lines.end());
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(lines[0], "PLAIT_CHANELS: plait knows no such variable; did you mean PLAIT_CHANNELS?");
  EXPECT_EQ(lines[1], "PLAIT_FOO: plait knows no such variable");
  EXPECT_EQ(lines[2], "PLAIT_NOTHING_OF_THE_KIND: plait knows no such variable");
}

TEST_F(Settings, OthersVariablesAreNotComplainedOf) {
  const Given vcis("MPIR_CVAR_CH4_NUM_VCIS", "all");
  EXPECT_EQ(number(Id::mpich_vcis), std::nullopt);
  EXPECT_EQ(problems(), std::vector<std::string>());
}

}  // namespace
}  // namespace plait::settings
