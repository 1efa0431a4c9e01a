// What the written functions (calls.py, from calls.txt) are made of: those that pass a call on, and keep plait's handles from
// calls that do not know them.
#pragma once

#include <mpi.h>
#if __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif

#include <optional>

#include "collective/call.hpp"
#include "mpi/collective.hpp"
#include "mpi/communicator.hpp"
#include "mpi/completion.hpp"
#include "mpi/handle.hpp"
#include "mpi/lend.hpp"
#include "mpi/native.hpp"
#include "mpi/threads.hpp"

namespace plait::mpi {

using collective::Rank;
using p2p::Communicator;
using p2p::find_communicator;
using plait::MpiLock;

// ---- errors

// Not overloads: in some MPIs all handles are numbers of one type.
inline int report_on_window(MPI_Win win, int code, const char* call = __builtin_FUNCTION()) noexcept {
  const MpiLock lock;
  name_if_fatal_on_window(win, code, call);
  PMPI_Win_call_errhandler(win, code);
  return code;
}
inline int report_on_file(MPI_File file, int code, const char* call = __builtin_FUNCTION()) noexcept {
  const MpiLock lock;
  name_if_fatal_on_file(file, code, call);
  PMPI_File_call_errhandler(file, code);
  return code;
}
#if MPI_VERSION >= 4
inline int report_on_session(MPI_Session session, int code, const char* call = __builtin_FUNCTION()) noexcept {
  const MpiLock lock;
  name_if_fatal_on_session(session, code, call);
  PMPI_Session_call_errhandler(session, code);
  return code;
}
#endif

// ---- plait's handles

inline bool is_our_message(MPI_Message h) noexcept { return any_requests() && HandleBits<MPI_Message>::ours(h); }

/// What MPI_Request_c2f and its kin give.
template <class Handle>
int number_of(Handle h) noexcept {
  return HandleBits<Handle>::number(h);
}

/// MPIX_Request_is_complete. It moves no message. Like a test, it starts an inactive finepoints receive: a program that only asks would
/// never see that one complete.
inline int is_complete(MPI_Request h) noexcept {
  Request& r = *ours(h);
  const auto ask = [&] {
    arm(r);
    return r.kind && (!r.active || r.kind->done(r)) ? 1 : 0;
  };
  return told(ask, [](int) { return 0; });
}

// ---- asking

/// MPICH's MPI_Win_test looks first and then lets something come, so that a program that asks once, after a barrier, needs what the MPI's
/// own barrier has let come; plait's has not.
template <class Call>
int asking_polled(Call call) noexcept {
  if (p2p::communicators_exist()) {
    const MpiLock lock;
    progress::poll_mpi();
  }
  return asking(call);
}

// ---- windows

/// The helper looks for accesses from outside while there are windows.
inline int counting_windows(int more, int error) noexcept {
  if (error == MPI_SUCCESS) progress::count_windows(more);
  return error;
}

// ---- collective calls that are plait's; `make` makes the rank's side of one. Not inline: calls on other communicators want a small
// frame.

[[gnu::noinline]] inline Communicator* with_collectives_of(MPI_Comm comm) noexcept {
  Communicator* const c = find_communicator(comm);
  return c && (c->collectives || threadcomm::is_threadcomm(*c)) ? c : nullptr;
}

/// Null where collective calls are the MPI's.
[[gnu::always_inline]] inline Communicator* with_collectives(MPI_Comm comm) noexcept {
  return p2p::communicators_exist() ? with_collectives_of(comm) : nullptr;
}

[[gnu::noinline]] inline Communicator* with_leaders_of(MPI_Comm comm) noexcept {
  Communicator* const c = find_communicator(comm);
  return c && (c->collectives || c->by_leaders || threadcomm::is_threadcomm(*c)) ? c : nullptr;
}

/// The same for calls that leaders of nodes may make.
[[gnu::always_inline]] inline Communicator* with_leaders(MPI_Comm comm) noexcept {
  return p2p::communicators_exist() ? with_leaders_of(comm) : nullptr;
}

/// The caller's. Throws MPIError{MPI_ERR_COMM} where it is a thread that has none.
inline Rank& rank_in(Communicator& c) { return threadcomm::is_threadcomm(c) ? threadcomm::rank_of(c) : static_cast<Rank&>(c); }

template <class Make>
[[gnu::noinline]] int run_collective(MPI_Comm comm, Communicator& c, p2p::Call call, Make make) noexcept {
  const auto body = [&] {
    Rank& rank = rank_in(c);
    return collective::run(rank, call, make(rank));
  };
  return on_returning(comm, body, call.name);
}

/// On one that has leaders. `native`: the MPI's own call, where it has to be that.
template <class Make, class Native>
[[gnu::noinline]] int run_by_leaders(MPI_Comm comm, Communicator& c, p2p::Call call, Make make, Native native) noexcept {
  std::optional<int> done;
  const auto body = [&] {
    auto& rank = static_cast<Rank&>(c);
    done = make(rank).by_leaders(rank, call);
    return done.value_or(MPI_SUCCESS);
  };
  const int error = on_returning(comm, body, call.name);
  return done || error != MPI_SUCCESS ? error : blocking(native);
}

template <class Make>
[[gnu::noinline]] int start_collective(MPI_Comm comm, Communicator& c, MPI_Request* request, Make make,
                                       const char* call = __builtin_FUNCTION()) noexcept {
  const auto body = [&] {
    Rank& rank = rank_in(c);
    *request = handle_of(collective::start(rank, make(rank)));
  };
  return on(comm, body, call);
}

}  // namespace plait::mpi
