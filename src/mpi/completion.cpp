// The exported completion calls: any mix of plait's requests and the MPI's own. Calls that hold none of plait's go to the
// MPI as they are.
#include "mpi/completion.hpp"

#include "mpi/batch.hpp"
#include "mpi/progress.hpp"
#include "mpi/waiting.hpp"

namespace plait::mpi {
namespace {

MPI_Status* at(MPI_Status* statuses, int i) noexcept { return statuses == MPI_STATUSES_IGNORE ? nullptr : &statuses[i]; }
MPI_Status* one(MPI_Status* status) noexcept { return status == MPI_STATUS_IGNORE ? nullptr : status; }

/// The round's work on one of plait's: is it done now?
bool advance(Request& r) noexcept {
  if (r.kind->done(r)) return true;
  r.kind->progress(r);
  return r.kind->done(r);
}

int retire(Request& r, MPI_Request* handle, MPI_Status* status) noexcept {
  const int error = r.kind->retire(r, status);
  *handle = MPI_REQUEST_NULL;
  return error;
}

/// What a call on many requests returns, and for one of plait's whether the handler has to be told.
struct Outcome {
  int native = MPI_SUCCESS;  ///< of the MPI's call, which has told the handler itself
  bool failed = false;       ///< one of plait's

  int end() const noexcept { return native != MPI_SUCCESS ? native : failed ? report(MPI_ERR_IN_STATUS) : MPI_SUCCESS; }
};

/// Ends one of plait's in a call that has many.
void retire_into(Request& r, MPI_Request* handle, MPI_Status* status, Outcome& outcome) noexcept {
  const int error = retire(r, handle, status);
  if (status) status->MPI_ERROR = error;
  outcome.failed |= error != MPI_SUCCESS;
}

void take_native_statuses(Batch& batch, MPI_Status* statuses) {
  if (statuses == MPI_STATUSES_IGNORE) return;
  for (int i = 0; i < batch.native_count(); ++i) {
    statuses[batch.place(i)] = batch.native_statuses()[i];
  }
}

// ---- one

int wait_one(MPI_Request* request, MPI_Status* status, const void* caller) {
  Request* r = ours(*request);
  require(r->kind, MPI_ERR_REQUEST);
  if (!advance(*r)) {
    Waiting waiting("MPI_Wait", caller, 1);
    do waiting.pause({&r, 1}, 0);
    while (!advance(*r));
  }
  return report(retire(*r, request, one(status)));
}

int test_one(MPI_Request* request, int* flag, MPI_Status* status) {
  Request& r = *ours(*request);
  require(r.kind, MPI_ERR_REQUEST);
  *flag = advance(r);
  if (*flag) return report(retire(r, request, one(status)));
  grequest::poll_orphans();
  return MPI_SUCCESS;
}

int get_status_one(MPI_Request request, int* flag, MPI_Status* status) {
  Request& r = *ours(request);
  require(r.kind, MPI_ERR_REQUEST);
  *flag = advance(r);
  return *flag ? report(r.kind->peek(r, one(status))) : MPI_SUCCESS;
}

// ---- all

int wait_all(int count, MPI_Request* requests, MPI_Status* statuses, const void* caller) {
  Batch batch(count, requests, statuses != MPI_STATUSES_IGNORE);
  Waiting waiting("MPI_Waitall", caller, count);
  Outcome outcome;
  bool natives_done = batch.natives.empty();
  const auto test_natives = [&] {
    int flag = 0;
    outcome.native = PMPI_Testall(batch.native_count(), batch.natives.data(), &flag, batch.native_statuses());
    natives_done = flag || outcome.native != MPI_SUCCESS;
    batch.put_back(requests);
    if (natives_done) take_native_statuses(batch, statuses);
  };
  for (;;) {
    bool moved = false;
    for (std::size_t i = 0; i < batch.ours.size();) {
      const auto [request, index] = batch.ours[i];
      if (advance(*request)) {
        retire_into(*request, &requests[index], at(statuses, index), outcome);
        batch.drop(i);
        moved = true;
      } else {
        ++i;
      }
    }
    if (!natives_done) test_natives();
    if (batch.ours.empty() && natives_done) return outcome.end();
    if (!moved) waiting.pause(batch.pointers(), natives_done ? 0 : batch.native_count());
  }
}

int test_all(int count, MPI_Request* requests, int* flag, MPI_Status* statuses) {
  Batch batch(count, requests, statuses != MPI_STATUSES_IGNORE);
  Outcome outcome;
  *flag = 1;
  for (const Ours& o : batch.ours) *flag &= advance(*o.request) ? 1 : 0;
  if (!*flag) {
    grequest::poll_orphans();
    return batch.natives.empty() ? MPI_SUCCESS : progress_native();  // nothing may end yet, but the MPI has to move too
  }
  if (!batch.natives.empty()) {
    outcome.native = PMPI_Testall(batch.native_count(), batch.natives.data(), flag, batch.native_statuses());
    batch.put_back(requests);
    if (!*flag && outcome.native == MPI_SUCCESS) return MPI_SUCCESS;
    take_native_statuses(batch, statuses);
  }
  for (const auto& [request, index] : batch.ours) retire_into(*request, &requests[index], at(statuses, index), outcome);
  return outcome.end();
}

// ---- any

/// One round. True when the call is over, with its error in `error`.
bool any_round(Batch& batch, MPI_Request* requests, int* index, MPI_Status* status, int& error) {
  for (const auto& [request, i] : batch.ours) {
    if (!advance(*request)) continue;
    *index = i;
    error = report(retire(*request, &requests[i], one(status)));
    return true;
  }
  if (batch.natives.empty()) return false;
  int flag = 0;
  int which = MPI_UNDEFINED;
  // To a status of our own: with nothing active among its requests the MPI would write an empty one.
  MPI_Status found;
  error = PMPI_Testany(batch.native_count(), batch.natives.data(), &which, &flag, &found);
  batch.put_back(requests);
  if (error == MPI_SUCCESS && flag && which == MPI_UNDEFINED) batch.natives = {};  // none is active
  if (error == MPI_SUCCESS && (!flag || which == MPI_UNDEFINED)) return false;
  *index = which == MPI_UNDEFINED ? MPI_UNDEFINED : batch.place(which);
  if (one(status)) {
    found.MPI_ERROR = status->MPI_ERROR;
    *status = found;
  }
  return true;
}

int wait_any(int count, MPI_Request* requests, int* index, MPI_Status* status, const void* caller) {
  Batch batch(count, requests, false);
  Waiting waiting("MPI_Waitany", caller, count);
  int error = MPI_SUCCESS;
  while (!any_round(batch, requests, index, status, error)) waiting.pause(batch.pointers(), batch.native_count());
  return error;
}

int test_any(int count, MPI_Request* requests, int* index, int* flag, MPI_Status* status) {
  Batch batch(count, requests, false);
  int error = MPI_SUCCESS;
  *flag = any_round(batch, requests, index, status, error);
  if (!*flag) {
    *index = MPI_UNDEFINED;
    grequest::poll_orphans();
  }
  return error;
}

// ---- some

/// One round: what it found is in the program's arrays.
void some_round(Batch& batch, MPI_Request* requests, int* outcount, int* indices, MPI_Status* statuses, Outcome& outcome) {
  *outcount = 0;
  for (const auto& [request, index] : batch.ours) {
    if (!advance(*request)) continue;
    retire_into(*request, &requests[index], at(statuses, *outcount), outcome);
    indices[(*outcount)++] = index;
  }
  if (batch.natives.empty()) return;
  int n = 0;
  outcome.native = PMPI_Testsome(batch.native_count(), batch.natives.data(), &n, batch.native_indices(), batch.native_statuses());
  batch.put_back(requests);
  if (n == MPI_UNDEFINED) {
    batch.natives = {};  // none is active
    return;
  }
  for (int i = 0; i < n; ++i) {
    if (MPI_Status* const status = at(statuses, *outcount)) *status = batch.native_statuses()[i];
    indices[(*outcount)++] = batch.place(batch.native_indices()[i]);
  }
}

int wait_some(int count, MPI_Request* requests, int* outcount, int* indices, MPI_Status* statuses, const void* caller) {
  Batch batch(count, requests, statuses != MPI_STATUSES_IGNORE);
  Waiting waiting("MPI_Waitsome", caller, count);
  Outcome outcome;
  for (;;) {
    some_round(batch, requests, outcount, indices, statuses, outcome);
    if (*outcount > 0 || outcome.native != MPI_SUCCESS) return outcome.end();
    waiting.pause(batch.pointers(), batch.native_count());
  }
}

int test_some(int count, MPI_Request* requests, int* outcount, int* indices, MPI_Status* statuses) {
  Batch batch(count, requests, statuses != MPI_STATUSES_IGNORE);
  Outcome outcome;
  some_round(batch, requests, outcount, indices, statuses, outcome);
  if (*outcount == 0) grequest::poll_orphans();
  return outcome.end();
}

}  // namespace
}  // namespace plait::mpi

