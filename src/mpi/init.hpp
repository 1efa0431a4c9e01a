// The MPI's begin and end: on behalf of gaspi_proc_init and gaspi_proc_term, and what the program is told of it.
#pragma once

namespace plait::mpi {

/// MPI_Query_thread.
int query_level(int* provided) noexcept;

/// Starts the MPI where nobody has; false where that fails, or it has ended.
[[nodiscard]] bool start_for_gaspi() noexcept;
/// MPI_Finalize has come before gaspi_proc_term: true for the first that asks.
[[nodiscard]] bool gaspi_has_ended() noexcept;
/// Ends it if it was started so and the program has not called MPI_Init since.
[[nodiscard]] bool end_for_gaspi() noexcept;

}  // namespace plait::mpi
