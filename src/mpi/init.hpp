// The MPI's begin and end on behalf of gaspi_proc_init and gaspi_proc_term.
#pragma once

namespace plait::mpi {

/// Starts the MPI where nobody has; false where that fails, or it has ended.
[[nodiscard]] bool start_for_gaspi() noexcept;
/// Ends it if it was started so and the program has not called MPI_Init since.
[[nodiscard]] bool end_for_gaspi() noexcept;

}  // namespace plait::mpi
