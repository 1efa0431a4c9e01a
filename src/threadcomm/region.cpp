// MPIX_Threadcomm_start and MPIX_Threadcomm_finish: which thread is which rank.
#include "threadcomm/region.hpp"

#include <dlfcn.h>
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "base/watchdog.hpp"
#include "lane/endpoint.hpp"
#include "layout/contents.hpp"
#include "stream/hang.hpp"
#include "transport/network.hpp"

namespace plait::threadcomm {

using layout::MPIError;
using layout::require;

namespace {

using namespace std::chrono_literals;

struct Seat {
  const Process* base;
  int index;
  Seat* next;  ///< of the same thread, at another base
};

/// The calling thread's.
constinit thread_local Seat* seats = nullptr;
/// Where it sat last: it goes there again, to what its core's cache knows.
constinit thread_local int last_index = -1;

Seat* seat_at(const Process& base) noexcept {
  Seat* seat = seats;
  while (seat && seat->base != &base) seat = seat->next;
  return seat;
}

void leave_seat(const Process& base) noexcept {
  Seat** at = &seats;
  while ((*at)->base != &base) at = &(*at)->next;
  Seat* const gone = *at;
  *at = gone->next;
  delete gone;
}

/// The number of the thread in its OpenMP team, if that is as large as the base: then ranks are in the order of these.
int number_in_team(int threads) noexcept {
  using Ask = int (*)();
  static const auto team_size = reinterpret_cast<Ask>(dlsym(RTLD_DEFAULT, "omp_get_num_threads"));
  static const auto number = reinterpret_cast<Ask>(dlsym(RTLD_DEFAULT, "omp_get_thread_num"));
  return team_size && number && team_size() == threads ? number() : -1;
}

int choose_seat(const Region& region) {
  const auto threads = static_cast<int>(region.taken.size());
  for (const int wanted : {number_in_team(threads), last_index}) {
    if (wanted >= 0 && wanted < threads && !region.taken[static_cast<std::size_t>(wanted)]) return wanted;
  }
  const auto free = std::ranges::find(region.taken, 0);
  return free == region.taken.end() ? -1 : static_cast<int>(free - region.taken.begin());
}

/// How long those that wait poll before they sleep.
constexpr int kYields = 200;
/// They look after what is pending in between.
constexpr auto kLook = 1ms;
/// Without PLAIT_WATCHDOG it is said after this that some have not started.
constexpr std::chrono::duration<double> kLong = 10s;

void tell(Region& region, double seconds, stream::Call call) {
  const unsigned meeting = region.meetings.load(std::memory_order_relaxed);
  if (std::exchange(region.told, meeting) == meeting) return;
  const std::size_t all = region.taken.size();
  stream::tell_hang(call, 0, seconds, [&] {
    return std::to_string(all - static_cast<std::size_t>(region.here)) + " of the " + std::to_string(all) + " threads of this process";
  });
}

/// Comes to a meeting, the lock held. False where the watchdog has barked at it.
[[nodiscard]] bool meet(Region& region, std::unique_lock<std::mutex>& guard, bool start, stream::Call call) {
  if (++region.here == static_cast<int>(region.taken.size())) {
    region.here = 0;
    region.on = start;
    if (!start) std::ranges::fill(region.taken, 0);
    // release: what each has done before, for all that leave.
    region.meetings.fetch_add(1, std::memory_order_release);
    region.moved.notify_all();
    return true;
  }
  const unsigned meeting = region.meetings.load(std::memory_order_relaxed);
  const auto over = [&] { return region.meetings.load(std::memory_order_acquire) != meeting; };
  const auto begin = std::chrono::steady_clock::now();
  const Watchdog watchdog;
  guard.unlock();
  for (int round = 0; !over(); ++round) {
    if (round < kYields) {
      sched_yield();
      continue;
    }
    // What was sent to others has to arrive while we wait here.
    static_cast<void>(lane::visit_neglected());
    static_cast<void>(transport::drive_network());
    const std::chrono::duration<double> waited = std::chrono::steady_clock::now() - begin;
    guard.lock();
    if (over()) return true;
    if (watchdog.expired()) {
      tell(region, watchdog.seconds(), call);
      if (start) {
        --region.here;
        return false;
      }
    } else if (start && waited > kLong) {
      tell(region, kLong.count(), call);
    }
    region.moved.wait_for(guard, kLook);
    guard.unlock();
  }
  return true;
}

}  // namespace

stream::Communicator* of_thread(stream::Communicator& c) noexcept {
  auto& process = static_cast<Process&>(c);
  const Seat* const seat = seat_at(*process.base);
  Rank* const rank = seat ? process.ranks[static_cast<std::size_t>(seat->index)] : nullptr;
  return rank ? static_cast<stream::Communicator*>(rank) : &c;
}

Rank& rank_of(stream::Communicator& c) {
  require(!c.locals.empty(), MPI_ERR_COMM);
  return static_cast<Rank&>(c);
}

Process& process_of(stream::Communicator& c) noexcept {
  return c.locals.empty() ? static_cast<Process&>(c) : *static_cast<Rank&>(c).process;
}

void start(Process& base, stream::Call call) {
  require(base.region != nullptr, MPI_ERR_COMM);
  require(!seat_at(base), MPI_ERR_OTHER);
  Region& region = *base.region;
  auto seat = std::make_unique<Seat>();
  std::unique_lock guard(region.lock);
  const int index = region.on ? -1 : choose_seat(region);
  require(index >= 0, MPI_ERR_ARG);  // too many threads
  region.taken[static_cast<std::size_t>(index)] = 1;
  if (!meet(region, guard, true, call)) {
    region.taken[static_cast<std::size_t>(index)] = 0;
    throw MPIError{MPI_ERR_OTHER, false};
  }
  *seat = {&base, index, seats};
  seats = seat.release();
  last_index = index;
}

void finish(Process& base, stream::Call call) {
  require(base.region != nullptr, MPI_ERR_COMM);
  Seat* const seat = seat_at(base);
  require(seat, MPI_ERR_COMM);
  lane::Endpoint& endpoint = base.ranks[static_cast<std::size_t>(seat->index)]->endpoint();
  {
    const lane::Use use(endpoint);
    require(endpoint.pending() == 0, MPI_ERR_PENDING);
  }
  leave_seat(base);
  std::unique_lock guard(base.region->lock);
  static_cast<void>(meet(*base.region, guard, false, call));
}

}  // namespace plait::threadcomm
