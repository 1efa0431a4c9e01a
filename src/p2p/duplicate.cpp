#include "p2p/duplicate.hpp"

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/list.hpp"
#include "base/mpi_lock.hpp"
#include "p2p/hang.hpp"
#include "p2p/status.hpp"
#include "p2p/world.hpp"
#include "progress/source.hpp"

namespace plait::p2p {
namespace {

/// What a process tells the others of one of its endpoints.
struct Ticket {
  std::uint64_t endpoint;  ///< its offset in the process's region
  std::uint32_t context;
};

/// What the MPI writes to until it has done.
struct Making {
  Draft communicator = Draft(new Communicator);
  std::shared_ptr<Members> members;
  std::vector<Ticket> mine, all;  ///< by endpoint
  std::vector<int> counts, places;
};

struct Duplicating : Request {
  std::atomic_flag busy;  ///< a thread looks at it
  std::atomic<bool> complete{false};
  int error = MPI_SUCCESS;
  std::array<MPI_Request, 2> steps{MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  StartNative start;        ///< null: it has started
  Link<Duplicating> lined;  ///< until it is made
  std::unique_ptr<Making> making;
  MPI_Comm original = MPI_COMM_NULL;
  MPI_Comm* place = nullptr;  ///< of the program's
};

Duplicating& as_duplicating(Request& r) noexcept { return static_cast<Duplicating&>(r); }
const Duplicating& as_duplicating(const Request& r) noexcept { return static_cast<const Duplicating&>(r); }

void copy_shape(const Communicator& from, Making& making) {
  Communicator& c = *making.communicator;
  c.rank = from.rank;
  c.size = from.size;
  c.multiplex = from.multiplex;
  c.ordinary = from.ordinary;
  making.members = std::make_shared<Members>(*from.members);
  making.members->peers.resize(making.members->first.back());  // hints are not the duplicate's
  c.set_members(making.members);
  const auto locals = std::span(from.locals).first(from.streams_of(from.rank));
  c.locals.reserve(locals.size());
  making.mine.reserve(locals.size());
  for (const LocalEndpoint& original : locals) {
    LocalEndpoint& local = c.locals.emplace_back();
    local.stream = original.stream;
    local.endpoint = from.ordinary ? &take_carried_endpoint() : original.endpoint;
    local.number = original.number;
    local.lanes = Lanes(c.peers.size());
    local.context = &lane::make_context(*local.endpoint);
    local.context->rank_of = original.context->rank_of;
    making.mine.push_back({local.endpoint->address().offset, local.context->id});
  }
  making.all.resize(c.peers.size());
  for (int r = 0; r < c.size; ++r) {
    making.counts.push_back(static_cast<int>(c.streams_of(r) * sizeof(Ticket)));
    making.places.push_back(static_cast<int>(c.first[static_cast<std::size_t>(r)] * sizeof(Ticket)));
  }
}

/// All is there: the program may know the communicator.
void publish(Duplicating& d) noexcept {
  Communicator& c = *d.making->communicator;
  for (std::size_t i = 0; i < d.making->all.size(); ++i) {
    Peer& peer = d.making->members->peers[i];
    peer.address.offset = d.making->all[i].endpoint;
    peer.context = d.making->all[i].context;
  }
  for (const LocalEndpoint& l : c.locals) l.context->handle = to_bits(c.handle);
  try {
    enter(c);
    *d.place = d.making->communicator.release()->handle;
  } catch (const std::bad_alloc&) {
    d.error = MPI_ERR_NO_MEM;
  }
}

/// Are a communicator's duplicates made one after the other? Open MPI 5.0.11 makes each in several steps and numbers these, together with
/// what else is started on the original, in the order in which its threads come to them. With two threads in the MPI that is another
/// order elsewhere, and several at once hang or take each other's numbers.
bool one_at_a_time() noexcept {
#ifdef OMPI_MAJOR_VERSION
  return !world_is_serialized();
#else
  return false;
#endif
}

/// Those of communicators whose duplicates are made one after the other, in the program's order.
class Line final : public progress::Source {
 public:
  void join(Duplicating& d) noexcept {
    const std::lock_guard guard(lock_);
    line_.push_back(d);
    // relaxed: a hint.
    length_.fetch_add(1, std::memory_order_relaxed);
  }
  /// By the thread for which it is busy.
  void leave(Duplicating& d) noexcept {
    const std::lock_guard guard(lock_);
    take_out(d);
  }
  [[nodiscard]] bool is_first(const Duplicating& d) noexcept {
    const std::lock_guard guard(lock_);
    return first_of(d.original) == &d;
  }
  [[nodiscard]] bool has(MPI_Comm original) noexcept {
    const std::lock_guard guard(lock_);
    return first_of(original);
  }
  [[nodiscard]] bool pending() const noexcept override { return length_.load(std::memory_order_relaxed) > 0; }
  bool try_progress() noexcept override;

 private:
  [[nodiscard]] Duplicating* first_of(MPI_Comm original) const noexcept {
    Duplicating* d = line_.front();
    while (d && d->original != original) d = line_.next(*d);
    return d;
  }
  void take_out(Duplicating& d) noexcept {
    line_.remove(d);
    length_.fetch_sub(1, std::memory_order_relaxed);
  }

