// Process 0 deals out the iterations of dynamic loops, to processes; a process deals what it has got to its threads. Each process has a
// range of its own at first, the same in every loop of so many iterations: so it touches the memory that it touched before. When that is
// done it gets half of what the one that has most has left.
#include "cluster/omp/loops.hpp"

#include <algorithm>
#include <map>
#include <mutex>
#include <vector>

#include "cluster/signals.hpp"

PLAIT_OMP void omp_get_schedule(int* kind, int* chunk);

namespace plait::cluster::omp {
namespace {

constexpr int kDynamicKind = 2;
constexpr int kGuidedKind = 3;

struct Range {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  [[nodiscard]] std::uint64_t size() const noexcept { return high - low; }
};

// ---- process 0

struct Question {
  std::uint64_t key;
  std::uint64_t count;
  std::uint64_t chunk;
  std::int32_t per_process;
  Schedule schedule;
  std::uint64_t leaves;  ///< 1: the process wants no more
  std::uint64_t over;    ///< keys of loops that have ended
};
struct Dealt {
  std::vector<Range> left;  ///< by process; of monotonic loops one for all
  int ended = 0;            ///< processes that know that nothing is left
};
/// Of ordered loops.
struct Order {
  std::uint64_t next = 0;  ///< all iterations before it have ended
  std::map<std::uint64_t, std::uint64_t> ended;
  std::map<std::uint64_t, Answer> waiting;
};
struct Span {
  std::uint64_t key;
  std::uint64_t low, high, count;
};

std::map<std::uint64_t, Dealt>& dealt = *new std::map<std::uint64_t, Dealt>;
std::map<std::uint64_t, Order>& orders = *new std::map<std::uint64_t, Order>;

/// A number of iterations in whole chunks, at least one.
std::uint64_t whole(std::uint64_t wanted, std::uint64_t chunk) noexcept { return std::max(wanted / chunk, std::uint64_t{1}) * chunk; }

Range deal(Dealt& d, const Question& q, int to) {
  const auto threads = static_cast<std::uint64_t>(q.per_process);
  if (q.schedule == Schedule::monotonic) {
    Range& all = d.left[0];
    const std::uint64_t n = std::min(q.chunk * threads, all.size());
    all.low += n;
    return {all.low - n, all.low};
  }
  Range& own = d.left[static_cast<std::size_t>(to)];
  if (own.size() == 0) {
    Range& most = *std::max_element(d.left.begin(), d.left.end(), [](const Range& a, const Range& b) { return a.size() < b.size(); });
    const std::uint64_t n = std::min(whole((most.size() + 1) / 2, q.chunk), most.size());
    own = {most.high - n, most.high};
    most.high -= n;
  }
  const std::uint64_t n = std::min(std::max(whole(own.size() / 2, q.chunk), q.chunk * threads), own.size());
  own.low += n;
  return {own.low - n, own.low};
}

void on_take(int from, std::span<const std::byte> bytes, Answer answer) {
  const auto q = read<Question>(bytes);
  const auto [found, is_new] = dealt.try_emplace(q.key);
  Dealt& d = found->second;
  if (is_new) {
    // Those that were cancelled.
    dealt.erase(dealt.begin(), dealt.upper_bound(q.over));
    const auto processes = static_cast<std::uint64_t>(job().processes);
    if (q.schedule == Schedule::monotonic) {
      d.left = {{0, q.count}};
    } else {
      const std::uint64_t chunks = (q.count + q.chunk - 1) / q.chunk;
      for (std::uint64_t p = 0; p < processes; ++p) {
        const auto at = [&](std::uint64_t of) { return std::min(chunks * of / processes * q.chunk, q.count); };
        d.left.push_back({at(p), at(p + 1)});
      }
    }
  }
  const Range range = q.leaves ? Range{} : deal(d, q, from);
  if (range.size() == 0 && ++d.ended == job().processes) dealt.erase(found);
  answer.send(std::as_bytes(std::span(&range, 1)));
}

void on_turn(int, std::span<const std::byte> bytes, Answer answer) {
  const auto s = read<Span>(bytes);
  Order& order = orders[s.key];
  if (order.next == s.low) {
    answer.send(bytes.first(1));
  } else {
    order.waiting.emplace(s.low, answer);
  }
}

void on_done(int, std::span<const std::byte> bytes, Answer) {
  const auto s = read<Span>(bytes);
  Order& order = orders[s.key];
  order.ended[s.low] = s.high;
  for (auto at = order.ended.find(order.next); at != order.ended.end(); at = order.ended.find(order.next)) {
    order.next = at->second;
    order.ended.erase(at);
  }
  if (const auto waits = order.waiting.find(order.next); waits != order.waiting.end()) {
    waits->second.send(bytes.first(1));
    order.waiting.erase(waits);
  }
  if (order.next == s.count) orders.erase(s.key);
}

// ---- each process

/// What this process has been dealt of a loop.
struct Share {
  Range range;
  bool ended = false;
  int left = 0;  ///< threads that know
};
std::mutex shares_lock;
std::map<std::uint64_t, Share>& shares = *new std::map<std::uint64_t, Share>;

bool take(Member& m) {
  const UndisturbedLock guard(shares_lock);
  shares.erase(shares.begin(), shares.upper_bound(m.over));
  Share& share = shares[m.key];
  // The compiler takes the last value of a private variable from the thread whose last chunk is the loop's last: it may take no other then.
  const bool had_last = m.low < m.high && m.high == m.loop.count;
  if (share.range.size() == 0 && !share.ended && (!had_last || share.left + 1 == m.region->per_process)) {
    const Question q{m.key, m.loop.count, m.loop.chunk, m.region->per_process, m.loop.schedule, had_last, m.over};
    ask(kDealer, Service{kTake}, std::as_bytes(std::span(&q, 1)), std::as_writable_bytes(std::span(&share.range, 1)));
    share.ended = share.range.size() == 0;
  }
  if (share.ended || had_last) {
    if (++share.left == m.region->per_process) shares.erase(m.key);
    m.low = m.high = 0;
    return false;
  }
  std::uint64_t n = m.loop.chunk;
  if (m.loop.schedule == Schedule::guided) n = std::max(n, share.range.size() / (2 * static_cast<std::uint64_t>(m.region->per_process)));
  n = std::min(n, share.range.size());
  m.low = share.range.low;
  m.high = share.range.low += n;
  return true;
}

bool next_fixed(Member& m) {
  const auto threads = static_cast<std::uint64_t>(team_size(m));
  const auto number = static_cast<std::uint64_t>(m.number);
  const std::uint64_t n = m.loop.count;
  const std::uint64_t turn = m.turn++;
  if (m.loop.chunk == 0) {
    if (turn > 0) return false;
    const std::uint64_t each = n / threads;
    const std::uint64_t rest = n % threads;
    m.low = each * number + std::min(number, rest);
    m.high = m.low + each + (number < rest ? 1 : 0);
  } else {
    m.low = std::min((turn * threads + number) * m.loop.chunk, n);
    m.high = std::min(m.low + m.loop.chunk, n);
  }
  return m.low < m.high;
}

}  // namespace

Schedule schedule_of(int kind) noexcept {
  const bool is_monotonic = (static_cast<unsigned>(kind) & kMonotonic) != 0;
  switch (kind & kKinds) {
    case kDynamicKind:
      return is_monotonic ? Schedule::monotonic : Schedule::dynamic;
    case kGuidedKind:
      return is_monotonic ? Schedule::monotonic : Schedule::guided;
    default:
      return Schedule::fixed;
  }
}

void start_loops() {
  serve(Service{kTake}, on_take);
  serve(Service{kTurn}, on_turn);
  serve(Service{kDone}, on_done);
  start_doacross();
  start_cancellation();
}

void begin_loop(Member& m, const Loop& loop) {
  m.loop = loop;
  m.key = m.region->number << 32 | ++m.share;
  if (loop.chunk == kRuntimeChunk) {
    int kind = 0;
    int chunk = 0;
    omp_get_schedule(&kind, &chunk);
    m.loop.schedule = schedule_of(kind);
    m.loop.chunk = static_cast<std::uint64_t>(std::max(chunk, 0));
  }
  // No more than there is: products of it stay small.
  m.loop.chunk = std::min(m.loop.chunk, std::max(m.loop.count, std::uint64_t{1}));
  if (m.loop.schedule != Schedule::fixed) {
    m.loop.chunk = std::max(m.loop.chunk, std::uint64_t{1});
    // In the order of iterations one thread after the other.
    if (m.loop.ordered || m.loop.doacross) m.loop.schedule = Schedule::monotonic;
  }
  m.turn = m.low = m.high = 0;
  m.has_turn = false;
}

int fixed_thread(const Member& m, std::uint64_t iteration) noexcept {
  const auto threads = static_cast<std::uint64_t>(team_size(m));
  if (m.loop.chunk > 0) return static_cast<int>(iteration / m.loop.chunk % threads);
  const std::uint64_t each = m.loop.count / threads;
  // The first ones have one more.
  const std::uint64_t rest = m.loop.count % threads;
  const std::uint64_t longer = rest * (each + 1);
  return static_cast<int>(iteration < longer ? iteration / (each + 1) : rest + (iteration - longer) / each);
}

bool next_chunk(Member& m) {
  if (m.loop.ordered && m.low < m.high) {
    const Span mine{m.key, m.low, m.high, m.loop.count};
    tell(kDealer, Service{kDone}, std::as_bytes(std::span(&mine, 1)));
    m.has_turn = false;
  }
  return m.loop.schedule == Schedule::fixed ? next_fixed(m) : take(m);
}

void await_turn(Member& m) {
  if (m.has_turn || !m.loop.ordered) return;
  const Span mine{m.key, m.low, m.high, m.loop.count};
  std::byte yes{};
  ask(kDealer, Service{kTurn}, std::as_bytes(std::span(&mine, 1)), std::span(&yes, 1));
  m.has_turn = true;
}

}  // namespace plait::cluster::omp
