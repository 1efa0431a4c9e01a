// What programs inherit that this one starts.
#pragma once

namespace plait::mpi {

/// Takes libplait out of LD_PRELOAD: a child has an MPI of its own, or none. When the MPI starts, before there are other threads.
void leave_children_alone() noexcept;

}  // namespace plait::mpi
