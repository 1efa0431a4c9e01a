// The exported calls of MPI-4.1 that look at many requests and end none.
#include "mpi/batch.hpp"
#include "mpi/completion.hpp"
#include "mpi/native.hpp"
#include "mpi/outcome.hpp"
#include "mpi/quirks.hpp"

#if MPI_VERSION > 4 || (MPI_VERSION == 4 && MPI_SUBVERSION >= 1)

namespace plait::mpi {
namespace {

void peek_into(Request& r, MPI_Status* statuses, int i, Outcome& outcome) {
  MPI_Status* const status = statuses == MPI_STATUSES_IGNORE ? nullptr : &statuses[i];
  const int error = r.kind->peek(r, status);
  if (status) status->MPI_ERROR = error;
  if (error != MPI_SUCCESS) outcome.take(r.kind->communicator(r));
}

int get_all(int count, LookedAt* requests, int* flag, MPI_Status* statuses) {
  Batch batch(count, requests, statuses != MPI_STATUSES_IGNORE, Batch::Wants::kAll);
  Outcome outcome;
  *flag = 1;
  Round round;
  for (const Ours& o : batch.left) *flag &= advance(*o.request, round) ? 1 : 0;
  if (!batch.their.empty()) {
    int theirs = 0;
    outcome.native =
        gated([&] { return PMPI_Request_get_status_all(batch.native_count(), batch.their.data(), &theirs, batch.native_statuses()); });
    *flag &= theirs;
  }
  if (!*flag) return outcome.native;
  for (int i = 0; i < count && batch.any_inactive && statuses != MPI_STATUSES_IGNORE; ++i) {
    if (const Request* const r = ours(requests[i]); r && !r->active) end_empty(&statuses[i]);
  }
  for (const auto& [request, index] : batch.left) peek_into(*request, statuses, index, outcome);
  for (int i = 0; i < batch.native_count() && statuses != MPI_STATUSES_IGNORE; ++i) {
    statuses[batch.place(i)] = batch.native_statuses()[i];
  }
  return outcome.end("MPI_Request_get_status_all");
}

int get_any(int count, LookedAt* requests, int* index, int* flag, MPI_Status* status) {
  Batch batch(count, requests, false, Batch::Wants::kAny);
  *index = MPI_UNDEFINED;
  *flag = 0;
  Round round;
  for (const auto& [request, i] : batch.left) {
    if (!advance(*request, round)) continue;
    *index = i;
    *flag = 1;
    const int error = request->kind->peek(*request, status == MPI_STATUS_IGNORE ? nullptr : status);
    return report_on(request->kind->communicator(*request), error, "MPI_Request_get_status_any");
  }
  if (batch.their.empty()) {
    if (!batch.left.empty()) return MPI_SUCCESS;
    *flag = 1;  // none is active
    end_empty(status);
    return MPI_SUCCESS;
  }
  MPI_Status found;
  int which = MPI_UNDEFINED;
  int theirs = 0;
  const int error = gated([&] { return PMPI_Request_get_status_any(batch.native_count(), batch.their.data(), &which, &theirs, &found); });
  // "All are inactive" is not so where some of plait's are pending.
  if (error != MPI_SUCCESS || !theirs || (which == MPI_UNDEFINED && !batch.left.empty())) return error;
  *flag = 1;
  if (which == MPI_UNDEFINED) {
    end_empty(status);
    return error;
  }
  *index = batch.place(which);
  if (status != MPI_STATUS_IGNORE) {
    found.MPI_ERROR = status->MPI_ERROR;
    *status = found;
  }
  return MPI_SUCCESS;
}

int get_some(int count, LookedAt* requests, int* outcount, int* indices, MPI_Status* statuses) {
  Batch batch(count, requests, statuses != MPI_STATUSES_IGNORE, Batch::Wants::kAny);
  *outcount = 0;
  Outcome outcome;
  Round round;
  for (const auto& [request, index] : batch.left) {
    if (!advance(*request, round)) continue;
    peek_into(*request, statuses, *outcount, outcome);
    indices[(*outcount)++] = index;
  }
  if (batch.their.empty()) {
    if (batch.left.empty()) *outcount = MPI_UNDEFINED;  // none is active
    return outcome.end("MPI_Request_get_status_some");
  }
  int n = 0;
  outcome.native = gated([&] {
    return PMPI_Request_get_status_some(batch.native_count(), batch.their.data(), &n, batch.native_indices(), batch.native_statuses());
  });
  if (n == MPI_UNDEFINED && batch.left.empty()) *outcount = MPI_UNDEFINED;
  for (int i = 0; n != MPI_UNDEFINED && i < n; ++i) {
    if (statuses != MPI_STATUSES_IGNORE) statuses[*outcount] = batch.native_statuses()[i];
    indices[(*outcount)++] = batch.place(batch.native_indices()[i]);
  }
  return outcome.end("MPI_Request_get_status_some");
}

}  // namespace
}  // namespace plait::mpi

#pragma GCC visibility push(default)

using plait::mpi::asking;
using plait::mpi::has_ours;
using plait::mpi::LookedAt;
using plait::mpi::returning;

extern "C" int MPI_Request_get_status_all(int count, LookedAt requests[], int* flag, MPI_Status statuses[]) {
  if (!has_ours(count, requests)) return asking([&] { return PMPI_Request_get_status_all(count, requests, flag, statuses); });
  return returning([&] { return plait::mpi::get_all(count, requests, flag, statuses); });
}

extern "C" int MPI_Request_get_status_any(int count, LookedAt requests[], int* index, int* flag, MPI_Status* status) {
  if (!has_ours(count, requests)) return asking([&] { return PMPI_Request_get_status_any(count, requests, index, flag, status); });
  return returning([&] { return plait::mpi::get_any(count, requests, index, flag, status); });
}

extern "C" int MPI_Request_get_status_some(int count, LookedAt requests[], int* outcount, int indices[], MPI_Status statuses[]) {
  if (!has_ours(count, requests)) return asking([&] { return PMPI_Request_get_status_some(count, requests, outcount, indices, statuses); });
  return returning([&] { return plait::mpi::get_some(count, requests, outcount, indices, statuses); });
}

#pragma GCC visibility pop

#endif
