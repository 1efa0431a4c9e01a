// Cancellation, where OMP_CANCELLATION allows it. Who cancels tells all processes; a cancellation point looks at what its own process
// knows. A barrier is passed by all threads or by none, so process 0 decides there: it counts who has come, and lets all go on or sends
// all to the region's end.
#include <array>
#include <map>
#include <mutex>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "cluster/omp/loops.hpp"
#include "cluster/omp/team.hpp"
#include "cluster/signals.hpp"

using namespace plait::cluster;
using namespace plait::cluster::omp;

namespace {

/// What a program names.
constexpr int kLoop = 2;
constexpr int kSections = 4;
constexpr int kTaskgroup = 8;

/// A region, and in it a construct: one more than the barriers that its threads have passed. 0: the region itself. Between two barriers
/// there is at most one construct that may be cancelled, for such a one has to end with a barrier.
using Key = std::pair<std::uint64_t, std::uint64_t>;
struct Message {
  std::uint64_t region, construct;
  std::int64_t threads;  ///< of the team
};

struct Arrived {
  std::int64_t threads = 0;
  std::vector<Answer> waiting;
};

std::mutex state_lock;
std::set<Key>& cancelled_keys = *new std::set<Key>;
/// Process 0.
std::map<Key, Arrived>& arrivals = *new std::map<Key, Arrived>;

void send(const std::vector<Answer>& waiting, bool cancelled) {
  const std::array said{static_cast<std::byte>(cancelled)};
  for (const Answer& answer : waiting) answer.send(said);
}

void cancel_here(const Key& key) {
  std::vector<Answer> waiting;
  {
    const UndisturbedLock guard(state_lock);
    // All processes have left earlier regions.
    cancelled_keys.erase(cancelled_keys.begin(), cancelled_keys.lower_bound({key.first, 0}));
    cancelled_keys.insert(key);
    if (key.second == 0) {
      const auto first = arrivals.lower_bound(key);
      auto last = first;
      for (; last != arrivals.end() && last->first.first == key.first; ++last) {
        waiting.insert(waiting.end(), last->second.waiting.begin(), last->second.waiting.end());
      }
      arrivals.erase(first, last);
    }
  }
  send(waiting, true);
}

void on_cancel(int, std::span<const std::byte> bytes, Answer) {
  const auto said = read<Message>(bytes);
  cancel_here({said.region, said.construct});
}

void on_arrive(int, std::span<const std::byte> bytes, Answer answer) {
  const auto said = read<Message>(bytes);
  std::vector<Answer> waiting;
  bool cancelled = false;
  {
    const UndisturbedLock guard(state_lock);
    cancelled = cancelled_keys.contains({said.region, 0});
    if (cancelled) {
      waiting = {answer};
    } else {
      const auto [at, is_new] = arrivals.try_emplace({said.region, said.construct});
      at->second.waiting.push_back(answer);
      if (++at->second.threads == said.threads) {
        waiting = std::move(at->second.waiting);
        arrivals.erase(at);
      }
    }
  }
  send(waiting, cancelled);
}

bool is_cancelled(const Key& key) {
  const UndisturbedLock guard(state_lock);
  return cancelled_keys.contains(key);
}

void cancel(const Key& key) {
  cancel_here(key);
  const Message message{key.first, key.second, 0};
  for (int p = 0; p < job().processes; ++p) {
    if (p != job().process) tell(p, Service{kCancel}, std::as_bytes(std::span(&message, 1)));
  }
}

Key region_of(const Member& m) noexcept { return {m.region->number, 0}; }
Key construct_of(const Member& m) noexcept { return {m.region->number, m.meetings + 1}; }

/// The taskgroup of the program's that a task is in: not those of constructs with reductions.
Group* taskgroup(Member& m) noexcept {
  for (auto g = m.groups.rbegin(); g != m.groups.rend(); ++g) {
    if (!g->is_construct) return &*g;
  }
  return nullptr;
}

}  // namespace

namespace plait::cluster::omp {

void start_cancellation() {
  serve(Service{kCancel}, on_cancel);
  serve(Service{kArrive}, on_arrive);
}

bool meet(Member& m) {
  if (m.region->may_cancel) {
    const auto [region, construct] = construct_of(m);
    const Message message{region, construct, team_size(m)};
    std::array<std::byte, 1> cancelled{};
    ask(kDealer, Service{kArrive}, std::as_bytes(std::span(&message, 1)), cancelled);
    if (cancelled[0] != std::byte{0}) return true;
    ++m.meetings;
  }
  team_barrier(m);
  if (m.region->may_cancel) {
    // Constructs that have ended for all.
    const UndisturbedLock guard(state_lock);
    cancelled_keys.erase(cancelled_keys.lower_bound({m.region->number, 1}), cancelled_keys.upper_bound({m.region->number, m.meetings}));
  }
  end_loops(m);
  end_doacross(m);
  return false;
}

void must_meet(Member& m) {
  if (!meet(m)) return;
  fatal(
      "OpenMP over several nodes: a region is cancelled where a thread waits at a barrier that gcc gives it no way to leave: one in a "
      "function that the region calls, of a copyprivate, or of a variable that is both firstprivate and lastprivate");
}

bool may_begin_task(Member& m) {
  if (!m.region->may_cancel) return true;
  const Group* const group = taskgroup(m);
  return !(group && group->cancelled) && !is_cancelled(region_of(m));
}

}  // namespace plait::cluster::omp

PLAIT_OMP bool GOMP_cancellation_point(int which) {
  Member* const m = member();
  if (!m) return PLAIT_LIBGOMP(GOMP_cancellation_point)(which);
  if (!m->region->may_cancel) return false;
  if (which & (kLoop | kSections)) return is_cancelled(construct_of(*m));
  // A region that is cancelled takes its tasks along.
  return (which & kTaskgroup) ? !may_begin_task(*m) : is_cancelled(region_of(*m));
}

PLAIT_OMP bool GOMP_cancel(int which, bool wanted) {
  Member* const m = member();
  if (!m) return PLAIT_LIBGOMP(GOMP_cancel)(which, wanted);
  if (!m->region->may_cancel) return false;
  if (!wanted) return GOMP_cancellation_point(which);
  if (which & (kLoop | kSections)) {
    cancel(construct_of(*m));
  } else if (which & kTaskgroup) {
    if (Group* const group = taskgroup(*m)) group->cancelled = true;
  } else {
    cancel(region_of(*m));
  }
  return true;
}
