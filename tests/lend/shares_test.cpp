// Whose CPU is which, by the masks of a node's processes.
#include "lend/shares.hpp"

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <vector>

namespace {

using plait::lend::Reason;
using plait::lend::share;
using plait::lend::Shares;
using List = std::vector<int>;

std::vector<cpu_set_t> masks(std::initializer_list<List> lists) {
  std::vector<cpu_set_t> made;
  for (const List& list : lists) {
    cpu_set_t& mask = made.emplace_back();
    CPU_ZERO(&mask);
    for (const int cpu : list) CPU_SET(cpu, &mask);
  }
  return made;
}

TEST(Shares, BoundProcessesHaveTheirOwn) {
  const auto all = masks({{0, 1}, {2, 3}, {7}});
  EXPECT_EQ(share(all, 0).own, (List{0, 1}));
  EXPECT_EQ(share(all, 0).others, (List{2, 3, 7}));
  EXPECT_EQ(share(all, 2).own, (List{7}));
  EXPECT_EQ(share(all, 2).others, (List{0, 1, 2, 3}));
}

TEST(Shares, UnboundProcessesHavePartsOfWhatAllMayUse) {
  const auto all = masks({{0, 1, 2, 3, 4}, {0, 1, 2, 3, 4}});
  EXPECT_EQ(share(all, 0).own, (List{0, 1}));
  EXPECT_EQ(share(all, 1).own, (List{2, 3, 4}));
  EXPECT_EQ(share(all, 1).others, (List{0, 1}));
}

TEST(Shares, GroupsMayBeBoundAlike) {
  const auto all = masks({{0, 1}, {4, 5}, {0, 1}, {4, 5}});
  EXPECT_EQ(share(all, 2).own, (List{1}));
  EXPECT_EQ(share(all, 3).own, (List{5}));
  EXPECT_EQ(share(all, 3).others, (List{0, 4, 1}));
}

TEST(Shares, ReasonsAreTheSameInAllProcesses) {
  struct Case {
    std::vector<cpu_set_t> masks;
    Reason reason;
  };
  const std::vector<Case> cases = {{masks({{0, 1}}), Reason::alone},
                                   {masks({{0}, {1}, {0}}), Reason::too_few},
                                   {masks({{0}, {}}), Reason::unknown},
                                   {masks({{0, 1}, {1, 2}}), Reason::overlap},
                                   {masks({{5}, {0, 1, 2}, {0, 1}}), Reason::overlap}};
  for (const Case& c : cases) {
    for (std::size_t me = 0; me < c.masks.size(); ++me) {
      const Shares found = share(c.masks, me);
      EXPECT_EQ(found.reason, c.reason);
      EXPECT_TRUE(found.own.empty() && found.others.empty());
    }
    EXPECT_NE(std::string(text_of(c.reason)), "");
  }
}

TEST(Shares, ThisProcessMayUseSomeCpu) {
  const cpu_set_t usable = plait::lend::usable_cpus();
  EXPECT_GE(CPU_COUNT(&usable), 1);
}

}  // namespace
