// What a process does on the board: process 0 is this one, the other is played.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <memory>
#include <vector>

#include "lend/lend.hpp"

namespace {

using plait::lend::Board;
using plait::lend::Lent;
using plait::lend::Words;
namespace lend = plait::lend;

const std::vector<int> kOwn{0, 1};
const std::vector<int> kOthers{2, 3};

/// Lending begins once in a process, and in a region that has begun before it.
class Process : public testing::Test {
 public:
  static void SetUpTestSuite() {
    words = std::make_unique<Words>().release();  // stays, as lending does
    EXPECT_EQ(lend::begin_region({}), 0u);
    EXPECT_EQ(wait(), Lent::no);
    lend::start(*words, 0, kOwn, kOthers);
    EXPECT_EQ(wait(), Lent::no);
    lend::end_region({});
  }

 protected:
  static Lent wait() { return lend::lend(lend::times_asked()); }

  static inline Words* words = nullptr;
  Board other_{*words, 1};
};

TEST_F(Process, AWaitLends) {
  EXPECT_EQ(wait(), Lent::now);
  EXPECT_EQ(wait(), Lent::before);
  EXPECT_EQ(other_.count_free(kOwn), 2u);
  lend::end_wait();
  EXPECT_EQ(other_.count_free(kOwn), 0u);
}

TEST_F(Process, AWaitThatIsAskedLooksFirst) {
  const std::uint32_t before = lend::times_asked();
  EXPECT_EQ(lend::lend(before), Lent::now);
  other_.ask(kOwn);
  EXPECT_EQ(lend::lend(before), Lent::before);
  EXPECT_EQ(other_.count_free(kOwn), 0u);
  EXPECT_EQ(wait(), Lent::now);
  lend::end_wait();
}

TEST_F(Process, InARegionAWaitLendsNothing) {
  EXPECT_EQ(wait(), Lent::now);
  EXPECT_EQ(lend::begin_region({}), 0u);
  EXPECT_EQ(other_.count_free(kOwn), 0u);
  EXPECT_EQ(wait(), Lent::no);
  lend::end_region({});
  EXPECT_EQ(wait(), Lent::now);
  lend::end_wait();
}

TEST_F(Process, DisabledItLendsAndBorrowsNothing) {
  EXPECT_EQ(wait(), Lent::now);
  other_.lend(kOthers);
  lend::set_enabled(false);
  EXPECT_EQ(other_.count_free(kOwn), 0u);
  EXPECT_EQ(wait(), Lent::no);
  std::vector<int> cpus(2);
  EXPECT_EQ(lend::begin_region(cpus), 0u);
  lend::end_region({});
  lend::set_enabled(true);
  EXPECT_EQ(lend::begin_region(cpus), 2u);
  EXPECT_EQ(cpus, kOthers);
  lend::end_region(cpus);
  other_.reclaim(kOthers);
}

TEST_F(Process, AChildOfForkHasNoShare) {
  EXPECT_EQ(wait(), Lent::now);
  other_.lend(kOthers);
  std::vector<int> cpus(1);
  ASSERT_EQ(lend::begin_region(cpus), 1u);
  lend::end_wait();
  const pid_t child = fork();
  if (child == 0) {
    lend::end_region(cpus);  // in which it began
    std::vector<int> more(2);
    const bool none = wait() == Lent::no && lend::begin_region(more) == 0 && lend::own_cpus() == 0;
    _exit(none ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(other_.count_free(kOthers), 1u);
  lend::end_region(cpus);
  EXPECT_EQ(other_.count_free(kOthers), 2u);
  other_.reclaim(kOthers);
}

}  // namespace
