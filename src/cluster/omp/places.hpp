// On which cores the threads of a shared team run, where OMP_PLACES and OMP_PROC_BIND say so.
#pragma once

namespace plait::cluster::omp {

/// Binds the thread that calls, of so many in its process, as libgomp binds those of its own teams.
void take_place(int local, int threads) noexcept;

}  // namespace plait::cluster::omp
