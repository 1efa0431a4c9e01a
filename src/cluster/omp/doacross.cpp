// Doacross loops, ordered(n), whose iterations wait for earlier ones that depend clauses name: an iteration posts, others wait for it.
//
// The process that runs an iteration knows when it has posted; where iterations are dealt out process 0 is told, for nobody else knows who
// runs them. Who waits asks there. A lock of the process that has posted carries what it wrote.
#include <algorithm>
#include <cstdarg>
#include <map>
#include <mutex>
#include <span>
#include <unordered_map>
#include <vector>

#include "cluster/omp/loops.hpp"
#include "cluster/omp/team.hpp"
#include "cluster/signals.hpp"

using namespace plait::cluster;
using namespace plait::cluster::omp;

namespace {

/// How far an iteration of the outermost loop has come. The loops within are counted as one, their iterations are posted in order.
struct Posted {
  std::uint64_t beyond = 0;  ///< iterations of the inner loops
  std::int32_t by = 0;       ///< process
};
struct Message {
  std::uint64_t key;
  std::uint64_t outer;
  Posted posted;
};
struct Waiting {
  std::uint64_t inner;
  Answer answer;
};
struct Iteration {
  Posted posted;
  std::uint64_t seen = 0;  ///< so far this process has what was written, too
  std::vector<Waiting> waiting;
};
using Iterations = std::unordered_map<std::uint64_t, Iteration>;

std::mutex loops_lock;
std::map<std::uint64_t, Iterations>& loops = *new std::map<std::uint64_t, Iterations>;

/// The process that answers for an iteration.
int home_of(const Member& m, std::uint64_t outer) noexcept {
  if (m.loop.schedule != Schedule::fixed) return kDealer;
  return fixed_thread(m, outer) / m.region->per_process;
}

/// Answers those that have waited for it.
void record(const Message& message) {
  std::vector<Answer> served;
  {
    const UndisturbedLock guard(loops_lock);
    Iteration& at = loops[message.key][message.outer];
    at.posted = message.posted;
    if (message.posted.by == job().process) at.seen = message.posted.beyond;
    const auto rest = std::partition(at.waiting.begin(), at.waiting.end(), [&](const Waiting& w) { return w.inner >= at.posted.beyond; });
    std::transform(rest, at.waiting.end(), std::back_inserter(served), [](const Waiting& w) { return w.answer; });
    at.waiting.erase(rest, at.waiting.end());
  }
  for (const Answer& answer : served) answer.send(std::as_bytes(std::span(&message.posted, 1)));
}

void on_posted(int, std::span<const std::byte> bytes, Answer) { record(read<Message>(bytes)); }

/// A question's posted.beyond is the iteration that is waited for.
void on_await(int, std::span<const std::byte> bytes, Answer answer) {
  const auto asked = read<Message>(bytes);
  Posted posted;
  {
    const UndisturbedLock guard(loops_lock);
    Iteration& at = loops[asked.key][asked.outer];
    if (at.posted.beyond <= asked.posted.beyond) {
      at.waiting.push_back({asked.posted.beyond, answer});
      return;
    }
    posted = at.posted;
  }
  answer.send(std::as_bytes(std::span(&posted, 1)));
}

template <class Index>
std::uint64_t inner_of(const Member& m, Index index) {
  std::uint64_t inner = 0;
  for (std::size_t i = 1; i < m.sizes.size(); ++i) inner = inner * m.sizes[i] + index(i);
  return inner;
}

/// A lock for each process that posts: who takes it next sees what that one has written.
void carry_notices(int by) {
  const LockId id = kPostLocks + static_cast<LockId>(by);
  lock(id);
  unlock(id);
}

void post(const Member& m, const std::uint64_t* counts) {
  const int self = job().process;
  carry_notices(self);
  const Message message{m.key, counts[0], {inner_of(m, [&](std::size_t i) { return counts[i]; }) + 1, self}};
  record(message);
  if (const int home = home_of(m, counts[0]); home != self) {
    tell(home, Service{kPosted}, std::as_bytes(std::span(&message, 1)));
  }
}

void await_post(const Member& m, std::uint64_t outer, std::uint64_t inner) {
  {
    const UndisturbedLock guard(loops_lock);
    if (loops[m.key][outer].seen > inner) return;
  }
  const Message question{m.key, outer, {inner, 0}};
  Posted posted;
  ask(home_of(m, outer), Service{kAwaitPost}, std::as_bytes(std::span(&question, 1)), std::as_writable_bytes(std::span(&posted, 1)));
  if (posted.by == job().process) return;
  carry_notices(posted.by);
  const UndisturbedLock guard(loops_lock);
  Iteration& at = loops[m.key][outer];
  at.seen = std::max(at.seen, posted.beyond);
}

template <class T>
bool begin(Member& m, unsigned dimensions, const T* counts, std::uint64_t chunk, Schedule schedule, T* low, T* high) {
  m.sizes.assign(counts, counts + dimensions);
  {
    // Those of earlier regions that ended without a barrier of their own.
    const UndisturbedLock guard(loops_lock);
    loops.erase(loops.begin(), loops.lower_bound(m.region->number << 32));
  }
  Loop loop = loop_of(T{0}, counts[0], T{1}, true, chunk, schedule, false);
  loop.doacross = 1;
  begin_loop(m, loop);
  return next(m, low, high);
}

/// What a call of libgomp's that takes any number of arguments is given at least.
constexpr std::size_t kWords = 16;
using Wait = void(long, long, long, long, long, long, long, long, long, long, long, long, long, long, long, long);

}  // namespace

