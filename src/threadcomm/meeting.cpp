// Blocking collective calls of little data within one process: all ranks bring theirs to a meeting of the team.
#include <array>
#include <cstddef>
#include <cstring>

#include "threadcomm/algorithms.hpp"
#include "threadcomm/combine.hpp"
#include "threadcomm/team.hpp"

namespace plait::threadcomm {

bool barrier_by_team(Rank& rank, stream::Call call) {
  Team* const team = rank.process->team.get();
  if (team) team->meet(rank, {}, call);
  return team != nullptr;
}

bool allreduce_by_team(Rank& rank, const Reduction& r, stream::Call call) {
  Team* const team = rank.process->team.get();
  const int size = stream::plain_size(r.type);
  const auto bytes = static_cast<std::size_t>(r.count) * static_cast<std::size_t>(size);
  if (!team || size < 0 || bytes > Team::kBytes || bytes == 0) return false;
  team->meet(rank, bytes_at(const_cast<void*>(r.from), bytes), call);  // only read
  // Each for itself, in the order of the tree.
  const auto ranks = static_cast<std::size_t>(rank.size);
  alignas(16) std::array<std::byte, Team::kRanks * Team::kBytes> all;
  std::array<std::byte*, Team::kRanks> at{};
  for (std::size_t i = 0; i < ranks; ++i) {
    at[i] = &all[i * Team::kBytes];
    std::memcpy(at[i], team->brought(rank, i), bytes);
  }
  for (std::size_t distance = 1; distance < ranks; distance *= 2) {
    for (std::size_t i = 0; i + distance < ranks; i += 2 * distance) {
      combine(at[i], at[i + distance], r.count, r.type, r.op);
      at[i] = at[i + distance];
    }
  }
  std::memcpy(r.to, at[0], bytes);
  return true;
}

bool allgather_by_team(Rank& rank, const lane::Memory& mine, const Blocks& all, bool in_place, stream::Call call) {
  Team* const team = rank.process->team.get();
  if (!team || !all.regular()) return false;
  const lane::Memory own = in_place ? all.block(rank.rank) : mine;
  if (own.bytes > Team::kBytes) return false;
  team->meet(rank, own, call);
  for (int i = 0; i < rank.size; ++i) {
    if (!in_place || i != rank.rank)
      copy(bytes_at(const_cast<std::byte*>(team->brought(rank, static_cast<std::size_t>(i))), own.bytes), all.block(i));
  }
  return true;
}

}  // namespace plait::threadcomm