#pragma GCC visibility push(default)

using plait::mpi::has_ours;
using plait::mpi::is_ours;
using plait::mpi::returning;

extern "C" int MPI_Wait(MPI_Request* request, MPI_Status* status) {
  if (!is_ours(request)) return PMPI_Wait(request, status);
  const void* const caller = __builtin_return_address(0);
  return returning([&] { return plait::mpi::wait_one(request, status, caller); });
}

extern "C" int MPI_Test(MPI_Request* request, int* flag, MPI_Status* status) {
  if (!is_ours(request)) return PMPI_Test(request, flag, status);
  return returning([&] { return plait::mpi::test_one(request, flag, status); });
}

extern "C" int MPI_Request_get_status(MPI_Request request, int* flag, MPI_Status* status) {
  if (!is_ours(&request)) return PMPI_Request_get_status(request, flag, status);
  return returning([&] { return plait::mpi::get_status_one(request, flag, status); });
}

extern "C" int MPI_Waitall(int count, MPI_Request requests[], MPI_Status statuses[]) {
  if (!has_ours(count, requests)) return PMPI_Waitall(count, requests, statuses);
  const void* const caller = __builtin_return_address(0);
  return returning([&] { return plait::mpi::wait_all(count, requests, statuses, caller); });
}

extern "C" int MPI_Testall(int count, MPI_Request requests[], int* flag, MPI_Status statuses[]) {
  if (!has_ours(count, requests)) return PMPI_Testall(count, requests, flag, statuses);
  return returning([&] { return plait::mpi::test_all(count, requests, flag, statuses); });
}