namespace plait::cluster::omp {

void start_doacross() {
  serve(Service{kPosted}, on_posted);
  serve(Service{kAwaitPost}, on_await);
}

void end_doacross(Member& m) {
  if (m.sizes.empty()) return;
  m.sizes.clear();
  const UndisturbedLock guard(loops_lock);
  loops.erase(loops.begin(), loops.upper_bound(m.key));
}

}  // namespace plait::cluster::omp

// NOLINTBEGIN(bugprone-macro-parentheses): T is a type
#define PLAIT_POST(name, T)                                     \
  PLAIT_OMP void name(T* counts) {                              \
    if (Member* const m = member()) {                           \
      post(*m, reinterpret_cast<const std::uint64_t*>(counts)); \
    } else {                                                    \
      PLAIT_LIBGOMP(name)(counts);                              \
    }                                                           \
  }
PLAIT_POST(GOMP_doacross_post, long)
PLAIT_POST(GOMP_doacross_ull_post, Ull)

// The other arguments are as many words as the loop has further dimensions. libgomp gets what lies there, and uses as many.
// NOLINTBEGIN(cert-dcl50-cpp): libgomp's interface
#define PLAIT_WAIT(name, T)                                                                                                         \
  PLAIT_OMP void name(T first, ...) {                                                                                               \
    va_list rest;                                                                                                                   \
    va_start(rest, first);                                                                                                          \
    if (Member* const m = member()) {                                                                                               \
      const std::uint64_t inner = inner_of(*m, [&](std::size_t) { return static_cast<std::uint64_t>(va_arg(rest, T)); });           \
      va_end(rest);                                                                                                                 \
      await_post(*m, static_cast<std::uint64_t>(first), inner);                                                                     \
      return;                                                                                                                       \
    }                                                                                                                               \
    long w[kWords] = {};                                                                                                            \
    for (std::size_t i = 1; i < kWords; ++i) w[i] = va_arg(rest, long);                                                             \
    va_end(rest);                                                                                                                   \
    static constinit Next<Wait> real(#name);                                                                                        \
    real(static_cast<long>(first), w[1], w[2], w[3], w[4], w[5], w[6], w[7], w[8], w[9], w[10], w[11], w[12], w[13], w[14], w[15]); \
  }
PLAIT_WAIT(GOMP_doacross_wait, long)
PLAIT_WAIT(GOMP_doacross_ull_wait, Ull)
// NOLINTEND(cert-dcl50-cpp)

#define PLAIT_DOACROSS(name, T, schedule)                                                         \
  PLAIT_OMP bool GOMP_##name##_start(unsigned dimensions, T* counts, T chunk, T* low, T* high) {  \
    Member* const m = member();                                                                   \
    if (!m) return PLAIT_LIBGOMP(GOMP_##name##_start)(dimensions, counts, chunk, low, high);      \
    return begin(*m, dimensions, counts, static_cast<std::uint64_t>(chunk), schedule, low, high); \
  }
PLAIT_DOACROSS(loop_doacross_static, long, Schedule::fixed)
PLAIT_DOACROSS(loop_doacross_dynamic, long, Schedule::monotonic)
PLAIT_DOACROSS(loop_doacross_guided, long, Schedule::monotonic)
PLAIT_DOACROSS(loop_ull_doacross_static, Ull, Schedule::fixed)
PLAIT_DOACROSS(loop_ull_doacross_dynamic, Ull, Schedule::monotonic)
PLAIT_DOACROSS(loop_ull_doacross_guided, Ull, Schedule::monotonic)

#define PLAIT_DOACROSS_RUNTIME(name, T)                                                 \
  PLAIT_OMP bool GOMP_##name##_start(unsigned dimensions, T* counts, T* low, T* high) { \
    Member* const m = member();                                                         \
    if (!m) return PLAIT_LIBGOMP(GOMP_##name##_start)(dimensions, counts, low, high);   \
    return begin(*m, dimensions, counts, kRuntimeChunk, Schedule::fixed, low, high);    \
  }
PLAIT_DOACROSS_RUNTIME(loop_doacross_runtime, long)
PLAIT_DOACROSS_RUNTIME(loop_ull_doacross_runtime, Ull)

// With reductions of tasks.
#define PLAIT_DOACROSS_WITH(name, T)                                                                                               \
  PLAIT_OMP bool GOMP_##name##_start(unsigned dimensions, T* counts, long kind, T chunk, T* low, T* high, Words reductions,        \
                                     void** memory) {                                                                              \
    Member* const m = member();                                                                                                    \
    if (!m) return PLAIT_LIBGOMP(GOMP_##name##_start)(dimensions, counts, kind, chunk, low, high, reductions, memory);             \
    begin_common(*m, reductions, memory);                                                                                          \
    return begin(*m, dimensions, counts, chunk_of(kind, static_cast<Ull>(chunk)), schedule_of(static_cast<int>(kind)), low, high); \
  }
PLAIT_DOACROSS_WITH(loop_doacross, long)
PLAIT_DOACROSS_WITH(loop_ull_doacross, Ull)
// NOLINTEND(bugprone-macro-parentheses)
