// Which completion calls are plait's to serve.
#pragma once

#include <mpi.h>

#include <algorithm>

#include "lend/lend.hpp"
#include "mpi/error.hpp"
#include "mpi/handle.hpp"
#include "p2p/envelope.hpp"

namespace plait::mpi {

inline bool is_ours(const MPI_Request* request) noexcept { return any_requests() && request && RequestBits::ours(*request); }

inline bool has_ours(int count, const MPI_Request* requests) noexcept {
  return any_requests() && requests && count > 0 && std::any_of(requests, requests + count, RequestBits::ours);
}

/// The same; or cores are lent while one waits, so that plait waits for the MPI's own, too.
inline bool is_waited_for(int count, const MPI_Request* requests) noexcept {
  if (!any_requests() || !requests || count <= 0) return false;
  if (lend::polls()) [[unlikely]]
    return true;
  return std::any_of(requests, requests + count, RequestBits::ours);
}

/// The round's work on one of plait's: is it done now?
inline bool advance(Request& r, Round& round) noexcept { return r.kind->done(r) || (r.kind->progress(r, round) && r.kind->done(r)); }
inline bool advance(Request& r) noexcept {
  Round round;
  return advance(r, round);
}

/// Before a wait or test: starts an inactive request of a kind that such calls start (finepoints' receives).
inline void arm(Request& r) noexcept {
  if (r.kind && r.kind->arm && !r.active) r.kind->arm(r);
}

// Calls that are exported by two names, MPI's and finepoints'. `call`: the one that the program has used.

int start(MPI_Request* request, const char* call) noexcept;
int wait(MPI_Request* request, MPI_Status* status, p2p::Call call) noexcept;
int free_request(MPI_Request* request, const char* call) noexcept;

}  // namespace plait::mpi