  std::mutex lock_;
  List<Duplicating, &Duplicating::lined> line_;
  std::atomic<int> length_{0};
};

constinit Line line;

bool is_made(const Duplicating& d) noexcept { return !d.start && d.steps[0] == MPI_REQUEST_NULL; }

/// Starts both steps, with the MPI's lock. First the exchange: what Open MPI starts later on the original follows it then.
int begin(Duplicating& d) noexcept {
  Making& to = *d.making;
  const StartNative start = std::exchange(d.start, nullptr);
  int error = PMPI_Iallgatherv(to.mine.data(), static_cast<int>(to.mine.size() * sizeof(Ticket)), MPI_BYTE, to.all.data(), to.counts.data(),
                               to.places.data(), MPI_BYTE, d.original, &d.steps[1]);
  if (error != MPI_SUCCESS) return error;
  error = start(d.original, &to.communicator->handle, &d.steps[0]);
  if (error != MPI_SUCCESS) PMPI_Wait(&d.steps[1], MPI_STATUS_IGNORE);
  return error;
}

/// With the MPI's lock, and while it is busy. `first`: it is its turn. What the MPI finds wrong it tells the communicator's handler itself.
bool test_steps(Duplicating& d, bool first) noexcept {
  if (d.start) {
    if (first) d.error = begin(d);
    return first;
  }
  bool moved = false;
  for (MPI_Request& step : d.steps) {
    if (step == MPI_REQUEST_NULL) continue;
    int flag = 0;
    if (const int error = PMPI_Test(&step, &flag, MPI_STATUS_IGNORE); error != MPI_SUCCESS) d.error = error;
    moved |= flag != 0;
  }
  return moved;
}

bool Line::try_progress() noexcept {
  bool moved = false;
  const std::unique_lock guard(lock_, std::try_to_lock);
  if (!guard) return false;
  for (Duplicating* next = line_.front(); next;) {
    Duplicating& d = *next;
    next = line_.next(d);
    // acquire, release: one thread at a time. One that has it may wait for the line.
    if (d.busy.test_and_set(std::memory_order_acquire)) continue;
    if (const MpiTryLock lock; lock && test_steps(d, first_of(d.original) == &d)) {
      moved = true;
      if (is_made(d)) take_out(d);
    }
    d.busy.clear(std::memory_order_release);
  }
  return moved;
}

bool progress_duplicate(Request& r, Round&) {
  Duplicating& d = as_duplicating(r);
  // acquire, release: one thread at a time.
  if (d.busy.test_and_set(std::memory_order_acquire)) return false;
  bool moved = false;
  bool over = false;
  if (const MpiTryLock lock; lock && !d.complete.load(std::memory_order_relaxed)) {
    const bool was_made = is_made(d);
    moved = test_steps(d, !d.start || line.is_first(d));
    if (one_at_a_time() && !was_made && is_made(d)) line.leave(d);
    over = is_made(d) && d.steps[1] == MPI_REQUEST_NULL;
    if (over && d.error == MPI_SUCCESS) publish(d);
  }
  if (over) {
    d.making.reset();  // a draft that has failed asks for endpoints: not with the lock
    // release: the communicator, to whoever ends the request.
    d.complete.store(true, std::memory_order_release);
  }
  d.busy.clear(std::memory_order_release);
  return moved;
}

int peek(Request& r, void* status) {
  set_empty(static_cast<MPI_Status*>(status));
  return as_duplicating(r).error;
}

int retire_duplicate(Request& r, void* status) {
  const int error = peek(r, status);
  request::destroy(as_duplicating(r));
  return error;
}

/// Those of collective calls can be neither freed nor cancelled.
int refuse(Request&) { return MPI_ERR_REQUEST; }

void describe_duplicate(const Request& r, std::string& text) { text += "a duplicate of " + name_of(to_bits(as_duplicating(r).original)); }

constexpr RequestKind kKind{.progress = progress_duplicate,
                            .done = [](const Request& r) { return as_duplicating(r).complete.load(std::memory_order_acquire); },
                            .retire = retire_duplicate,
                            .peek = peek,
                            .free = refuse,
                            .cancel = refuse,
                            .patience = &progress::kForRequests,
                            .communicator = [](const Request& r) { return to_bits(as_duplicating(r).original); },
                            .describe = describe_duplicate};

}  // namespace

Request& start_duplicate(const Communicator& original, const StartNative& start, MPI_Comm* made) {
  auto making = std::make_unique<Making>();
  copy_shape(original, *making);
  auto* const d = request::make<Duplicating>();
  if (!d) throw std::bad_alloc();
  d->kind = &kKind;
  d->making = std::move(making);
  d->original = original.handle;
  d->place = made;
  d->start = start;
  d->busy.test_and_set(std::memory_order_relaxed);
  const bool waits_for_others = one_at_a_time();
  if (waits_for_others) {
    static const bool added = [] {
      progress::add_source(line);
      return true;
    }();
    static_cast<void>(added);
    line.join(*d);
  }
  int error = MPI_SUCCESS;
  // Where it need not wait for its turn it starts here: the others may be at it already.
  if (const MpiLock lock; !waits_for_others || line.is_first(*d)) error = begin(*d);
  if (error != MPI_SUCCESS) {
    if (waits_for_others) line.leave(*d);
    request::destroy(*d);
  } else {
    d->busy.clear(std::memory_order_release);
  }
  check(error);
  return *d;
}

void wait_until_made(MPI_Comm original) noexcept {
  if (!line.pending() || !line.has(original)) return;
  progress::Nowhere nowhere;
  for (progress::Wait wait(nowhere, progress::kForRequests); line.has(original);) {
    if (!progress::drive()) wait.pause([] { return false; });
  }
}

}  // namespace plait::p2p
