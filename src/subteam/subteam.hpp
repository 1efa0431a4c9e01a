// A sub-team: threads `first` to `last` of a team, which meet at constructs. Each of them comes to the same constructs in the same order;
// other threads of the team may come to loops in chunks, and help.
//
// A meeting is a barrier: a counter, and the number of meetings that are over. Into the counter each thread also adds a signature of the
// construct that it is at, so that the last one sees, without looking at the others' lines, whether all are at the same one.
//
// A loop in chunks has a cursor, which is 0 between loops, and a door, by which others come in:
//
//     door    number of the loop | open | helpers inside
//
// The first thread of the sub-team that comes to the loop opens the door. The last one that has come to its end waits until the helpers are
// out, and shuts it by moving on its number; then it resets the cursor, and the meeting ends. A helper takes chunks only between coming in
// and going out: so it never takes one of another loop.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "base/event_count.hpp"
#include "base/watchdog.hpp"

namespace plait::subteam {

/// Numbers of threads have 15 bits in the door.
inline constexpr int kMostThreads = 32767;

/// What a thread is at.
struct Construct {
  enum class Kind : std::uint8_t { none, barrier, single, parts, chunks, balanced };
  Kind kind = Kind::none;
  long low = 0, high = 0, chunk = 0;
  const void* of = nullptr;  ///< tells balanced loops apart

  [[nodiscard]] std::uint64_t signature() const noexcept;
  [[nodiscard]] bool is_loop() const noexcept { return kind >= Kind::parts; }
};

/// In so many equal parts, the `part`th.
struct Range {
  long begin, end;
};
[[nodiscard]] Range part_of(long low, long high, int part, int parts) noexcept;

// What threads write has lines of its own.
class SubTeam {  // NOLINT(clang-analyzer-optin.performance.Padding)
 public:
  /// Throws std::bad_alloc.
  SubTeam(int first, int last, int team_size);
  SubTeam(const SubTeam&) = delete;
  SubTeam& operator=(const SubTeam&) = delete;
  ~SubTeam() = default;

  [[nodiscard]] int first() const noexcept { return first_; }
  [[nodiscard]] int last() const noexcept { return last_; }
  [[nodiscard]] int size() const noexcept { return last_ - first_ + 1; }
  [[nodiscard]] bool has(int thread) const noexcept { return thread >= first_ && thread <= last_; }

  /// `me` comes to a construct. Fatal where it is none of the threads or within a loop of theirs.
  void come_to(int me, const Construct& construct) noexcept;
  /// The end of it: returns when all have come there. The last one calls `complete()` first, while all others wait.
  template <class Complete>
  void meet(int me, Complete complete) noexcept;
  void meet(int me) noexcept {
    meet(me, [] {});
  }

  /// True for the one that runs the block of a single: the first that comes.
  [[nodiscard]] bool claim_single(int me) noexcept;

  /// Loops in chunks. A thread of the sub-team opens the door if it is the first; another comes in, if the loop is not over: false if it
  /// is.
  void open_door(int me) noexcept;
  [[nodiscard]] bool come_in(int me) noexcept;  ///< fatal where its loop is another than theirs
  void go_out(int me) noexcept;
  /// The number of the next chunk.
  [[nodiscard]] std::uint64_t next_chunk() noexcept { return cursor_.fetch_add(1, std::memory_order_relaxed); }
  /// By the last at a loop's end.
  void shut_door(int me) noexcept;

  SubTeam* next = nullptr;  ///< of the team's

 private:
  friend class Place;
  /// Of each thread of the team: what only it writes. The others read it to say what is wrong.
  struct alignas(64) Member {
    std::atomic<std::uint64_t> meetings{0};  ///< that it has come to
    std::uint64_t singles = 0;
    std::uint64_t loops = 0;  ///< in chunks, that it has been at
    std::atomic<Construct::Kind> kind{Construct::Kind::none};
    std::atomic<long> low{0}, high{0}, chunk{0};
    std::atomic<const void*> of{nullptr};
  };

  [[nodiscard]] Construct construct_of(int thread) const noexcept;
  [[nodiscard]] std::string missing(std::uint64_t meeting) const;
  /// True for the last that has come.
  [[nodiscard]] bool arrive(int me, std::uint64_t meeting) noexcept;
  void end_meeting(std::uint64_t meeting) noexcept;
  void wait_for_end(int me, std::uint64_t meeting) noexcept;
  /// To look at in a long wait: says once, of one wait of the process, what thread `me` waits for. Empty: nothing can be said.
  template <class Who>
  void watch(int me, Watchdog& watchdog, Who who) const noexcept;
  [[noreturn]] void fail_at_different_constructs(int me) const noexcept;

  const int first_, last_;
  std::unique_ptr<Member[]> members_;
  alignas(64) std::atomic<std::uint64_t> arrived_{0};   ///< by 16 bits: the sum of signatures, and how many have come
  alignas(64) std::atomic<std::uint64_t> meetings_{0};  ///< that are over
  EventCount event_;                                    ///< a meeting is over, a door is open, a helper is out
  alignas(64) std::atomic<std::uint64_t> cursor_{0};
  alignas(64) std::atomic<std::uint64_t> door_{0};
  std::atomic<std::uint64_t> loop_{0};     ///< signature of the loop behind an open door
  std::atomic<std::uint64_t> singles_{0};  ///< that have been claimed
};

template <class Complete>
void SubTeam::meet(int me, Complete complete) noexcept {
  Member& member = members_[static_cast<std::size_t>(me)];
  const std::uint64_t meeting = member.meetings.load(std::memory_order_relaxed);
  if (arrive(me, meeting)) {
    complete();
    end_meeting(meeting);
  } else {
    wait_for_end(me, meeting);
  }
  member.kind.store(Construct::Kind::none, std::memory_order_relaxed);
}

/// "a loop over 0 to 99", to be told.
[[nodiscard]] std::string to_string(const Construct& construct);

}  // namespace plait::subteam
