// Calls that plait passes on to the MPI, and what it does around them. calls.txt says which call is of which kind.
#pragma once

#include <mpi.h>

#include "base/mpi_lock.hpp"
#include "progress/helper.hpp"
#include "transport/network.hpp"

namespace plait::mpi {

using progress::Blocking;

/// Runs a call that asks and returns at once, as MPI_Iprobe does. Programs repeat it until it says yes, so sources move on here too.
template <class Call>
int asking(Call call) noexcept {
  if (progress::sources_exist()) [[unlikely]] {
    transport::flush_network();
    static_cast<void>(progress::drive_sometimes());
  }
  const MpiLock lock;
  return call();
}

/// Runs a call that neither blocks nor asks.
template <class Call>
int gated(Call call) noexcept {
  const MpiLock lock;
  return call();
}

/// After a call of plait's that found nothing complete: all other sources and the MPI have to move on, too.
inline void move_rest() noexcept {
  if (progress::drive_sometimes()) progress::poll_mpi();
}

/// Runs a call that may wait for other processes. What plait has started moves on meanwhile.
template <class Call>
int blocking(Call call) noexcept {
  const Blocking guard;
  return call();
}

}  // namespace plait::mpi
