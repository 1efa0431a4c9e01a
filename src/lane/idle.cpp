#include "lane/idle.hpp"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "transport/network.hpp"

namespace plait::lane {
namespace {

using namespace std::chrono_literals;

/// Some 20 us of polling before the core is offered to others; then some yields, each as long as others want it.
constexpr int kSpins = 1000;
/// Where cores are short, no longer than a message under way takes, which is less than two changes of threads; and where that
/// was in vain, because who is waited for waits for this core, only a moment for some waits to come.
constexpr int kSpinsInCrowd = 60;
constexpr int kMoment = 10;
constexpr int kWaitsInVain = 16;
constexpr int kYields = 100;
/// Other endpoints are looked at every so many rounds of that.
constexpr int kRoundsToOthers = 32;
/// The one that looks after the network has to poll it; after so many yields it sleeps between two looks.
constexpr int kPatientYields = 20000;

constinit std::atomic<bool> crowded{false};  // a hint: relaxed

}  // namespace

void set_load(int endpoints, int cores) noexcept { crowded.store(endpoints > cores, std::memory_order_relaxed); }

bool is_crowded() noexcept { return crowded.load(std::memory_order_relaxed); }

int Idle::spins(Endpoint& endpoint) noexcept {
  if (!is_crowded()) return kSpins;
  // relaxed: a hint of the endpoint's threads.
  const int in_vain = endpoint.in_vain.load(std::memory_order_relaxed);
  if (in_vain == 0) return kSpinsInCrowd;
  endpoint.in_vain.store(in_vain - 1, std::memory_order_relaxed);
  return kMoment;
}

void Idle::give_way() noexcept {
  if (!attended_) {
    attended_ = true;
    endpoint_.attend(true);
    if (spins_ == kSpinsInCrowd) endpoint_.in_vain.store(kWaitsInVain, std::memory_order_relaxed);
  }
  // What this program's other streams have pending has to move while we block, if their threads are not there.
  if (rounds_ % kRoundsToOthers == 0 && visit_neglected()) return;
  if (transport::network()) {
    give_way_to_network();
  } else if (rounds_ < spins_ + kYields) {
    sched_yield();
  } else if (endpoint_.shared) {
    std::this_thread::sleep_for(20us);  // others wait at it, too
  } else {
    park(std::min<std::chrono::nanoseconds>(10ms, 100us * (1 + parks_++)));
  }
}

void Idle::park(std::chrono::nanoseconds longest) noexcept {
  if (endpoint_.impatient()) {
    longest = 20us;
  } else if (any_neglected()) {
    longest = 50us;
  }
  endpoint_.park(longest);
}

// ---- where there is a network, one of those that wait looks after it and the others sleep until it has something for them

namespace {

struct Driving {
  std::mutex lock;
  bool taken = false;
  std::vector<Endpoint*> asleep;
};

Driving& driving() {
  static Driving& driving = *new Driving;
  return driving;
}

}  // namespace

void Idle::give_way_to_network() noexcept {
  if (!driver_ && rounds_ >= spins_ + kYields) {
    Driving& d = driving();
    {
      const std::lock_guard guard(d.lock);
      driver_ = !std::exchange(d.taken, true);
      if (!driver_) d.asleep.push_back(&endpoint_);
    }
    if (!driver_) {
      if (endpoint_.shared) {
        std::this_thread::sleep_for(20us);
      } else {
        park(1ms);
      }
      const std::lock_guard guard(d.lock);
      std::erase(d.asleep, &endpoint_);
      return;
    }
  }
  sched_yield();
  if (rounds_ > spins_ + kPatientYields) std::this_thread::sleep_for(20us);
}

void Idle::leave() noexcept {
  endpoint_.attend(false);
  if (!driver_) return;
  Driving& d = driving();
  Endpoint* next = nullptr;
  {
    const std::lock_guard guard(d.lock);
    d.taken = false;
    if (!d.asleep.empty()) next = d.asleep.back();
  }
  if (next) next->wake();
}

}  // namespace plait::lane
