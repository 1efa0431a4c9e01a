// The exported completion calls: any mix of plait's requests and the MPI's own. Calls that hold none of plait's go to the
// MPI as they are.
#include "mpi/completion.hpp"

#include "mpi/batch.hpp"
#include "mpi/communicator.hpp"
#include "mpi/lend.hpp"
#include "mpi/native.hpp"
#include "mpi/outcome.hpp"
#include "mpi/waiting.hpp"

namespace plait::mpi {
namespace {

MPI_Status* at(MPI_Status* statuses, int i) noexcept { return statuses == MPI_STATUSES_IGNORE ? nullptr : &statuses[i]; }
MPI_Status* rest(MPI_Status* statuses, int i) noexcept { return statuses == MPI_STATUSES_IGNORE ? statuses : statuses + i; }
MPI_Status* one(MPI_Status* status) noexcept { return status == MPI_STATUS_IGNORE ? nullptr : status; }

int retire(Request& r, MPI_Request* handle, MPI_Status* status) noexcept {
  const bool stays = r.persistent;
  const int error = r.kind->retire(r, status);
  if (!stays) *handle = MPI_REQUEST_NULL;
  return error;
}

/// The same in a call on one request, which tells the error handler.
int retire_alone(Request& r, MPI_Request* handle, MPI_Status* status, const char* call) noexcept {
  const std::uint64_t comm = r.kind->communicator(r);
  if (status && !r.active) status->MPI_ERROR = MPI_SUCCESS;  // an empty one has that
  const int error = retire(r, handle, status);
  transport::flush_network();
  return report_on(comm, error, call);
}

/// Before a call of the MPI's for its answer. MPICH 5.0 writes none where it has told an error handler of the program's, and returns
/// success.
constexpr int kUnwritten = -1;

/// Of so many that have ended, by PMPI_Testsome.
bool none_left(int ended) noexcept { return ended == MPI_UNDEFINED || ended == kUnwritten; }

int class_of(int code) noexcept {
  int error_class = MPI_ERR_UNKNOWN;
  PMPI_Error_class(code, &error_class);
  return error_class;
}

/// Ends one of plait's in a call that has many.
void retire_into(Request& r, MPI_Request* handle, MPI_Status* status, Outcome& outcome) noexcept {
  const std::uint64_t comm = r.kind->communicator(r);
  const int error = retire(r, handle, status);
  if (status) status->MPI_ERROR = error;
  if (error != MPI_SUCCESS) outcome.take(comm);
}

/// Persistent ones that were not started count as complete in calls that wait for all.
void empty_inactive(const Batch& batch, int count, const MPI_Request* requests, MPI_Status* statuses) {
  if (!batch.any_inactive || statuses == MPI_STATUSES_IGNORE) return;
  for (int i = 0; i < count; ++i) {
    const Request* const r = ours(requests[i]);
    if (!r || r->active) continue;
    end_empty(&statuses[i]);
  }
}

void take_native_statuses(Batch& batch, MPI_Status* statuses) {
  if (statuses == MPI_STATUSES_IGNORE) return;
  for (int i = 0; i < batch.native_count(); ++i) {
    statuses[batch.place(i)] = batch.native_statuses()[i];
  }
}

// ---- one

int wait_one(MPI_Request* request, MPI_Status* status, p2p::Call call) {
  Request* const r = ours(*request);
  require(r->kind, MPI_ERR_REQUEST);
  if (lane::Operation* const o = p2p::as_operation(*r); o && o->active) {
    const std::uint64_t comm = r->kind->communicator(*r);
    const bool stays = o->persistent;
    const int error = p2p::wait(*o, one(status), call);
    if (!stays) *request = MPI_REQUEST_NULL;
    return report_on(comm, error, call.name);
  }
  arm(*r);
  if (!advance(*r)) {
    Single pending(*r);
    Waiting waiting(pending, call.name, call.caller, 1);
    const auto ended = [&] { return advance(*r); };
    do waiting.pause(ended);
    while (!ended());
  }
  return retire_alone(*r, request, one(status), call.name);
}

int test_one(MPI_Request* request, int* flag, MPI_Status* status) {
  Request& r = *ours(*request);
  require(r.kind, MPI_ERR_REQUEST);
  arm(r);
  *flag = advance(r);
  if (*flag) return retire_alone(r, request, one(status), "MPI_Test");
  move_rest();
  return MPI_SUCCESS;
}

int get_status_one(MPI_Request request, int* flag, MPI_Status* status) {
  Request& r = *ours(request);
  require(r.kind, MPI_ERR_REQUEST);
  arm(r);
  *flag = advance(r);
  if (*flag && one(status) && !r.active) status->MPI_ERROR = MPI_SUCCESS;
  if (*flag) return report_on(r.kind->communicator(r), r.kind->peek(r, one(status)), "MPI_Request_get_status");
  move_rest();
  return MPI_SUCCESS;
}

// ---- all

/// Ends the requests at the front of the array that are complete. Returns how many.
int retire_front(int count, MPI_Request* requests, MPI_Status* statuses, Outcome& outcome) noexcept {
  int i = 0;
  for (; i < count; ++i) {
    MPI_Status* const status = at(statuses, i);
    if (requests[i] != MPI_REQUEST_NULL) {
      Request* const r = ours(requests[i]);
      if (!r) break;
      if (lane::Operation* const o = p2p::as_operation(*r)) {
        if (!o->active || !o->complete.load(std::memory_order_acquire)) break;
        const std::uint64_t comm = o->context->handle;
        if (!o->persistent) requests[i] = MPI_REQUEST_NULL;
        const int error = p2p::retire(*o, status);
        if (status) status->MPI_ERROR = error;
        if (error != MPI_SUCCESS) [[unlikely]]
          outcome.take(comm);
        continue;
      }
      if (!p2p::is_completed(*r)) break;
      requests[i] = MPI_REQUEST_NULL;
    }
    if (status) end_empty(status);
  }
  return i;
}

/// Nothing but messages of one endpoint (and null handles): its rounds move them all.
bool of_one_endpoint(int count, const MPI_Request* requests) noexcept {
  const lane::Endpoint* endpoint = nullptr;
  for (int i = 0; i < count; ++i) {
    if (requests[i] == MPI_REQUEST_NULL) continue;
    Request* const r = ours(requests[i]);
    if (!r) return false;
    if (p2p::is_completed(*r)) continue;
    const lane::Operation* const o = p2p::as_operation(*r);
    if (!o || !o->active || (endpoint && o->endpoint != endpoint)) return false;
    endpoint = o->endpoint;
  }
  return true;
}

/// Messages of one endpoint, or what is complete at the front of others; how many that are.
int wait_messages(int count, MPI_Request* requests, MPI_Status* statuses, const void* caller, Outcome& outcome) {
  transport::flush_network();
  bool of_one = false;
  int i = 0;
  for (;;) {
    i += retire_front(count - i, requests + i, rest(statuses, i), outcome);
    if (i == count) return count;
    Request* const r = ours(requests[i]);
    lane::Operation* const o = r ? p2p::as_operation(*r) : nullptr;
    if (!o || !o->active) return i;
    // What has come already is taken without another look at the rest.
    if (p2p::progress(*o->endpoint)) continue;
    of_one = of_one || of_one_endpoint(count - i, requests + i);
    if (!of_one) return i;
    p2p::wait_long(*o, {"MPI_Waitall", caller});
  }
}

int wait_all(int count, MPI_Request* requests, MPI_Status* statuses, const void* caller) {
  Outcome outcome;
  if (const int done = wait_messages(count, requests, statuses, caller, outcome)) {
    if (done == count) return outcome.end("MPI_Waitall");
    count -= done;
    requests += done;
    statuses = rest(statuses, done);
  }
  Batch batch(count, requests, true, Batch::Wants::kAll);
  empty_inactive(batch, count, requests, statuses);
  for (int i = 0; i < batch.native_count() && statuses != MPI_STATUSES_IGNORE; ++i) end_empty(&statuses[batch.place(i)]);
  bool natives_done = batch.their.empty();
  // Not by PMPI_Testall: MPICH to 5.0.2 lets requests of files go in it while others are pending, and it and Intel MPI 2021
  // leave persistent requests active there, of more than 64 with MPI_STATUSES_IGNORE.
  const auto test_natives = [&] {
    int n = kUnwritten;
    const MpiLock lock;
    const int error = PMPI_Testsome(batch.native_count(), batch.their.data(), &n, batch.native_indices(), batch.native_statuses());
    batch.put_back(requests);
    if (error != MPI_SUCCESS) outcome.native = error;
    natives_done = none_left(n) || (error != MPI_SUCCESS && class_of(error) != MPI_ERR_IN_STATUS);
    for (int i = 0; i < n; ++i) {
      MPI_Status& status = batch.native_statuses()[i];
      if (statuses != MPI_STATUSES_IGNORE) statuses[batch.place(batch.native_indices()[i])] = status;
      status.MPI_ERROR = MPI_SUCCESS;
    }
    if (natives_done) batch.their = {};
    return n > 0;
  };
  const auto round = [&] {
    bool moved = false;
    Round one_round;
    for (std::size_t i = 0; i < batch.left.size();) {
      const auto [request, index] = batch.left[i];
      if (advance(*request, one_round)) {
        batch.drop(i);  // before it ends: who waits is told what is left
        retire_into(*request, &requests[index], at(statuses, index), outcome);
        moved = true;
      } else {
        ++i;
      }
    }
    if (!natives_done) moved |= test_natives();
    return moved;
  };
  const auto over = [&] { return batch.left.empty() && natives_done; };
  Waiting waiting(batch, "MPI_Waitall", caller, count);
  while (!over()) {
    if (round()) {
      waiting.reset();
    } else if (!over()) {
      waiting.pause([&] { return round() || over(); });
    }
  }
  return outcome.end("MPI_Waitall");
}

int test_all(int count, MPI_Request* requests, int* flag, MPI_Status* statuses) {
  Batch batch(count, requests, true, Batch::Wants::kAll);  // as in wait_all
  Outcome outcome;
  *flag = 1;
  Round round;
  for (const Ours& o : batch.left) *flag &= advance(*o.request, round) ? 1 : 0;
  if (!*flag) {
    // Nothing may end yet, but the MPI has to move too. Not by PMPI_Request_get_status: in MPICH that ends persistent ones.
    move_rest();
    return MPI_SUCCESS;
  }
  if (!batch.their.empty()) {
    const MpiLock lock;
    outcome.native = PMPI_Testall(batch.native_count(), batch.their.data(), flag, batch.native_statuses());
    batch.put_back(requests);
    if (!*flag && outcome.native == MPI_SUCCESS) return MPI_SUCCESS;
    take_native_statuses(batch, statuses);
  }
  empty_inactive(batch, count, requests, statuses);
  for (const auto& [request, index] : batch.left) retire_into(*request, &requests[index], at(statuses, index), outcome);
  return outcome.end("MPI_Testall");
}

// ---- any

/// One round. True when the call is over, with its error in `error`.
bool any_round(Batch& batch, MPI_Request* requests, int* index, MPI_Status* status, int& error, const char* call) {
  Round round;
  for (std::size_t at = 0; at < batch.left.size(); ++at) {
    const auto [request, i] = batch.left[at];
    if (!advance(*request, round)) continue;
    batch.drop(at);
    *index = i;
    error = retire_alone(*request, &requests[i], one(status), call);
    return true;
  }
  if (batch.their.empty() && !batch.left.empty()) return false;
  const MpiLock lock;
  int flag = kUnwritten;
  int which = MPI_UNDEFINED;
  // To a status of our own: with nothing active among its requests the MPI would write an empty one.
  MPI_Status found;
  error = PMPI_Testany(batch.native_count(), batch.their.data(), &which, &flag, &found);
  batch.put_back(requests);
  if (flag == kUnwritten && error == MPI_SUCCESS) {
    batch.their = {};
    *index = MPI_UNDEFINED;
    return batch.left.empty();
  }
  const bool none_active = error == MPI_SUCCESS && flag && which == MPI_UNDEFINED;
  if (none_active) batch.their = {};
  if (error == MPI_SUCCESS && (!flag || which == MPI_UNDEFINED) && !(none_active && batch.left.empty())) return false;
  *index = which == MPI_UNDEFINED ? MPI_UNDEFINED : batch.place(which);
  if (one(status)) {
    found.MPI_ERROR = which == MPI_UNDEFINED ? MPI_SUCCESS : status->MPI_ERROR;
    *status = found;
  }
  return true;
}

int wait_any(int count, MPI_Request* requests, int* index, MPI_Status* status, const void* caller) {
  Batch batch(count, requests, false, Batch::Wants::kAny);
  Waiting waiting(batch, "MPI_Waitany", caller, count);
  int error = MPI_SUCCESS;
  bool over = false;
  const auto round = [&] { return over = over || any_round(batch, requests, index, status, error, "MPI_Waitany"); };
  while (!round()) waiting.pause(round);
  return error;
}

int test_any(int count, MPI_Request* requests, int* index, int* flag, MPI_Status* status) {
  Batch batch(count, requests, false, Batch::Wants::kAny);
  int error = MPI_SUCCESS;
  *flag = any_round(batch, requests, index, status, error, "MPI_Testany");
  if (!*flag) {
    *index = MPI_UNDEFINED;
    move_rest();
  }
  return error;
}

// ---- some

/// One round: what it found is in the program's arrays.
void some_round(Batch& batch, MPI_Request* requests, int* outcount, int* indices, MPI_Status* statuses, Outcome& outcome) {
  *outcount = 0;
  Round round;
  std::size_t kept = 0;
  for (const auto& [request, index] : batch.left) {
    if (!advance(*request, round)) {
      batch.left[kept++] = {request, index};
      continue;
    }
    retire_into(*request, &requests[index], at(statuses, *outcount), outcome);
    indices[(*outcount)++] = index;
  }
  batch.left = batch.left.first(kept);
  if (batch.their.empty() && (!batch.left.empty() || *outcount != 0)) return;
  int n = kUnwritten;
  const MpiLock lock;
  outcome.native = PMPI_Testsome(batch.native_count(), batch.their.data(), &n, batch.native_indices(), batch.native_statuses());
  batch.put_back(requests);
  if (none_left(n)) {
    if (batch.left.empty() && *outcount == 0) *outcount = MPI_UNDEFINED;  // nothing is active
    batch.their = {};                                                     // none is active
    return;
  }
  for (int i = 0; i < n; ++i) {
    if (MPI_Status* const status = at(statuses, *outcount)) *status = batch.native_statuses()[i];
    indices[(*outcount)++] = batch.place(batch.native_indices()[i]);
  }
}

int wait_some(int count, MPI_Request* requests, int* outcount, int* indices, MPI_Status* statuses, const void* caller) {
  Batch batch(count, requests, statuses != MPI_STATUSES_IGNORE, Batch::Wants::kAny);
  Waiting waiting(batch, "MPI_Waitsome", caller, count);
  Outcome outcome;
  bool over = false;
  const auto round = [&] {
    if (over) return true;
    some_round(batch, requests, outcount, indices, statuses, outcome);
    return over = *outcount != 0 || outcome.native != MPI_SUCCESS;
  };
  while (!round()) waiting.pause(round);
  return outcome.end("MPI_Waitsome");
}

int test_some(int count, MPI_Request* requests, int* outcount, int* indices, MPI_Status* statuses) {
  Batch batch(count, requests, statuses != MPI_STATUSES_IGNORE, Batch::Wants::kAny);
  Outcome outcome;
  some_round(batch, requests, outcount, indices, statuses, outcome);
  if (*outcount == 0) move_rest();
  return outcome.end("MPI_Testsome");
}

int start_one(Request& r, const char* call) {
  require(r.kind && r.kind->start, MPI_ERR_REQUEST);
  const int error = r.kind->start(r);
  transport::nudge_network();
  return report_on(r.kind->communicator(r), error, call);
}

}  // namespace

// ---- by two names

int start(MPI_Request* request, const char* call) noexcept {
  if (any_requests() && request) {
    if (RequestBits::ours(*request)) return returning([&] { return start_one(*ours(*request), call); }, call);
    if (lend::polls()) [[unlikely]]
      return after_start(gated([&] { return PMPI_Start(request); }));
  }
  return gated([&] { return PMPI_Start(request); });
}

int wait(MPI_Request* request, MPI_Status* status, p2p::Call call) noexcept {
  if (any_requests() && request) {
    if (RequestBits::ours(*request)) return returning([&] { return wait_one(request, status, call); }, call.name);
    if (lend::polls()) [[unlikely]]
      return poll_request(request, status);
  }
  return blocking([&] { return PMPI_Wait(request, status); });
}

int free_request(MPI_Request* request, const char* call) noexcept {
  if (!is_ours(request)) return gated([&] { return PMPI_Request_free(request); });
  const auto body = [&] {
    Request& r = *ours(*request);
    require(r.kind, MPI_ERR_REQUEST);
    const std::uint64_t comm = r.kind->communicator(r);
    const int error = r.kind->free(r);
    // What may not be freed yet stays; one that ended with an error is gone.
    if (error == MPI_SUCCESS || !r.kind || !r.active) *request = MPI_REQUEST_NULL;
    return report_on(comm, error, call);
  };
  return returning(body, call);
}

}  // namespace plait::mpi

