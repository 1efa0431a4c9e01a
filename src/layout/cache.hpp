// One layout per datatype, made at first use and kept with the datatype. Any thread that may call MPI.
#pragma once

#include <mpi.h>

#include <memory>

#include "layout.hpp"

namespace plait::layout {

/// The layout of a committed datatype. Whoever holds it may go on using it after MPI_Type_free, as a pending
/// operation does; else it goes with the datatype. Throws MPIError where the datatype is null or not committed.
[[nodiscard]] std::shared_ptr<const Layout> layout_of(MPI_Datatype datatype);

}  // namespace plait::layout
