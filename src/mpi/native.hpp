// Calls that go to the MPI, and what plait does meanwhile.
#pragma once

#include <mpi.h>

#include "lane/endpoint.hpp"
#include "stream/helper.hpp"
#include "transport/packets.hpp"

namespace plait::mpi {

/// Around a call of the MPI's that may block. MPI wants all that was started to move on while any call blocks: if there is
/// something of plait's, a thread of its own moves it meanwhile.
class Blocking {
 public:
  Blocking() noexcept {
    if (lane::endpoints_exist()) [[unlikely]]
      begin();
  }
  ~Blocking() {
    if (helped_) [[unlikely]]
      stream::release_helper();
  }
  Blocking(const Blocking&) = delete;
  Blocking& operator=(const Blocking&) = delete;

 private:
  void begin() noexcept {
    transport::flush_network();
    helped_ = lane::any_neglected() && stream::engage_helper();
  }

  bool helped_ = false;
  transport::Gate gate_;
};

/// Around one that asks and comes back: programs that ask again and again wait no less than those that block.
void move_meanwhile() noexcept;
template <class Call>
int asking(Call call) noexcept {
  if (lane::endpoints_exist()) [[unlikely]]
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
