// From a datatype to its layout. Any thread that may call MPI.
#pragma once

#include <mpi.h>

#include <memory>

#include "layout.hpp"

namespace plait::layout {

/// Takes `datatype` apart, constructor by constructor. Throws MPIError.
[[nodiscard]] std::unique_ptr<Layout> flatten(MPI_Datatype datatype);

}  // namespace plait::layout
