// What MPI_Status says of messages.
#pragma once

#include <mpi.h>

#include <cstdint>

#include "lane/match_context.hpp"

namespace plait::p2p {

[[nodiscard]] inline bool wants(const MPI_Status* status) noexcept { return status && status != MPI_STATUS_IGNORE; }

/// All but the error.
void set_status(MPI_Status* status, int source, int tag, std::uint64_t bytes, bool cancelled) noexcept;

/// What MPI calls an empty status, but for its error.
void set_empty(MPI_Status* status) noexcept;

/// The rank behind a source.
[[nodiscard]] inline int rank_of(const lane::MatchContext& context, std::uint32_t source) noexcept {
  return static_cast<int>(context.rank_of ? (*context.rank_of)[source] : source);
}

}  // namespace plait::p2p
