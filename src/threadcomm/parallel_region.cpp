// MPIX_Threadcomm_start and MPIX_Threadcomm_finish: which thread is which rank.
#include "threadcomm/parallel_region.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "base/watchdog.hpp"
#include "lane/endpoint.hpp"
#include "p2p/hang.hpp"
#include "progress/wait.hpp"

namespace plait::threadcomm {

namespace {

using namespace std::chrono_literals;

struct Seat {
  const LocalGroup* base;
  int index;
  Seat* next;  ///< of the same thread, at another base
};

/// The calling thread's.
constinit thread_local Seat* seats = nullptr;
/// Where it sat last: it goes there again, to what its core's cache knows.
constinit thread_local int last_index = -1;

Seat* seat_at(const LocalGroup& base) noexcept {
  Seat* seat = seats;
  while (seat && seat->base != &base) seat = seat->next;
  return seat;
}

void leave_seat(const LocalGroup& base) noexcept {
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

int choose_seat(const ParallelRegion& region) {
  const auto threads = static_cast<int>(region.taken.size());
  for (const int wanted : {number_in_team(threads), last_index}) {
    if (wanted >= 0 && wanted < threads && !region.taken[static_cast<std::size_t>(wanted)]) return wanted;
  }
  const auto free = std::ranges::find(region.taken, 0);
  return free == region.taken.end() ? -1 : static_cast<int>(free - region.taken.begin());
}

/// Without PLAIT_WATCHDOG it is said after this that some have not started.
constexpr std::chrono::duration<double> kLong = 10s;

void tell(ParallelRegion& region, double seconds, p2p::Call call) {
  const unsigned meeting = region.meetings.load(std::memory_order_relaxed);
  if (std::exchange(region.told, meeting) == meeting) return;
  const std::size_t all = region.taken.size();
  p2p::tell_hang(call, 0, seconds, [&] {
    return std::to_string(all - static_cast<std::size_t>(region.here)) + " of the " + std::to_string(all) + " threads of this process";
  });
}

/// Where threads wait for others of their process.
class Waiting final : public progress::Waiter {
 public:
  explicit Waiting(ParallelRegion& region) noexcept : region_(region) {}
  [[nodiscard]] EventCount* event() noexcept override { return &region_.all_came; }

 private:
  ParallelRegion& region_;
};

/// Says so, once a meeting, where some threads do not come. True where this one gives up.
bool is_overdue(ParallelRegion& region, const Watchdog& watchdog, std::chrono::steady_clock::time_point begin, bool start, p2p::Call call) {
  const std::chrono::duration<double> waited = std::chrono::steady_clock::now() - begin;
  const bool expired = watchdog.expired();
  if (!expired && !(start && waited > kLong)) return false;
  const std::lock_guard guard(region.lock);
  tell(region, expired ? watchdog.seconds() : kLong.count(), call);
  return expired && start;
}

/// The barrier of the region's threads, entered with the lock held. False where the watchdog has barked at its start.
[[nodiscard]] bool arrive_and_wait(ParallelRegion& region, std::unique_lock<std::mutex>& guard, bool start, p2p::Call call) {
  if (++region.here == static_cast<int>(region.taken.size())) {
    region.here = 0;
    region.on = start;
    if (!start) std::ranges::fill(region.taken, 0);
    // release: what each has done before, for all that leave.
    region.meetings.fetch_add(1, std::memory_order_release);
    region.all_came.notify();
    return true;
  }
  const unsigned meeting = region.meetings.load(std::memory_order_relaxed);
  const auto over = [&] { return region.meetings.load(std::memory_order_acquire) != meeting; };
  const auto begin = std::chrono::steady_clock::now();
  const Watchdog watchdog;
  guard.unlock();
  bool gives_up = false;
  Waiting place(region);
  progress::wait_until(
      place, progress::kForThreads, [] { return false; }, [&] { return over() || gives_up; },
      [&] { gives_up = is_overdue(region, watchdog, begin, start, call); });
  guard.lock();
  if (over()) return true;
  --region.here;
  return false;
}

}  // namespace

p2p::Communicator* of_thread(p2p::Communicator& c) noexcept {
  auto& group = static_cast<LocalGroup&>(c);
  const Seat* const seat = seat_at(*group.base);
  Rank* const rank = seat ? group.ranks[static_cast<std::size_t>(seat->index)] : nullptr;
  return rank ? static_cast<p2p::Communicator*>(rank) : &c;
}

Rank& rank_of(p2p::Communicator& c) {
  require(!c.locals.empty(), MPI_ERR_COMM);
  return static_cast<Rank&>(c);
}

LocalGroup& local_group_of(p2p::Communicator& c) noexcept {
  return c.locals.empty() ? static_cast<LocalGroup&>(c) : *static_cast<Rank&>(c).group;
}

void start(LocalGroup& base, p2p::Call call) {
  require(base.region != nullptr, MPI_ERR_COMM);
  require(!seat_at(base), MPI_ERR_OTHER);
  ParallelRegion& region = *base.region;
  auto seat = std::make_unique<Seat>();
  std::unique_lock guard(region.lock);
  const int index = region.on ? -1 : choose_seat(region);
  require(index >= 0, MPI_ERR_ARG);  // too many threads
  region.taken[static_cast<std::size_t>(index)] = 1;
  if (!arrive_and_wait(region, guard, true, call)) {
    region.taken[static_cast<std::size_t>(index)] = 0;
    throw MPIError{MPI_ERR_OTHER, false};
  }
  *seat = {&base, index, seats};
  seats = seat.release();
  last_index = index;
}

void finish(LocalGroup& base, p2p::Call call) {
  require(base.region != nullptr, MPI_ERR_COMM);
  Seat* const seat = seat_at(base);
  require(seat, MPI_ERR_COMM);
  lane::Endpoint& endpoint = base.ranks[static_cast<std::size_t>(seat->index)]->endpoint();
  {
    const lane::EndpointGuard guard(endpoint);
    require(endpoint.pending() == 0, MPI_ERR_PENDING);
  }
  leave_seat(base);
  std::unique_lock guard(base.region->lock);
  static_cast<void>(arrive_and_wait(*base.region, guard, false, call));
}

}  // namespace plait::threadcomm
