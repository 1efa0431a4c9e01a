// Waiting: spin, then yield the core, then sleep until notified. How long for each is decided here, for all features.
//
// A wait makes rounds of what it waits for. After the first rounds in vain it drives all other sources (progress/source.hpp) and
// the MPI in between, so that nothing that was started stands still while a call blocks. One object per wait, used by the
// waiting thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <thread>

#include "base/event_count.hpp"
#include "base/relax.hpp"
#include "progress/cores.hpp"
#include "progress/source.hpp"

namespace plait::progress {

/// Rounds of polling before the core is offered to others, and offers before sleeping. Where threads outnumber cores, spinning
/// lasts no longer than what is waited for takes when it is on its way, which is less than two changes of threads (1.35 us each).
struct Patience {
  int spins;
  int spins_oversubscribed;
  int yields;
  int rounds_to_others = 32;  ///< past the spinning, other sources are driven every so many rounds
  bool lends = true;          ///< other processes are waited for, so that this one's cores may be lent meanwhile
};
/// A message: a round takes some 20 ns.
inline constexpr Patience kForMessage{1000, 60, 100};
/// A notification in shared memory, or a word of a peer's: a round takes some ns, and the other side may be computing.
inline constexpr Patience kForNotification{2000, 60, 100};
/// The pieces of a partitioned message; a late thread may be computing.
inline constexpr Patience kForPartition{1000, 20, 2000, 4};
/// Ranks that come to the same collective call; then the endpoint is looked after, too.
inline constexpr Patience kForArrival{300, 0, 30};
/// Ranks of a node that wait for one which waits for other nodes: that takes longer than to give the core away, and it may need it.
inline constexpr Patience kForLeader{0, 0, 200};
/// Requests of several kinds, whose rounds are long.
inline constexpr Patience kForRequests{64, 0, 2000, 8};
/// Threads of this process that come to the same call.
inline constexpr Patience kForThreads{0, 0, 200, 32, false};
/// Threads of this process that share work and end together, or nearly.
inline constexpr Patience kForSubteam{2000, 0, 200, 32, false};
/// How long one side of a channel that is full or empty waits for the other, which is at work: some 10 us, or about as long as
/// one piece takes.
inline constexpr Patience kForRoom{500, 64, 0};

[[nodiscard]] inline int spins_of(const Patience& p) noexcept { return oversubscribed() ? p.spins_oversubscribed : p.spins; }

/// Where a thread waits.
class Waiter {
 public:
  Waiter() = default;
  Waiter(const Waiter&) = delete;
  Waiter& operator=(const Waiter&) = delete;

  /// What is notified when something has come; null: nothing is.
  [[nodiscard]] virtual EventCount* event() noexcept { return nullptr; }
  /// A thread waits here, and will look at what comes; or has ended to.
  virtual void set_polled(bool) noexcept {}
  /// How long it may sleep at a time: others may have to be asked.
  [[nodiscard]] virtual std::chrono::nanoseconds longest() const noexcept { return std::chrono::milliseconds(10); }

 protected:
  ~Waiter() = default;
};

/// Where nothing is notified.
class Nowhere final : public Waiter {};

class Wait {
 public:
  Wait(Waiter& waiter, const Patience& patience) noexcept;
  Wait(const Wait&) = delete;
  Wait& operator=(const Wait&) = delete;
  ~Wait() {
    if (polled_) [[unlikely]]
      leave();
  }

  /// After a round without success. `look`: one more round; true if it had success, or the wait is over.
  template <class Look>
  void pause(Look look) noexcept {
    if (++rounds_ < spins_) [[likely]] {
      relax();
    } else if (give_way()) {
      sleep(look);
    }
  }
  /// Nothing has come for so long that there is time for other things.
  [[nodiscard]] bool is_long() const noexcept { return rounds_ >= spins_; }
  /// After a round with success.
  void reset() noexcept { rounds_ = 0; }

 private:
  [[nodiscard]] bool give_way() noexcept;
  [[nodiscard]] bool is_driver() noexcept;
  [[nodiscard]] bool lend() noexcept;
  [[nodiscard]] std::chrono::nanoseconds how_long() noexcept;
  [[nodiscard]] std::chrono::nanoseconds while_lent() noexcept;
  void sleep_for(std::chrono::nanoseconds time) noexcept;
  void begin_sleep() noexcept;
  void end_sleep() noexcept;
  void leave() noexcept;

  template <class Look>
  void sleep(Look look) noexcept {
    const std::chrono::nanoseconds longest = how_long();
    EventCount* const event = waiter_.event();
    if (!event) {
      sleep_for(longest);
      return;
    }
    begin_sleep();
    const EventCount::Key key = event->prepare();
    if (look()) {
      event->cancel(key);
    } else {
      event->wait(key, longest);
    }
    end_sleep();
  }

  Waiter& waiter_;
  const Patience& patience_;
  int spins_;
  int rounds_ = 0;
  int sleeps_ = 0;
  bool polled_ = false;      ///< the waiter knows that we wait
  bool listed_ = false;      ///< among those that sleep while one polls
  bool driver_ = false;      ///< this wait is the one that polls what has to be polled
  bool lends_ = false;       ///< this process's cores
  std::uint32_t asked_ = 0;  ///< by others, before the last look, whether this wait still lends
};

/// Rounds until `done`, which is not asked again once it has said yes: that may have taken something. `round` is true if something
/// moved; `check` is called now and then once the wait is long.
template <class Round, class Done, class Check>
void wait_until(Waiter& waiter, const Patience& patience, Round round, Done done, Check check) {
  Wait wait(waiter, patience);
  bool over = false;
  const auto is_over = [&] {
    if (!over) over = done();
    return over;
  };
  while (!is_over()) {
    if (round()) {
      wait.reset();
      continue;
    }
    if (wait.is_long()) check();
    wait.pause([&] { return round() || is_over(); });
  }
}

}  // namespace plait::progress