#pragma GCC visibility push(default)

using plait::mpi::asking;
using plait::mpi::blocking;
using plait::mpi::gated;
using plait::mpi::has_ours;
using plait::mpi::is_ours;
using plait::mpi::is_waited_for;
using plait::mpi::returning;

extern "C" int MPI_Wait(MPI_Request* request, MPI_Status* status) {
  return plait::mpi::wait(request, status, {"MPI_Wait", __builtin_return_address(0)});
}

extern "C" int MPI_Test(MPI_Request* request, int* flag, MPI_Status* status) {
  if (!is_ours(request)) return asking([&] { return PMPI_Test(request, flag, status); });
  return returning([&] { return plait::mpi::test_one(request, flag, status); });
}

extern "C" int MPI_Request_get_status(MPI_Request request, int* flag, MPI_Status* status) {
  if (!is_ours(&request)) return asking([&] { return PMPI_Request_get_status(request, flag, status); });
  return returning([&] { return plait::mpi::get_status_one(request, flag, status); });
}

extern "C" int MPI_Waitall(int count, MPI_Request requests[], MPI_Status statuses[]) {
  if (!is_waited_for(count, requests)) return blocking([&] { return PMPI_Waitall(count, requests, statuses); });
  const void* const caller = __builtin_return_address(0);
  return returning([&] { return plait::mpi::wait_all(count, requests, statuses, caller); });
}

