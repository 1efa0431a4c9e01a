// MPI's own operations on C's numbers, as loops for the processor that runs them. Any thread.
#pragma once

#include <mpi.h>

#include <cstdint>

#include "base/instructions.hpp"

namespace plait::collective {

/// result = lower op upper, element by element; the result may be where one of the two is.
using Loop = void (*)(const void* lower, const void* upper, void* result, std::int64_t count);

/// Null where the MPI has to do it, or to say that it cannot.
[[nodiscard]] Loop find_loop(MPI_Datatype type, MPI_Op op, Instructions instructions = best_instructions());

}  // namespace plait::collective
