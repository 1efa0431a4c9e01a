#include "subteam/subteam.hpp"

#include <cstdio>

#include "base/delay.hpp"
#include "base/fatal.hpp"
#include "progress/wait.hpp"

namespace plait::subteam {
namespace {

using Kind = Construct::Kind;

/// The counter of a meeting.
constexpr unsigned kSignatureShift = 16;
constexpr std::uint64_t kCount = 0xFFFF;

/// The door.
constexpr std::uint64_t kHelper = 1, kHelpers = 0x7FFF, kOpen = 0x8000;
constexpr unsigned kNumberShift = 16;
constexpr std::uint64_t number_of(std::uint64_t door) noexcept { return door >> kNumberShift; }

std::uint64_t mix(std::uint64_t hash, long value) noexcept {
  hash = (hash ^ static_cast<std::uint64_t>(value)) * 0x9E3779B97F4A7C15;
  return hash ^ (hash >> 29);
}

}  // namespace

/// Where a thread waits for others of the sub-team.
class Place final : public progress::Waiter {
 public:
  explicit Place(SubTeam& team) noexcept : team_(team) {}
  [[nodiscard]] EventCount* event() noexcept override { return &team_.event_; }

 private:
  SubTeam& team_;
};

std::uint64_t Construct::signature() const noexcept {
  const std::uint64_t what = mix(mix(mix(mix(1, static_cast<long>(kind)), low), high), chunk);
  return mix(what, reinterpret_cast<std::intptr_t>(of)) & (~std::uint64_t{0} >> kSignatureShift);
}

std::string to_string(const Construct& c) {
  const auto loop = [&](const char* what) {
    return c.high > c.low ? what + (" over " + std::to_string(c.low)) + " to " + std::to_string(c.high - 1)
                          : std::string(what) + " without iterations";
  };
  switch (c.kind) {
    case Kind::barrier:
      return "a barrier";
    case Kind::single:
      return "a single";
    case Kind::parts:
      return loop("a loop");
    case Kind::chunks:
      return loop("a loop") + " in chunks of " + std::to_string(c.chunk);
    case Kind::balanced:
      return loop("a balanced loop");
    case Kind::none:
      break;
  }
  return "no construct";
}

Range part_of(long low, long high, int part, int parts) noexcept {
  if (high <= low) return {low, low};
  // Unsigned, as the difference may be larger than any long.
  const auto n = static_cast<unsigned long>(high) - static_cast<unsigned long>(low);
  const auto p = static_cast<unsigned long>(parts), k = static_cast<unsigned long>(part);
  const auto at = [&](unsigned long i) { return static_cast<long>(static_cast<unsigned long>(low) + n / p * i + (i < n % p ? i : n % p)); };
  return {at(k), at(k + 1)};
}

SubTeam::SubTeam(int first, int last, int team_size)
    : first_(first), last_(last), members_(std::make_unique<Member[]>(static_cast<std::size_t>(team_size))) {}

Construct SubTeam::construct_of(int thread) const noexcept {
  const Member& m = members_[static_cast<std::size_t>(thread)];
  return {m.kind.load(std::memory_order_relaxed), m.low.load(std::memory_order_relaxed), m.high.load(std::memory_order_relaxed),
          m.chunk.load(std::memory_order_relaxed), m.of.load(std::memory_order_relaxed)};
}

void SubTeam::come_to(int me, const Construct& construct) noexcept {
  if (!has(me) && construct.kind != Kind::chunks) {
    fatal("thread %d comes to %s of threads %d to %d, and is none of them", me, to_string(construct).c_str(), first_, last_);
  }
  Member& member = members_[static_cast<std::size_t>(me)];
  // relaxed, as below: others read this only to say what is wrong.
  if (const Kind before = member.kind.exchange(construct.kind, std::memory_order_relaxed); before != Kind::none) {
    Construct other = construct_of(me);
    other.kind = before;
    fatal(
        "thread %d comes to %s of threads %d to %d while it is at %s of theirs: either it has left that before its end, or the one is "
        "within "
        "the other, or two threads say that they are thread %d",
        me, to_string(construct).c_str(), first_, last_, to_string(other).c_str(), me);
  }
  member.low.store(construct.low, std::memory_order_relaxed);
  member.high.store(construct.high, std::memory_order_relaxed);
  member.chunk.store(construct.chunk, std::memory_order_relaxed);
  member.of.store(construct.of, std::memory_order_relaxed);
}

bool SubTeam::arrive(int me, std::uint64_t meeting) noexcept {
  delay();
  members_[static_cast<std::size_t>(me)].meetings.store(meeting + 1, std::memory_order_relaxed);
  const std::uint64_t mine = (construct_of(me).signature() << kSignatureShift) + 1;
  // acq_rel: the last one sees what all have done, as each of these adds to what the one before has written.
  const std::uint64_t sum = arrived_.fetch_add(mine, std::memory_order_acq_rel) + mine;
  const auto all = static_cast<std::uint64_t>(size());
  if ((sum & kCount) != all) return false;
  if (sum != all * mine) fail_at_different_constructs(me);
  return true;
}

void SubTeam::end_meeting(std::uint64_t meeting) noexcept {
  // relaxed: the next to add has seen that this meeting is over.
  arrived_.store(0, std::memory_order_relaxed);
  // release: what all have done before, for all that leave.
  meetings_.store(meeting + 1, std::memory_order_release);
  event_.notify();
}

void SubTeam::wait_for_end(int me, std::uint64_t meeting) noexcept {
  const auto over = [&] { return meetings_.load(std::memory_order_acquire) != meeting; };
  Place place(*this);
  Watchdog watchdog;
  progress::count_thread();
  progress::wait_until(
      place, progress::kForSubteam, [] { return false; }, over, [&] { watch(me, watchdog, [&] { return missing(meeting); }); });
}

template <class Who>
void SubTeam::watch(int me, Watchdog& watchdog, Who who) const noexcept {
  if (!watchdog.expired()) return;
  const std::string text = who();
  if (text.empty() || !watchdog.barks()) return;
  std::fprintf(stderr, "plait: thread %d has been at %s of threads %d to %d for more than %g s; it waits for %s\n", me,
               to_string(construct_of(me)).c_str(), first_, last_, watchdog.seconds(), text.c_str());
}

std::string SubTeam::missing(std::uint64_t meeting) const {
  std::string names;
  for (int t = first_; t <= last_; ++t) {
    if (members_[static_cast<std::size_t>(t)].meetings.load(std::memory_order_relaxed) > meeting) continue;
    names += (names.empty() ? "thread " : ", thread ") + std::to_string(t);
  }
  return names;
}

void SubTeam::fail_at_different_constructs(int me) const noexcept {
  const std::uint64_t mine = construct_of(me).signature();
  int other = first_;
  while (other < last_ && construct_of(other).signature() == mine) ++other;
  const std::string one = to_string(construct_of(me));
  std::string another = to_string(construct_of(other));
  if (one == another) another += " of another balance";
  fatal("threads %d to %d have come to different constructs: thread %d to %s, thread %d to %s", first_, last_, me, one.c_str(), other,
        another.c_str());
}

bool SubTeam::claim_single(int me) noexcept {
  std::uint64_t number = members_[static_cast<std::size_t>(me)].singles++;
  // relaxed: only who runs the block is decided here; the meeting orders what it does.
  return singles_.compare_exchange_strong(number, number + 1, std::memory_order_relaxed);
}

void SubTeam::open_door(int me) noexcept {
  const std::uint64_t shut = members_[static_cast<std::size_t>(me)].loops++ << kNumberShift;
  // relaxed: who comes in is nothing to this thread.
  std::uint64_t door = door_.load(std::memory_order_relaxed);
  if (door != shut) return;
  // relaxed: the door's release hands it over. Who is as early as the one that opens it writes the same, or the loop's end tells of it.
  loop_.store(construct_of(me).signature(), std::memory_order_relaxed);
  // release: what the sub-team has done before its last meeting, for the helpers.
  if (door_.compare_exchange_strong(door, shut | kOpen, std::memory_order_release, std::memory_order_relaxed)) event_.notify();
}

bool SubTeam::come_in(int me) noexcept {
  const std::uint64_t number = members_[static_cast<std::size_t>(me)].loops++;
  std::uint64_t door = 0;
  const auto has_begun = [&] {
    door = door_.load(std::memory_order_relaxed);
    return number_of(door) > number || (number_of(door) == number && (door & kOpen) != 0);
  };
  if (!has_begun()) {
    Place place(*this);
    Watchdog watchdog;
    progress::count_thread();
    progress::wait_until(
        place, progress::kForSubteam, [] { return false; }, has_begun,
        [&] { watch(me, watchdog, [] { return std::string("these to begin it"); }); });
  }
  // acquire: what the sub-team has done before the loop.
  while (number_of(door) == number) {
    delay();
    if (!door_.compare_exchange_weak(door, door + kHelper, std::memory_order_acquire, std::memory_order_relaxed)) continue;
    if (loop_.load(std::memory_order_relaxed) != construct_of(me).signature()) {
      fatal("thread %d joins %s of threads %d to %d, which give other bounds, or another chunk", me, to_string(construct_of(me)).c_str(),
            first_, last_);
    }
    return true;
  }
  members_[static_cast<std::size_t>(me)].kind.store(Kind::none, std::memory_order_relaxed);
  return false;
}

void SubTeam::go_out(int me) noexcept {
  delay();
  members_[static_cast<std::size_t>(me)].kind.store(Kind::none, std::memory_order_relaxed);
  // release: what it has done, for the one that shuts the door.
  door_.fetch_sub(kHelper, std::memory_order_release);
  event_.notify();
}

void SubTeam::shut_door(int me) noexcept {
  std::uint64_t door = door_.load(std::memory_order_relaxed);
  const auto try_to_shut = [&] {
    door = door_.load(std::memory_order_relaxed);
    if ((door & kHelpers) != 0) return false;
    // acquire: what helpers have done, which the meeting hands on. release goes with it: the next loop's number is what helpers wait for.
    return door_.compare_exchange_strong(door, (number_of(door) + 1) << kNumberShift, std::memory_order_acq_rel, std::memory_order_relaxed);
  };
  if (!try_to_shut()) {
    Place place(*this);
    Watchdog watchdog;
    progress::count_thread();
    progress::wait_until(
        place, progress::kForSubteam, [] { return false; }, try_to_shut,
        [&] { watch(me, watchdog, [] { return std::string("threads that have joined it"); }); });
  }
  // relaxed: the meeting's end, or the door that opens after it, is between this and who takes a chunk next.
  cursor_.store(0, std::memory_order_relaxed);
}

}  // namespace plait::subteam
