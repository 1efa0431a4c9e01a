// The plate by MPI: each process has rows that lie together, and gets its neighbours' rows beside them before each step.
#pragma once

#include <mpi.h>

#include "plate.hpp"

namespace plait::heat {

/// `threads`: the rows of a process are shared out among its threads by the deck's schedule, and the first one calls the MPI. Else there is
/// no OpenMP in it. Collective over comm, which has at most deck.size - 2 processes; the outcome is process 0's, the others have its times.
[[nodiscard]] Outcome run_by_mpi(const Deck& deck, bool threads, MPI_Comm comm);

}  // namespace plait::heat
