#include "mpi/native.hpp"

#include "grequest/grequest.hpp"

namespace plait::mpi {
namespace {

/// A visit costs more than most of these calls.
constexpr unsigned kEvery = 8;
thread_local unsigned calls = 0;

}  // namespace

void move_meanwhile() noexcept {
  transport::flush_network();
  if (++calls % kEvery == 0) static_cast<void>(lane::visit_neglected());
}

void move_rest() noexcept {
  grequest::poll_orphans();
  if (++calls % kEvery != 0) return;
  if (lane::work_exists()) static_cast<void>(lane::visit_neglected());
  transport::poll_mpi();
}

}  // namespace plait::mpi
