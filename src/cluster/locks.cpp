// Locks of the whole job. A lock is with one process at a time and stays there until another wants it: taking it again costs no message.
// Its manager, found by its number, knows who will have it last, and sends each request on to that process: so requests form a queue
// through the processes that wait. A lock takes along the write notices that its next owner lacks.
//
// try_lock must not queue: while the manager waits to hear whether a try has succeeded, it keeps other requests back.
#include "cluster/locks.hpp"

#include <cstring>
#include <deque>
#include <unordered_map>
#include <vector>

#include "base/fatal.hpp"
#include "cluster/carrier.hpp"
#include "cluster/job.hpp"
#include "cluster/pages.hpp"
#include "cluster/protocol.hpp"

namespace plait::cluster {
namespace {

struct Wish {
  int from = -1;
  bool only_try = false;
  std::vector<std::uint32_t> known;  ///< of the asking process, by process
};

/// A lock as a process sees it.
struct Lock {
  bool here = false;
  bool held = false;
  bool wanted = false;   ///< this process has asked for it
  bool refused = false;  ///< a try of this process was
  int waiting = 0;       ///< threads of this process
  Wish next;             ///< who gets it from here
};
/// As its manager does.
struct Managed {
  int last;  ///< the process that has it, or will when all requests so far are served
  bool trying = false;
  std::deque<Wish> kept_back;
};

std::unordered_map<LockId, Lock>& locks = *new std::unordered_map<LockId, Lock>;
std::unordered_map<LockId, Managed>& managed = *new std::unordered_map<LockId, Managed>;

constexpr LockId kFlush = ~LockId{0};

int manager_of(LockId id) noexcept {
  const std::uint64_t mixed = (id >> 4 ^ id >> 20 ^ id) * 0x9E3779B97F4A7C15;
  return static_cast<int>((mixed >> 32) % static_cast<std::uint64_t>(the_job.processes));
}

Lock& lock_at(LockId id) {
  const auto [found, is_new] = locks.try_emplace(id);
  if (is_new) found->second.here = manager_of(id) == the_job.process;
  return found->second;
}

void put_wish(Message& message, const Wish& wish) {
  message.put(wish.from);
  put_known(message, wish.known);
}

Wish get_wish(Received& message, bool only_try) {
  const int from = message.get<int>();
  return {from, only_try, get_known(message)};
}

void give(LockId id, Lock& lock, const Wish& to) {
  close_interval(false);
  Message message(Kind::grant, 0, id);
  for (int n = 0; n < the_job.processes; ++n) put_intervals(message, n, to.known[static_cast<std::size_t>(n)]);
  lock.here = false;
  lock.next = Wish{};
  send(to.from, std::move(message));
}

/// The manager passes a request on.
void pass_on(LockId id, Managed& lock, const Wish& wish) {
  Message message(wish.only_try ? Kind::recall_try : Kind::recall, 0, id);
  put_wish(message, wish);
  const int last = lock.last;
  if (wish.only_try) {
    lock.trying = true;
  } else {
    lock.last = wish.from;
  }
  send(last, std::move(message));
}

void on_wish(LockId id, Wish wish) {
  Managed& lock = managed.try_emplace(id, Managed{the_job.process, false, {}}).first->second;
  if (lock.trying) {
    lock.kept_back.push_back(std::move(wish));
  } else {
    pass_on(id, lock, wish);
  }
}

/// A process says whether it has given its lock to one that tried.
// NOLINTNEXTLINE(performance-unnecessary-value-param)
void on_got(Received message) {
  Managed& lock = managed.at(message.head().token);
  if (message.head().small) lock.last = static_cast<int>(message.head().more);
  lock.trying = false;
  while (!lock.trying && !lock.kept_back.empty()) {
    const Wish wish = std::move(lock.kept_back.front());
    lock.kept_back.pop_front();
    pass_on(message.head().token, lock, wish);
  }
}

void on_recall(Received message) {
  const LockId id = message.head().token;
  Lock& lock = lock_at(id);
  Wish wish = get_wish(message, false);
  if (lock.here && !lock.held && lock.waiting == 0) {
    give(id, lock, wish);
  } else {
    lock.next = std::move(wish);
  }
}

void on_recall_try(Received message) {
  const LockId id = message.head().token;
  Lock& lock = lock_at(id);
  const Wish wish = get_wish(message, true);
  const bool free = lock.here && !lock.held && lock.waiting == 0 && lock.next.from < 0;
  if (free) {
    give(id, lock, wish);
  } else {
    send(wish.from, Message(Kind::refuse, 0, id));
  }
  send(manager_of(id), Message(Kind::got, free, id, static_cast<std::uint64_t>(wish.from)));
}

void on_grant(Received message) {
  Lock& lock = lock_at(message.head().token);
  lock.here = true;
  lock.wanted = false;
  heed(message, the_job.processes);
}

void wish_for(LockId id, Lock& lock, bool only_try) {
  lock.wanted = true;
  lock.refused = false;
  Message message(only_try ? Kind::lock_try : Kind::lock, 0, id);
  put_wish(message, Wish{the_job.process, only_try, known});
  send(manager_of(id), std::move(message));
}

}  // namespace

void start_locks() {
  on(Kind::lock, [](Received message) { on_wish(message.head().token, get_wish(message, false)); });
  on(Kind::lock_try, [](Received message) { on_wish(message.head().token, get_wish(message, true)); });
  on(Kind::recall, on_recall);
  on(Kind::recall_try, on_recall_try);
  on(Kind::grant, on_grant);
  on(Kind::got, on_got);
  // NOLINTNEXTLINE(performance-unnecessary-value-param)
  on(Kind::refuse, [](Received message) {
    Lock& lock = lock_at(message.head().token);
    lock.wanted = false;
    lock.refused = true;
  });
}

void lock(LockId id) {
  const Guard guard;
  Lock& lock = lock_at(id);
  ++lock.waiting;
  while (!lock.here || lock.held) {
    if (!lock.here && !lock.wanted) wish_for(id, lock, false);
    wait_until([&lock] { return lock.here ? !lock.held : !lock.wanted; });
  }
  --lock.waiting;
  lock.held = true;
  fetch_watched();
}

void unlock(LockId id) {
  const Guard guard;
  Lock& lock = lock_at(id);
  if (!lock.held) fatal("a lock is released that nobody holds");
  lock.held = false;
  if (lock.next.from >= 0) give(id, lock, Wish(lock.next));
}

bool try_lock(LockId id) {
  const Guard guard;
  Lock& lock = lock_at(id);
  if (lock.here) {
    if (lock.held) return false;
    return lock.held = true;
  }
  if (lock.wanted) return false;  // another thread waits for it
  wish_for(id, lock, true);
  wait_until([&lock] { return !lock.wanted; });
  if (!lock.here || lock.held) return false;
  lock.held = true;
  fetch_watched();
  return true;
}

void flush() {
  if (the_job.processes == 1) return;
  lock(kFlush);
  unlock(kFlush);
}

}  // namespace plait::cluster