extern "C" int MPI_Testall(int count, MPI_Request requests[], int* flag, MPI_Status statuses[]) {
  if (!has_ours(count, requests)) return asking([&] { return PMPI_Testall(count, requests, flag, statuses); });
  return returning([&] { return plait::mpi::test_all(count, requests, flag, statuses); });
}

extern "C" int MPI_Waitany(int count, MPI_Request requests[], int* index, MPI_Status* status) {
  if (!is_waited_for(count, requests)) return blocking([&] { return PMPI_Waitany(count, requests, index, status); });
  const void* const caller = __builtin_return_address(0);
  return returning([&] { return plait::mpi::wait_any(count, requests, index, status, caller); });
}

extern "C" int MPI_Testany(int count, MPI_Request requests[], int* index, int* flag, MPI_Status* status) {
  if (!has_ours(count, requests)) return asking([&] { return PMPI_Testany(count, requests, index, flag, status); });
  return returning([&] { return plait::mpi::test_any(count, requests, index, flag, status); });
}

extern "C" int MPI_Waitsome(int count, MPI_Request requests[], int* outcount, int indices[], MPI_Status statuses[]) {
  if (!is_waited_for(count, requests)) return blocking([&] { return PMPI_Waitsome(count, requests, outcount, indices, statuses); });
  const void* const caller = __builtin_return_address(0);
  return returning([&] { return plait::mpi::wait_some(count, requests, outcount, indices, statuses, caller); });
}

