// Atomic operations on memory that is shared, as the compiler calls them with -fno-inline-atomics: on memory of this process alone they
// are the processor's; those on memory of the whole job are the engine's (src/cluster/atomics.hpp).
#pragma once

#include <atomic>

namespace plait::cluster {

/// Set by the run time while no parallel region is active: only one thread of the job runs the program, and no lock is needed. At first
/// false, which is always right.
inline std::atomic<bool> alone{false};

}  // namespace plait::cluster
