// What a send or receive needs to know of its buffer.
#pragma once

#include <mpi.h>

#include "lane/operation.hpp"

namespace plait::stream {

/// Bytes of a predefined datatype without gaps, -1 for others (and for predefined ones not seen before). Any thread.
[[nodiscard]] int plain_size(MPI_Datatype type) noexcept;

/// `count` elements at `buffer`. Throws MPIError for a bad count or datatype.
[[nodiscard]] lane::Memory memory_of(const void* buffer, MPI_Count count, MPI_Datatype type);

}  // namespace plait::stream
