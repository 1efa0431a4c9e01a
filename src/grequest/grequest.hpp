// Generalized requests that progress themselves. The program's callbacks are called outside of the MPI, by the thread that
// makes progress, so they may call MPI.
//
// All functions may be called by any thread at any time, as far as MPI allows for the request.
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstdint>
#include <span>
#include <string>

#include "lane/request.hpp"
#include "plait/mpix.h"

namespace plait::grequest {

/// What the requests of a class have in common.
struct Callbacks {
  MPI_Grequest_query_function* query;
  MPI_Grequest_free_function* free;
  MPI_Grequest_cancel_function* cancel;
  MPIX_Grequest_poll_function* poll;
  MPIX_Grequest_wait_function* wait;  ///< may be null
};

/// Where a request stands: one word that all threads agree on. It is polled by one thread at a time, completed once,
/// perhaps freed by the program before that, and ended by one thread. Each transition is one read-modify-write of the same
/// word, so of two threads that meet exactly one sees that it is the last.
enum Bits : std::uint32_t {
  kPolling = 1,  ///< a thread runs poll_fn or wait_fn; until it is back the request must not end
  kComplete = 2,
  kFreed = 4,  ///< by the program before its end: nobody waits for it
};

struct Grequest : Request {
  std::atomic<std::uint32_t> bits{0};
  int error = MPI_SUCCESS;  ///< the last error of poll_fn or wait_fn; of whoever polls, then of whoever ends it
  Callbacks call{};
  void* extra = nullptr;                         ///< the program's extra_state
  MPI_Status status{};                           ///< what poll_fn has said
  Grequest *before = nullptr, *after = nullptr;  ///< in the list of all there are
  bool counted = false;                          ///< nobody waits for it and polls it; under the list's lock
};

/// A request for `extra`; null when there is no memory. Other threads poll it only from `publish` on, before which its
/// handle is written to where the callbacks may look for it.
[[nodiscard]] Grequest* start(const Callbacks& callbacks, void* extra) noexcept;
void publish(Grequest& g) noexcept;

/// Is it one of these?
[[nodiscard]] Grequest* find(Request& r) noexcept;

/// MPI_Grequest_complete: false if that was called before.
[[nodiscard]] bool complete(Grequest& g) noexcept;

/// Polls every request there is once; those that other threads poll already are left to them.
void poll_all() noexcept;

}  // namespace plait::grequest