extern "C" int MPI_Testsome(int count, MPI_Request requests[], int* outcount, int indices[], MPI_Status statuses[]) {
  if (!has_ours(count, requests)) return asking([&] { return PMPI_Testsome(count, requests, outcount, indices, statuses); });
  return returning([&] { return plait::mpi::test_some(count, requests, outcount, indices, statuses); });
}

extern "C" int MPI_Request_free(MPI_Request* request) { return plait::mpi::free_request(request, "MPI_Request_free"); }

extern "C" int MPI_Cancel(MPI_Request* request) {
  if (!is_ours(request)) return gated([&] { return PMPI_Cancel(request); });
  return returning([&] {
    plait::Request& r = *plait::mpi::ours(*request);
    plait::require(r.kind, MPI_ERR_REQUEST);
    const std::uint64_t comm = r.kind->communicator(r);
    return plait::mpi::report_on(comm, r.kind->cancel(r), "MPI_Cancel");
  });
}

extern "C" int MPI_Start(MPI_Request* request) { return plait::mpi::start(request, "MPI_Start"); }

extern "C" int MPI_Startall(int count, MPI_Request requests[]) {
  if (!is_waited_for(count, requests)) return gated([&] { return PMPI_Startall(count, requests); });
  return returning([&] {
    int error = MPI_SUCCESS;
    for (int i = 0; i < count && error == MPI_SUCCESS; ++i) error = plait::mpi::start(&requests[i], "MPI_Startall");
    return error;
  });
}

#pragma GCC visibility pop
