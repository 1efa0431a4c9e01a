#include "progress/wait.hpp"

#include <sched.h>

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

#include "base/delay.hpp"
#include "lend/lend.hpp"

namespace plait::progress {
namespace {

using namespace std::chrono_literals;

/// Where spinning was in vain, because who is waited for waits for this core, some waits to come spin only a moment.
constexpr int kMoment = 10;
constexpr int kWaitsInVain = 16;
thread_local int in_vain = 0;

/// Past the spinning the MPI is looked at every so many rounds; at each, once there is time.
constexpr int kRoundsToMpi = 8;
constexpr int kAlwaysToMpi = 200;
/// The one that polls for all sleeps between two looks after so many yields.
constexpr int kPatientYields = 20000;
constexpr auto kNap = 20us;
/// A sleep is longer each time, as long as nothing else is pending.
constexpr auto kFirstSleep = 100us;
constexpr auto kWhilePending = 50us;
constexpr auto kWhileOthersPoll = 1ms;
/// Where nothing notifies.
constexpr auto kUnnotified = 20us;

/// A wait that has yielded so often lends its process's cores, and from then on leaves them alone but for a look now and then.
constexpr int kYieldsToLend = 100;
constexpr auto kWhileLent = 50us;
/// Each time a look is as much later, until this: it takes some of the core that has been lent.
constexpr int kLooksWhileLent = 10;

/// Of those that wait for what has to be polled one does, and the others sleep until it has something for them.
struct Driving {
  std::mutex lock;
  bool taken = false;
  std::vector<EventCount*> asleep;
};

Driving& driving() {
  static Driving& driving = *new Driving;  // never destroyed: threads may wait while the program ends
  return driving;
}

int first_spins(const Patience& patience) noexcept {
  const int spins = spins_of(patience);
  if (in_vain == 0 || spins <= kMoment || !oversubscribed()) return spins;
  --in_vain;
  return kMoment;
}

}  // namespace

Wait::Wait(Waiter& waiter, const Patience& patience) noexcept : waiter_(waiter), patience_(patience), spins_(first_spins(patience)) {}

/// True where it is time to sleep.
bool Wait::give_way() noexcept {
  if (!polled_) {
    polled_ = true;
    waiter_.set_polled(true);
    if (spins_ > kMoment && spins_ == patience_.spins_oversubscribed) in_vain = kWaitsInVain;
  }
  const bool turn = rounds_ % patience_.rounds_to_others == 0;
  if (turn && drive()) return false;
  const int waited = rounds_ - spins_;
  if (waited % kRoundsToMpi == 0 || waited > kAlwaysToMpi) poll_mpi();
  const bool lends = patience_.lends && lend::may_lend();
  if (waited < (lends ? std::min(patience_.yields, kYieldsToLend) : patience_.yields)) {
    sched_yield();
    return false;
  }
  delay();
  if ((lends || lends_) && lend()) return false;
  // Once there is time, others are looked at each time.
  if (!turn && drive()) return false;
  if (!is_driver()) return true;
  sched_yield();
  if (lends_)
    sleep_for(while_lent());
  else if (waited > kPatientYields)
    std::this_thread::sleep_for(kNap);
  return false;
}

/// True where some have just been lent: then it is looked once more.
bool Wait::lend() noexcept {
  if (!lends_) asked_ = lend::times_asked();
  const lend::Lent lent = lend::lend(asked_);
  const bool first = !std::exchange(lends_, lent != lend::Lent::no);
  return lends_ && (first || lent == lend::Lent::now);
}

void Wait::sleep_for(std::chrono::nanoseconds time) noexcept {
  if (!lends_) {
    std::this_thread::sleep_for(time);
    return;
  }
  lend::sleep(asked_, time);
  asked_ = lend::times_asked();
}

/// Has this wait to poll for all?
bool Wait::is_driver() noexcept {
  if (driver_ || !must_poll()) return driver_;
  Driving& d = driving();
  const std::lock_guard guard(d.lock);
  driver_ = !std::exchange(d.taken, true);
  return driver_;
}

std::chrono::nanoseconds Wait::while_lent() noexcept {
  sleeps_ = std::min(sleeps_ + 1, kLooksWhileLent);
  return kWhileLent * sleeps_;
}

std::chrono::nanoseconds Wait::how_long() noexcept {
  if (!waiter_.event()) return lends_ ? while_lent() : kUnnotified;
  std::chrono::nanoseconds longest = std::min<std::chrono::nanoseconds>(waiter_.longest(), kFirstSleep * ++sleeps_);
  // Asked whether it still lends, it sleeps on.
  if (must_poll() || lends_) longest = std::min<std::chrono::nanoseconds>(longest, kWhileOthersPoll);
  return any_pending() ? std::min<std::chrono::nanoseconds>(longest, kWhilePending) : longest;
}

void Wait::begin_sleep() noexcept {
  if (!must_poll()) return;
  Driving& d = driving();
  const std::lock_guard guard(d.lock);
  try {
    d.asleep.push_back(waiter_.event());
    listed_ = true;
  } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch): it wakes by itself
  }
}

void Wait::end_sleep() noexcept {
  if (lends_) asked_ = lend::times_asked();
  if (!listed_) return;
  listed_ = false;
  Driving& d = driving();
  const std::lock_guard guard(d.lock);
  const auto at = std::ranges::find(d.asleep, waiter_.event());
  d.asleep.erase(at);
}

void Wait::leave() noexcept {
  if (lends_) lend::end_wait();
  waiter_.set_polled(false);
  if (!driver_) return;
  Driving& d = driving();
  const std::lock_guard guard(d.lock);
  d.taken = false;
  // With the lock: who sleeps there takes itself out of the list before its event may be gone.
  if (!d.asleep.empty()) d.asleep.back()->notify();
}

}  // namespace plait::progress
