// The exported functions of generalized requests: MPIX_Grequest_* and MPI_Grequest_complete. Those of MPI_Grequest_start
// stay the MPI's own.
#include "grequest/grequest.hpp"

#include <deque>
#include <mutex>

#include "base/spinlock.hpp"
#include "mpi/error.hpp"
#include "mpi/handle.hpp"
#include "mpi/native.hpp"

namespace plait::mpi {
namespace {

using grequest::Callbacks;

/// Classes by number; there are few and none is ever freed.
struct Classes {
  Spinlock lock;
  std::deque<Callbacks> all;  // a deque: what it holds stays where it is
};

Classes& classes() {
  static Classes& classes = *new Classes;  // never destroyed: exit handlers may still ask
  return classes;
}

/// Class handles are numbers; so that a zero or garbage is told from a class.
constexpr MPIX_Grequest_class kFirstClass = 0x67000000;

MPIX_Grequest_class add_class(const Callbacks& callbacks) {
  Classes& c = classes();
  const std::lock_guard guard(c.lock);
  c.all.push_back(callbacks);
  return kFirstClass + static_cast<MPIX_Grequest_class>(c.all.size() - 1);
}

const Callbacks& callbacks_of(MPIX_Grequest_class handle) {
  Classes& c = classes();
  const std::lock_guard guard(c.lock);
  const auto at = static_cast<std::size_t>(handle - kFirstClass);
  require(handle >= kFirstClass && at < c.all.size(), MPI_ERR_ARG);
  return c.all[at];
}

void begin(const Callbacks& callbacks, void* extra, MPI_Request* request) {
  require(request, MPI_ERR_ARG);
  grequest::Grequest* const g = grequest::start(callbacks, extra);
  require(g, MPI_ERR_NO_MEM);
  *request = handle_of(*g);
  grequest::publish(*g);
}

void require_callbacks(const Callbacks& c) { require(c.query && c.free && c.cancel && c.poll, MPI_ERR_ARG); }

}  // namespace
}  // namespace plait::mpi

#pragma GCC visibility push(default)

extern "C" int MPIX_Grequest_start(MPI_Grequest_query_function* query_fn, MPI_Grequest_free_function* free_fn,
                                   MPI_Grequest_cancel_function* cancel_fn, MPIX_Grequest_poll_function* poll_fn,
                                   MPIX_Grequest_wait_function* wait_fn, void* extra_state, MPI_Request* request) {
  using namespace plait::mpi;
  return guarded([&] {
    const Callbacks callbacks{query_fn, free_fn, cancel_fn, poll_fn, wait_fn};
    require_callbacks(callbacks);
    begin(callbacks, extra_state, request);
  });
}

extern "C" int MPIX_Grequest_class_create(MPI_Grequest_query_function* query_fn, MPI_Grequest_free_function* free_fn,
                                          MPI_Grequest_cancel_function* cancel_fn, MPIX_Grequest_poll_function* poll_fn,
                                          MPIX_Grequest_wait_function* wait_fn, MPIX_Grequest_class* greq_class) {
  using namespace plait::mpi;
  return guarded([&] {
    const Callbacks callbacks{query_fn, free_fn, cancel_fn, poll_fn, wait_fn};
    require_callbacks(callbacks);
    plait::require(greq_class, MPI_ERR_ARG);
    *greq_class = add_class(callbacks);
  });
}

extern "C" int MPIX_Grequest_class_allocate(MPIX_Grequest_class greq_class, void* extra_state, MPI_Request* request) {
  using namespace plait::mpi;
  return guarded([&] { begin(callbacks_of(greq_class), extra_state, request); });
}

extern "C" int MPI_Grequest_complete(MPI_Request request) {
  using namespace plait::mpi;
  plait::Request* const r = ours(request);
  if (!r) return gated([&] { return PMPI_Grequest_complete(request); });
  plait::grequest::Grequest* const g = r->kind ? plait::grequest::find(*r) : nullptr;
  if (g && plait::grequest::complete(*g)) [[likely]]
    return MPI_SUCCESS;
  return report(MPI_ERR_REQUEST);
}

#pragma GCC visibility pop
