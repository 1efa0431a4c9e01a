// Calls that go to the MPI, and what plait does meanwhile.
#pragma once

#include <mpi.h>

#include "lane/endpoint.hpp"
#include "stream/helper.hpp"
#include "transport/packets.hpp"

namespace plait::mpi {

using stream::Blocking;

/// Around one that asks and comes back: programs that ask again and again wait no less than those that block.
void move_meanwhile() noexcept;
template <class Call>
int asking(Call call) noexcept {
  if (lane::work_exists()) [[unlikely]]
    move_meanwhile();
  const transport::Gate gate;
  return call();
}

/// Around one that neither blocks nor asks.
template <class Call>
int gated(Call call) noexcept {
  const transport::Gate gate;
  return call();
}

/// After a call of plait's that asked in vain: the rest has to move, too, the MPI included.
void move_rest() noexcept;

template <class Call>
int blocking(Call call) noexcept {
  const Blocking guard;
  return call();
}

}  // namespace plait::mpi
