// The algorithms of collective calls. What they are given stays as long as the call.
//
// Which rank combines what with what in a reduction depends on the number of ranks alone, neither on timing nor on how
// ranks are spread over processes: the same bits in every run, N x 1, 1 x N or mixed.
#pragma once

#include "collective/collective.hpp"
#include "collective/combine.hpp"

namespace plait::collective {

// ---- data that moves (movement.cpp). `in_place`: on this rank, where its block is already where it belongs.

[[nodiscard]] Steps barrier(Collective& c);
[[nodiscard]] Steps broadcast(Collective& c, lane::Memory data, int root);
[[nodiscard]] Steps gather(Collective& c, lane::Memory mine, Blocks all, int root, bool in_place);
[[nodiscard]] Steps scatter(Collective& c, Blocks all, lane::Memory mine, int root, bool in_place);
[[nodiscard]] Steps allgather(Collective& c, lane::Memory mine, Blocks all, bool in_place);
/// `in_place`: what is sent is what lies in `to`.
[[nodiscard]] Steps alltoall(Collective& c, Blocks from, Blocks to, bool in_place);

// ---- data that is combined (reduction.cpp)

struct Reduction {
  const void* from;  ///< on a rank whose data is in place: the same as `to`
  void* to;
  MPI_Count count;
  p2p::Type type;
  Combination combine;
  /// Is there something to combine, of a predefined datatype without gaps?
  [[nodiscard]] bool fits_team() const noexcept { return type.size > 0 && count > 0; }
};
[[nodiscard]] Steps reduce(Collective& c, Reduction r, int root);
[[nodiscard]] Steps allreduce(Collective& c, Reduction r);
/// Counts of elements by rank; `r.count` is their sum.
[[nodiscard]] Steps reduce_scatter(Collective& c, Reduction r, Blocks counts);
[[nodiscard]] Steps scan(Collective& c, Reduction r, bool exclusive);

// ---- blocking calls by meetings of the team (meeting.cpp). False where the communicator has no team, or where the call's data
// is not fit for it; all ranks get the same answer. Then the algorithms above do the call.

[[nodiscard]] bool barrier_by_team(Rank& rank, p2p::Call call);
[[nodiscard]] bool allreduce_by_team(Rank& rank, const Reduction& r, p2p::Call call);
[[nodiscard]] bool reduce_by_team(Rank& rank, const Reduction& r, int root, p2p::Call call);
[[nodiscard]] bool broadcast_by_team(Rank& rank, const lane::Memory& data, int root, p2p::Call call);
[[nodiscard]] bool alltoall_by_team(Rank& rank, const Blocks& from, const Blocks& to, bool in_place, p2p::Call call);
[[nodiscard]] bool allgather_by_team(Rank& rank, const lane::Memory& mine, const Blocks& all, bool in_place, p2p::Call call);

// ---- what these are made of, for a team that is a part of its communicator. All of its ranks take part.

/// What fits a team. The result is written to `r.to` of those that want it.
void combine_in(Team& team, const Reduction& r, bool wants_result, p2p::Call call);
void broadcast_in(Team& team, const lane::Memory& data, std::size_t root, p2p::Call call);
/// The two sides of one; the receivers learn how many bytes there were. Of an error they throw MPIError.
void hand_out(Team& team, const lane::Memory& data, p2p::Call call);
void hand_out_error(Team& team, int error_class, p2p::Call call);
std::uint64_t receive_from(Team& team, std::size_t giver, const lane::Memory& data, p2p::Call call);

}  // namespace plait::collective
