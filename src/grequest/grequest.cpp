#include "grequest/grequest.hpp"

#include <algorithm>
#include <mutex>

#include "base/scratch.hpp"
#include "base/spinlock.hpp"
#include "base/symbol.hpp"
#include "progress/source.hpp"

namespace plait::grequest {
namespace {

Grequest& as_grequest(Request& r) noexcept { return static_cast<Grequest&>(r); }
const Grequest& as_grequest(const Request& r) noexcept { return static_cast<const Grequest&>(r); }

/// All there are. Whoever walks it holds the lock and keeps only those it has claimed, for these cannot end.
constinit Spinlock list_lock;
constinit Grequest* first = nullptr;
/// How many of them are counted. Written under the lock, read by anybody as a hint: relaxed.
constinit std::atomic<int> unpolled{0};

bool is_complete(const Grequest& g, std::memory_order order) noexcept { return (g.bits.load(order) & kComplete) != 0; }

/// Under the lock.
void set_counted(Grequest& g, bool counted) noexcept {
  if (g.counted == counted) return;
  g.counted = counted;
  unpolled.store(unpolled.load(std::memory_order_relaxed) + (counted ? 1 : -1), std::memory_order_relaxed);
}

void enlist(Grequest& g) noexcept {
  const std::lock_guard guard(list_lock);
  g.after = first;
  if (first) first->before = &g;
  first = &g;
  set_counted(g, true);
}

void delist(Grequest& g) noexcept {
  const std::lock_guard guard(list_lock);
  (g.before ? g.before->after : first) = g.after;
  if (g.after) g.after->before = g.before;
  set_counted(g, false);
}

/// Whether nobody else has to poll it.
void set_polled(Request& r, bool here) noexcept {
  Grequest& g = as_grequest(r);
  const std::lock_guard guard(list_lock);
  set_counted(g, !here && !is_complete(g, std::memory_order_relaxed));
}

/// What MPI calls an empty status.
MPI_Status make_empty_status() noexcept {
  MPI_Status empty{};
  PMPI_Status_set_elements(&empty, MPI_BYTE, 0);
  PMPI_Status_set_cancelled(&empty, 0);
  empty.MPI_SOURCE = MPI_ANY_SOURCE;
  empty.MPI_TAG = MPI_ANY_TAG;
  empty.MPI_ERROR = MPI_SUCCESS;
  return empty;
}

int query(Grequest& g, void* status) noexcept {
  MPI_Status answer = g.status;  // a copy: several threads may ask
  const int error = g.call.query(g.extra, &answer);
  if (status) {
    auto* const to = static_cast<MPI_Status*>(status);
    answer.MPI_ERROR = to->MPI_ERROR;
    *to = answer;
  }
  return error != MPI_SUCCESS ? error : g.error;
}

/// Of a request that is complete, is not being polled and that nobody else ends.
int end(Grequest& g) noexcept {
  delist(g);
  const int freed = g.call.free(g.extra);
  request::destroy(g);
  return freed;
}

void end_orphan(Grequest& g) noexcept {
  (void)end(g);  // nobody is left to be told of errors
}

/// The right to run poll_fn; false if the request is complete or another thread has it.
bool claim(Grequest& g) noexcept {
  // relaxed: a hint, decided by the exchange. acquire there: the fields as the last that polled left them.
  std::uint32_t seen = g.bits.load(std::memory_order_relaxed);
  return (seen & (kPolling | kComplete)) == 0 &&
         g.bits.compare_exchange_strong(seen, seen | kPolling, std::memory_order_acquire, std::memory_order_relaxed);
}

/// After this the request may be gone.
void unclaim(Grequest& g) noexcept {
  // release: what poll_fn wrote is seen by the one that ends the request. acquire: and if that is this thread, it sees what
  // those that completed and freed it did before.
  const std::uint32_t was = g.bits.fetch_and(~kPolling, std::memory_order_acq_rel);
  if ((was & kComplete) && (was & kFreed)) end_orphan(g);
}

/// What a callback of a claimed request has returned. One that fails ends its request, or it would be waited for forever.
void note(Grequest& g, int error) noexcept {
  if (error == MPI_SUCCESS) return;
  g.error = error;
  (void)complete(g);
}

void poll_claimed(Grequest& g) noexcept {
  note(g, g.call.poll(g.extra, &g.status));
  unclaim(g);
}

// ---- the kind's functions

/// Whether the program's work moves is not said: where it is polled somebody may have completed it.
bool progress(Request& r, Round&) noexcept {
  Grequest& g = as_grequest(r);
  if (claim(g)) poll_claimed(g);
  return true;
}

bool done(const Request& r) noexcept {
  // acquire: the work behind the request is seen by whoever finds it complete.
  return (as_grequest(r).bits.load(std::memory_order_acquire) & (kComplete | kPolling)) == kComplete;
}

int retire(Request& r, void* status) noexcept {
  const int asked = query(as_grequest(r), status);
  const int freed = end(as_grequest(r));
  return freed != MPI_SUCCESS ? freed : asked;
}

int peek(Request& r, void* status) noexcept { return query(as_grequest(r), status); }

int free_early(Request& r) noexcept {
  Grequest& g = as_grequest(r);
  // acq_rel: whichever of this and MPI_Grequest_complete comes second ends the request and sees what the first's thread did.
  const std::uint32_t was = g.bits.fetch_or(kFreed, std::memory_order_acq_rel);
  if ((was & (kComplete | kPolling)) != kComplete) return MPI_SUCCESS;  // the last of the others ends it
  return end(g);
}

int cancel(Request& r) noexcept {
  Grequest& g = as_grequest(r);
  return g.call.cancel(g.extra, is_complete(g, std::memory_order_acquire) ? 1 : 0);
}

void wait_claimed(std::span<Request*> claimed, double seconds) {
  Scratch room(Scratch::bytes<void*>(claimed.size()));
  const auto extras = room.take<void*>(claimed.size());
  std::ranges::transform(claimed, extras.begin(), [](const Request* r) { return as_grequest(*r).extra; });
  Grequest& front = as_grequest(*claimed[0]);
  MPI_Status unused = front.status;
  MPI_Status* const status = claimed.size() == 1 ? &front.status : &unused;
  const int error = front.call.wait(static_cast<int>(claimed.size()), extras.data(), seconds, status);
  if (error == MPI_SUCCESS) return;
  // It belongs to those that were not completed; if all were, to the first.
  bool told = false;
  for (Request* const r : claimed) {
    if (is_complete(as_grequest(*r), std::memory_order_relaxed)) continue;
    note(as_grequest(*r), error);
    told = true;
  }
  if (!told) front.error = error;
}

/// Only for requests of one class, that is, with one wait_fn, and if this thread can claim all: one that another thread polls
/// or has completed may end the call before wait_fn is back.
bool block(std::span<Request*> group, double seconds) noexcept {
  const auto wait = as_grequest(*group[0]).call.wait;
  if (!wait || !std::ranges::all_of(group, [&](const Request* r) { return as_grequest(*r).call.wait == wait; })) return false;
  const auto rest = std::ranges::partition(group, [](Request* r) { return claim(as_grequest(*r)); });
  const auto claimed = group.first(group.size() - rest.size());
  bool waited = rest.empty();
  try {
    if (waited) wait_claimed(claimed, seconds);
  } catch (const std::bad_alloc&) {
    waited = false;  // no room for the states: the caller polls
  }
  for (Request* const r : claimed) unclaim(as_grequest(*r));
  return waited;
}

void describe(const Request& r, std::string& text) {
  text += "a generalized request polled by " + symbol_of(reinterpret_cast<const void*>(as_grequest(r).call.poll));
}

constexpr RequestKind kKind{.progress = progress,
                            .done = done,
                            .retire = retire,
                            .peek = peek,
                            .free = free_early,
                            .cancel = cancel,
                            .block = block,
                            .patience = &progress::kForRequests,
                            .set_polled = set_polled,
                            .communicator = [](const Request&) -> std::uint64_t { return 0; },
                            .describe = describe};

/// Polls those that `wanted` picks under the lock, one after the other. Each stays claimed until the next is found, so that the
/// walk can go on behind it.
template <class Wanted>
void poll_those(Wanted wanted) noexcept {
  Grequest* last = nullptr;
  for (;;) {
    Grequest* next = nullptr;
    {
      const std::lock_guard guard(list_lock);
      for (next = last ? last->after : first; next && !(wanted(*next) && claim(*next));) next = next->after;
    }
    if (last) unclaim(*last);
    if (!next) return;
    note(*next, next->call.poll(next->extra, &next->status));
    last = next;
  }
}

}  // namespace

Grequest* start(const Callbacks& callbacks, void* extra) noexcept {
  static const MPI_Status empty = make_empty_status();
  auto* const g = request::make<Grequest>();
  if (!g) return nullptr;
  g->kind = &kKind;
  g->call = callbacks;
  g->extra = extra;
  g->status = empty;
  return g;
}

namespace {

/// Requests that nobody waits for just now: a call that blocks, on whatever, moves them, too.
class Unpolled final : public progress::Source {
 public:
  [[nodiscard]] bool pending() const noexcept override { return unpolled.load(std::memory_order_relaxed) > 0; }
  bool try_progress() noexcept override {
    // What is complete stays counted until now, which spares MPI_Grequest_complete a count that all threads share.
    poll_those([](Grequest& g) {
      if (is_complete(g, std::memory_order_relaxed)) set_counted(g, false);
      return g.counted;
    });
    return false;
  }
};

}  // namespace

void publish(Grequest& g) noexcept {
  static Unpolled source;
  static const bool added = [] {
    progress::add_source(source);
    return true;
  }();
  static_cast<void>(added);
  enlist(g);
}

Grequest* find(Request& r) noexcept { return r.kind == &kKind ? &as_grequest(r) : nullptr; }

bool complete(Grequest& g) noexcept {
  // release: the work behind the request is seen by the one that finds it complete. acquire: if this thread has to end the
  // request, it sees what the program did before it freed it. If it does not, the request may be gone after this.
  const std::uint32_t was = g.bits.fetch_or(kComplete, std::memory_order_acq_rel);
  if (was & kComplete) return false;
  if ((was & kFreed) && !(was & kPolling)) end_orphan(g);
  return true;
}

void poll_all() noexcept {
  poll_those([](const Grequest&) { return true; });
}

}  // namespace plait::grequest
