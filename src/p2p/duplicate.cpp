#include "p2p/duplicate.hpp"

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/mpi_lock.hpp"
#include "p2p/hang.hpp"
#include "p2p/status.hpp"

namespace plait::p2p {
namespace {

/// What the MPI writes to until it has done.
struct Draft {
  std::unique_ptr<Communicator> made = std::make_unique<Communicator>();
  std::shared_ptr<Members> members;
  std::vector<std::uint32_t> mine, all;  ///< numbers of contexts, by endpoint
  std::vector<int> counts, places;

  ~Draft() {
    if (!made) return;
    for (LocalEndpoint& l : made->locals) {
      if (l.context) lane::delete_context(*l.context);
    }
    if (made->handle != MPI_COMM_NULL) PMPI_Comm_free(&made->handle);
  }
};

struct Duplicating : Request {
  std::atomic_flag busy;  ///< a thread looks at it
  std::atomic<bool> complete{false};
  int error = MPI_SUCCESS;
  std::array<MPI_Request, 2> steps{MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  std::unique_ptr<Draft> draft;
  MPI_Comm original = MPI_COMM_NULL;
  MPI_Comm* place = nullptr;  ///< of the program's
};

Duplicating& as_duplicating(Request& r) noexcept { return static_cast<Duplicating&>(r); }
const Duplicating& as_duplicating(const Request& r) noexcept { return static_cast<const Duplicating&>(r); }

void copy_shape(const Communicator& from, Draft& draft) {
  Communicator& c = *draft.made;
  c.rank = from.rank;
  c.size = from.size;
  c.multiplex = from.multiplex;
  draft.members = std::make_shared<Members>(*from.members);
  c.set_members(draft.members);
  c.locals.reserve(from.locals.size());
  draft.mine.reserve(from.locals.size());
  for (const LocalEndpoint& original : from.locals) {
    LocalEndpoint& local = c.locals.emplace_back();
    local.stream = original.stream;
    local.endpoint = original.endpoint;
    local.number = original.number;
    local.lanes = Lanes(c.peers.size());
    local.context = &lane::make_context(*local.endpoint);
    local.context->rank_of = original.context->rank_of;
    draft.mine.push_back(local.context->id);
  }
  draft.all.resize(c.peers.size());
  for (int r = 0; r < c.size; ++r) {
    draft.counts.push_back(static_cast<int>(c.streams_of(r)));
    draft.places.push_back(static_cast<int>(c.first[static_cast<std::size_t>(r)]));
  }
}

/// All is there: the program may know the communicator.
void publish(Duplicating& d) noexcept {
  Communicator& c = *d.draft->made;
  for (std::size_t i = 0; i < d.draft->all.size(); ++i) d.draft->members->peers[i].context = d.draft->all[i];
  for (const LocalEndpoint& l : c.locals) l.context->handle = to_bits(c.handle);
  try {
    enter(c);
    *d.place = d.draft->made.release()->handle;
  } catch (const std::bad_alloc&) {
    d.error = MPI_ERR_NO_MEM;
  }
  d.draft.reset();
}

bool test_steps(Duplicating& d) noexcept {
  bool moved = false;
  for (MPI_Request& step : d.steps) {
    if (step == MPI_REQUEST_NULL) continue;
    int flag = 0;
    // What the MPI finds wrong it tells the communicator's handler itself.
    if (const int error = PMPI_Test(&step, &flag, MPI_STATUS_IGNORE); error != MPI_SUCCESS) d.error = error;
    moved |= flag != 0;
  }
  return moved;
}

bool progress(Request& r, Round&) {
  Duplicating& d = as_duplicating(r);
  // acquire, release: one thread at a time.
  if (d.busy.test_and_set(std::memory_order_acquire)) return false;
  bool moved = false;
  if (const MpiTryLock lock; lock && !d.complete.load(std::memory_order_relaxed)) {
    moved = test_steps(d);
    if (d.steps[0] == MPI_REQUEST_NULL && d.steps[1] == MPI_REQUEST_NULL) {
      if (d.error == MPI_SUCCESS) publish(d);
      // release: the communicator, to whoever ends the request.
      d.complete.store(true, std::memory_order_release);
    }
  }
  d.busy.clear(std::memory_order_release);
  return moved;
}

int peek(Request& r, void* status) {
  if (status) set_empty(static_cast<MPI_Status*>(status));
  return as_duplicating(r).error;
}

int retire(Request& r, void* status) {
  const int error = peek(r, status);
  request::destroy(as_duplicating(r));
  return error;
}

/// Those of collective calls can be neither freed nor cancelled.
int refuse(Request&) { return MPI_ERR_REQUEST; }

void describe(const Request& r, std::string& text) { text += "a duplicate of " + name_of(to_bits(as_duplicating(r).original)); }

constexpr RequestKind kKind{.progress = progress,
                            .done = [](const Request& r) { return as_duplicating(r).complete.load(std::memory_order_acquire); },
                            .retire = retire,
                            .peek = peek,
                            .free = refuse,
                            .cancel = refuse,
                            .block = nullptr,
                            .waiter = nullptr,
                            .patience = &progress::kForRequests,
                            .set_polled = nullptr,
                            .start = nullptr,
                            .arm = nullptr,
                            .communicator = [](const Request& r) { return to_bits(as_duplicating(r).original); },
                            .describe = describe};

}  // namespace

Request& start_duplicate(const Communicator& original, const StartNative& start, MPI_Comm* made) {
  auto draft = std::make_unique<Draft>();
  copy_shape(original, *draft);
  auto* const d = request::make<Duplicating>();
  if (!d) throw std::bad_alloc();
  d->kind = &kKind;
  d->draft = std::move(draft);
  d->original = original.handle;
  d->place = made;
  Draft& to = *d->draft;
  const MpiLock lock;
  int error = start(original.handle, &to.made->handle, &d->steps[0]);
  if (error == MPI_SUCCESS) {
    error = PMPI_Iallgatherv(to.mine.data(), static_cast<int>(to.mine.size()), MPI_UINT32_T, to.all.data(), to.counts.data(),
                             to.places.data(), MPI_UINT32_T, original.handle, &d->steps[1]);
    if (error != MPI_SUCCESS) PMPI_Wait(&d->steps[0], MPI_STATUS_IGNORE);
  }
  if (error != MPI_SUCCESS) request::destroy(*d);
  check(error);
  return *d;
}

}  // namespace plait::p2p
