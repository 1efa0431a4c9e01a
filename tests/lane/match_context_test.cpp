// Matching against a naive oracle, and contexts by number. One thread, no lanes.
#include "lane/match_context.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <list>
#include <memory>
#include <random>
#include <set>
#include <vector>

namespace plait::lane {
namespace {

/// What a receive asks for, by a number of the test's.
struct Asked {
  int id;
  std::uint32_t first, end;
  std::int32_t tag;

  [[nodiscard]] bool fits(std::uint32_t source, std::int32_t t) const {
    return source >= first && source < end && (tag == kAnyTag || tag == t);
  }
};

struct Came {
  int id;
  std::uint32_t source;
  std::int32_t tag;
};

constexpr std::uint32_t kSources = 70;  // more than buckets

/// The same operations on a MatchContext and on two plain lists searched from the front.
class Both {
 public:
  explicit Both(std::uint32_t seed) : random_(seed) {}
  ~Both() {
    while (Unexpected* const u = context_.first_unexpected()) {
      context_.take(*u);
      delete u;
    }
  }

  void arrive() {
    const Came message{next_++, below(kSources), static_cast<std::int32_t>(below(4))};
    const auto expected = std::ranges::find_if(posted_, [&](const Asked& a) { return a.fits(message.source, message.tag); });
    const Operation* const met = context_.take_posted(message.source, message.tag);
    ASSERT_EQ(met != nullptr, expected != posted_.end());
    if (met) {
      ASSERT_EQ(met->to_rank, expected->id);
      ASSERT_FALSE(met->posted);
      posted_.erase(expected);
      std::erase_if(operations_, [&](const auto& o) { return o.get() == met; });
      return;
    }
    auto kept = std::make_unique<Unexpected>();
    kept->source = message.source;
    kept->tag = message.tag;
    kept->bytes = static_cast<std::uint64_t>(message.id);
    context_.keep(*kept.release());
    unexpected_.push_back(message);
  }

  void receive() {
    Asked asked{next_++, 0, kSources, below(3) ? static_cast<std::int32_t>(below(4)) : kAnyTag};
    if (below(4)) {
      asked.first = below(kSources);
      // Now and then some of the sources, as on a multiplex communicator.
      asked.end = below(6) ? asked.first + 1 : std::min(kSources, asked.first + 1 + below(5));
    }
    const auto expected = std::ranges::find_if(unexpected_, [&](const Came& m) { return asked.fits(m.source, m.tag); });
    Unexpected* const found = context_.find(asked.first, asked.end, asked.tag);
    ASSERT_EQ(found != nullptr, expected != unexpected_.end());
    if (found) {
      ASSERT_EQ(found->bytes, static_cast<std::uint64_t>(expected->id));
      unexpected_.erase(expected);
      context_.take(*found);
      delete found;
      return;
    }
    auto& o = *operations_.emplace_back(std::make_unique<Operation>());
    o.to_rank = asked.id;
    o.first_source = asked.first;
    o.end_source = asked.end;
    o.tag = asked.tag;
    context_.post(o);
    posted_.push_back(asked);
  }

  void cancel() {
    if (operations_.empty()) return;
    const auto at = operations_.begin() + below(static_cast<std::uint32_t>(operations_.size()));
    context_.unpost(**at);
    std::erase_if(posted_, [&](const Asked& a) { return a.id == (*at)->to_rank; });
    operations_.erase(at);
  }

  void step() {
    const std::uint32_t what = below(20);
    if (what == 0) {
      cancel();
    } else if (what < 10 + phase_) {
      arrive();
    } else {
      receive();
    }
    if (below(100) == 0) phase_ = below(9);  // now many messages wait, now many receives
    ASSERT_EQ(context_.has_unexpected(), !unexpected_.empty());
    ASSERT_EQ(context_.any_posted() != nullptr, !posted_.empty());
  }

 private:
  std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>(random_() % n); }

  std::mt19937 random_;
  std::uint32_t phase_ = 0;
  int next_ = 1;
  MatchContext context_;
  std::list<Asked> posted_;
  std::list<Came> unexpected_;
  std::vector<std::unique_ptr<Operation>> operations_;
};

TEST(Matching, AgreesWithPlainLists) {
  for (int program = 0; program < 200; ++program) {
    const std::uint32_t seed = std::random_device{}();
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Both both(seed);
    for (int i = 0; i < 3000; ++i) ASSERT_NO_FATAL_FAILURE(both.step());
  }
}

TEST(ContextTable, NumbersFindTheirContextUntilItIsGone) {
  std::set<std::uint32_t> ids;
  for (int round = 0; round < 20; ++round) {
    std::vector<std::unique_ptr<MatchContext>> some;
    for (int i = 0; i < 200; ++i) {
      some.push_back(std::make_unique<MatchContext>());
      ASSERT_TRUE(add_context(*some.back()));
      EXPECT_TRUE(ids.insert(some.back()->id).second) << "a number is used again";
    }
    for (const auto& c : some) EXPECT_EQ(find_context(c->id), c.get());
    for (const auto& c : some) {
      remove_context(*c);
      EXPECT_EQ(find_context(c->id), nullptr);
      EXPECT_EQ(find_endpoint(c->id), nullptr);
    }
  }
}

}  // namespace
}  // namespace plait::lane
