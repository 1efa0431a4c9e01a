// Calls that go to the MPI, and what plait does meanwhile.
#pragma once

#include <mpi.h>

#include "base/mpi_lock.hpp"
#include "progress/helper.hpp"
#include "transport/network.hpp"

namespace plait::mpi {

using progress::Blocking;

/// Around one that asks and comes back.
template <class Call>
int asking(Call call) noexcept {
  if (progress::sources_exist()) [[unlikely]] {
    transport::flush_network();
    static_cast<void>(progress::drive_sometimes());
  }
  const MpiLock lock;
  return call();
}

/// Around one that neither blocks nor asks.
template <class Call>
int gated(Call call) noexcept {
  const MpiLock lock;
  return call();
}

/// After a call of plait's that asked in vain: the rest has to move, too, the MPI included.
inline void move_rest() noexcept {
  if (progress::drive_sometimes()) progress::poll_mpi();
}

template <class Call>
int blocking(Call call) noexcept {
  const Blocking guard;
  return call();
}

}  // namespace plait::mpi