extern "C" int MPI_Waitany(int count, MPI_Request requests[], int* index, MPI_Status* status) {
  if (!has_ours(count, requests)) return PMPI_Waitany(count, requests, index, status);
  const void* const caller = __builtin_return_address(0);
  return returning([&] { return plait::mpi::wait_any(count, requests, index, status, caller); });
}

extern "C" int MPI_Testany(int count, MPI_Request requests[], int* index, int* flag, MPI_Status* status) {
  if (!has_ours(count, requests)) return PMPI_Testany(count, requests, index, flag, status);
  return returning([&] { return plait::mpi::test_any(count, requests, index, flag, status); });
}

extern "C" int MPI_Waitsome(int count, MPI_Request requests[], int* outcount, int indices[], MPI_Status statuses[]) {
  if (!has_ours(count, requests)) return PMPI_Waitsome(count, requests, outcount, indices, statuses);
  const void* const caller = __builtin_return_address(0);
  return returning([&] { return plait::mpi::wait_some(count, requests, outcount, indices, statuses, caller); });
}

extern "C" int MPI_Testsome(int count, MPI_Request requests[], int* outcount, int indices[], MPI_Status statuses[]) {
  if (!has_ours(count, requests)) return PMPI_Testsome(count, requests, outcount, indices, statuses);
  return returning([&] { return plait::mpi::test_some(count, requests, outcount, indices, statuses); });
}

extern "C" int MPI_Request_free(MPI_Request* request) {
  if (!is_ours(request)) return PMPI_Request_free(request);
  return returning([&] {
    plait::Request& r = *plait::mpi::ours(*request);
    plait::mpi::require(r.kind, MPI_ERR_REQUEST);
    *request = MPI_REQUEST_NULL;
    return plait::mpi::report(r.kind->free(r));
  });
}

extern "C" int MPI_Cancel(MPI_Request* request) {
  if (!is_ours(request)) return PMPI_Cancel(request);
  return returning([&] {
    plait::Request& r = *plait::mpi::ours(*request);
    plait::mpi::require(r.kind, MPI_ERR_REQUEST);
    return plait::mpi::report(r.kind->cancel(r));
  });
}

#pragma GCC visibility pop
