// Blocking collective calls of ranks that share memory, by meetings of the team. Little data lies in the slots: one meeting is
// all. More goes piece by piece: each rank stages the next chunk of its data for ranks of other processes while they read the
// last one; those of its own process read where the data is. The first meeting says how much there is, and where. Reductions: each rank
// combines a share, or, where there are two processes, all that is its own to have.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <span>

#include "base/error.hpp"
#include "collective/algorithms.hpp"
#include "collective/combine.hpp"
#include "collective/team.hpp"

namespace plait::collective {

namespace {

std::uint64_t chunks_of(std::uint64_t bytes, std::size_t chunk) { return (bytes + chunk - 1) / chunk; }

/// Of a chunk: what there is from its beginning.
std::uint64_t piece(std::uint64_t bytes, std::uint64_t at, std::size_t chunk) {
  return at < bytes ? std::min<std::uint64_t>(bytes - at, chunk) : 0;
}

/// Opens a meeting where this rank says where its data are; false where there is no memory to stage it.
bool open_bulk(Team& team, const void* mine, p2p::Call call) {
  ArrivalFlags::Slot& slot = team.open(call);
  const Team::Bulk bulk = team.begin_bulk(mine);
  std::memcpy(slot.data, &bulk, sizeof bulk);
  return bulk.offset != 0;
}
Team::Bulk bulk_in(const ArrivalFlags::Slot& slot) noexcept {
  Team::Bulk bulk{};
  std::memcpy(&bulk, slot.data, sizeof bulk);
  return bulk;
}

/// Bytes of packed data that lie at `from`, into a buffer as far as it has room.
void put(const std::byte* from, const lane::Memory& to, std::uint64_t at, std::uint64_t bytes) noexcept {
  if (const std::uint64_t n = piece(to.bytes, at, bytes); n > 0) lane::unpack(from, to, at, n);
}

// ---- combining

/// Elements are combined so many bytes at a time.
constexpr std::size_t kPiece = 4096;

/// The elements at `from`, by rank, combined in the order of the tree. Some bytes at a time, which stay in the core's cache.
void combine_at(std::span<const std::byte*> from, std::byte* to, std::size_t bytes, std::size_t size, const Reduction& r) {
  alignas(64) std::array<std::byte, Team::kRanks / 2 * kPiece> rooms;
  std::array<void*, Team::kRanks / 2> at{};
  const std::size_t pairs = (from.size() + 1) / 2;
  const std::size_t most = kPiece / size * size;
  for (std::size_t begin = 0; begin < bytes; begin += most) {
    const std::size_t n = std::min(most, bytes - begin);
    const auto count = static_cast<MPI_Count>(n / size);
    // Pairs of ranks, without a copy of the lower one's; then pairs of pairs. The last one's room is where the result will be.
    for (std::size_t i = 0; i < pairs; ++i) {
      const bool alone = 2 * i + 1 == from.size();
      at[i] = i + 1 == pairs ? to + begin : &rooms[i * kPiece];
      if (alone) {
        std::memcpy(at[i], from[2 * i] + begin, n);
      } else {
        r.combine(from[2 * i] + begin, from[2 * i + 1] + begin, at[i], count);
      }
    }
    static_cast<void>(combine_tree({at.data(), pairs}, count, r.combine));
  }
}

/// A reduction of more than a slot holds: each rank combines a share of every chunk's elements.
class LargeReduction {
 public:
  LargeReduction(Team& team, const Reduction& r, std::size_t size, p2p::Call call)
      : team_(team), n_(team.size()), me_(team.me()), r_(r), size_(size), call_(call), chunk_(team.chunk() / size * size) {
    bytes_ = static_cast<std::uint64_t>(r.count) * size;
    near_[me_] = static_cast<const std::byte*>(r.from);
  }

  void run(bool wants_result) {
    if (open_bulk(team_, r_.from, call_)) stage(0);
    team_.arrive(bytes_);
    team_.wait_for_all(call_);
    for (std::size_t i = 0; i < n_; ++i) {
      const ArrivalFlags::Slot& theirs = team_.of(i, call_);
      require(theirs.bytes == bytes_, MPI_ERR_TRUNCATE);
      team_.know_bulk(i, bulk_in(theirs));
      if (team_.is_near(i)) near_[i] = static_cast<const std::byte*>(bulk_in(theirs).mine);
    }
    const std::uint64_t chunks = chunks_of(bytes_, chunk_);
    for (std::uint64_t k = 0; k < chunks; ++k) {
      combine_share(k);
      static_cast<void>(team_.open(call_));
      stage(k + 1);
      team_.arrive();
      team_.wait_for_all(call_);
      if (wants_result) take(k);
    }
    team_.end_bulk(chunks);
  }

 private:
  struct Share {
    std::size_t begin, bytes;
  };
  /// That rank's, of so many bytes.
  [[nodiscard]] Share share(std::size_t rank, std::size_t bytes) const {
    const std::size_t count = bytes / size_;  // NOLINT(clang-analyzer-core.DivideZero): an element has bytes, a team has ranks
    // NOLINTNEXTLINE(clang-analyzer-core.DivideZero)
    const auto first = [&](std::size_t r) { return (count / n_ * r + std::min(r, count % n_)) * size_; };
    return {first(rank), first(rank + 1) - first(rank)};
  }
  [[nodiscard]] std::size_t length(std::uint64_t k) const { return piece(bytes_, k * chunk_, chunk_); }

  /// What ranks of other processes will combine.
  void stage(std::uint64_t k) {
    const std::size_t bytes = length(k);
    if (bytes == 0 || team_.in_one_process()) return;
    std::byte* const room = team_.stage(k, call_);
    for (std::size_t i = 0; i < n_; ++i) {
      if (team_.is_near(i)) continue;
      const Share s = share(i, bytes);
      std::memcpy(room + s.begin, near_[me_] + k * chunk_ + s.begin, s.bytes);
    }
  }
  void combine_share(std::uint64_t k) {
    const Share s = share(me_, length(k));
    std::array<const std::byte*, Team::kRanks> from{};
    for (std::size_t i = 0; i < n_; ++i) {
      from[i] = team_.is_near(i) ? near_[i] + k * chunk_ + s.begin : team_.staged(i, k) + s.begin;
    }
    combine_at({from.data(), n_}, team_.result(me_, k), s.bytes, size_, r_);
  }
  void take(std::uint64_t k) {
    for (std::size_t i = 0; i < n_; ++i) {
      const std::size_t rank = (me_ + i) % n_;
      const Share s = share(rank, length(k));
      std::memcpy(static_cast<std::byte*>(r_.to) + k * chunk_ + s.begin, team_.result(rank, k), s.bytes);
    }
  }

  Team& team_;
  std::size_t n_, me_;
  const Reduction& r_;
  std::size_t size_;
  p2p::Call call_;
  std::size_t chunk_;  ///< whole elements
  std::uint64_t bytes_ = 0;
  std::array<const std::byte*, Team::kRanks> near_{};  ///< the data of ranks of this process
};

/// The same of two ranks, each in a process of its own: each stages all of its data, and combines the other's with its own where the result
/// is to be. That is one meeting for a chunk, and no copy of the result.
void combine_two(Team& team, const Reduction& r, std::size_t size, bool wants_result, p2p::Call call) {
  const std::uint64_t bytes = static_cast<std::uint64_t>(r.count) * size;
  const std::size_t chunk = team.chunk() / size * size;
  const std::uint64_t chunks = chunks_of(bytes, chunk);
  const std::size_t me = team.me(), other = 1 - me;
  const auto* const mine = static_cast<const std::byte*>(r.from);
  const auto stage = [&](std::uint64_t k) {
    if (k < chunks) std::memcpy(team.stage(k, call), mine + k * chunk, piece(bytes, k * chunk, chunk));
  };
  if (open_bulk(team, mine, call)) stage(0);
  team.arrive(bytes);
  const ArrivalFlags::Slot& theirs = team.of(other, call);
  require(theirs.bytes == bytes, MPI_ERR_TRUNCATE);
  team.know_bulk(me, bulk_in(team.of(me, call)));
  team.know_bulk(other, bulk_in(theirs));
  for (std::uint64_t k = 0;; ++k) {
    if (wants_result) {
      std::array<const std::byte*, 2> from{};
      from[me] = mine + k * chunk;
      from[other] = team.staged(other, k);
      combine_at(from, static_cast<std::byte*>(r.to) + k * chunk, piece(bytes, k * chunk, chunk), size, r);
    }
    if (k + 1 == chunks) break;
    static_cast<void>(team.open(call));
    stage(k + 1);
    team.arrive();
    team.wait_for_all(call);
  }
  team.end_bulk(chunks);
}

void combine_brought(Team& team, const Reduction& r, std::size_t bytes, std::size_t size, p2p::Call call) {
  std::array<const std::byte*, Team::kRanks> from{};
  for (std::size_t i = 0; i < team.size(); ++i) {
    const ArrivalFlags::Slot& slot = team.of(i, call);
    require(slot.bytes == bytes, MPI_ERR_TRUNCATE);
    from[i] = slot.data;
  }
  combine_at({from.data(), team.size()}, static_cast<std::byte*>(r.to), bytes, size, r);
}

}  // namespace

bool barrier_by_team(Rank& rank, p2p::Call call) {
  Team* const team = rank.team.get();
  if (team) team->barrier(call);
  return team != nullptr;
}

void combine_in(Team& team, const Reduction& r, bool wants_result, p2p::Call call) {
  const auto size = static_cast<std::size_t>(r.type.size);
  const std::size_t bytes = static_cast<std::size_t>(r.count) * size;
  if (bytes > ArrivalFlags::kBytes) {
    if (team.size() == 2 && !team.in_one_process() && r.combine.has_loop()) {
      combine_two(team, r, size, wants_result, call);
    } else {
      LargeReduction(team, r, size, call).run(wants_result);
    }
    return;
  }
  std::memcpy(team.open(call).data, r.from, bytes);
  team.arrive(bytes);
  if (wants_result) combine_brought(team, r, bytes, size, call);  // each for itself
}

namespace {

bool combine_by_team(Rank& rank, const Reduction& r, bool wants_result, p2p::Call call) {
  if (!rank.team || !r.fits_team()) return false;
  combine_in(*rank.team, r, wants_result, call);
  return true;
}

}  // namespace

bool allreduce_by_team(Rank& rank, const Reduction& r, p2p::Call call) { return combine_by_team(rank, r, true, call); }

bool reduce_by_team(Rank& rank, const Reduction& r, int root, p2p::Call call) { return combine_by_team(rank, r, rank.rank == root, call); }

// ---- moving

namespace {

/// Instead of bytes: an error, whose class lies in the slot.
constexpr std::uint64_t kFailed = ~std::uint64_t{0};

/// From here on ranks of the same process read where the data is: one copy less, but they have to be waited for.
constexpr std::uint64_t kDirect = 32768;

/// The chunks of a call on so many bytes, of which a chunk holds `part`.
std::uint64_t chunks_staged(const Team& team, std::uint64_t bytes, bool direct, std::size_t part) {
  return direct && team.in_one_process() ? 0 : chunks_of(bytes, part);
}

void send_large(Team& team, const lane::Memory& data, p2p::Call call) {
  const bool direct = data.bytes > kDirect;
  const std::uint64_t chunks = chunks_staged(team, data.bytes, direct, team.chunk());
  const auto stage = [&](std::uint64_t k) {
    const std::uint64_t at = k * team.chunk();
    lane::pack(data, at, team.stage(k, call), piece(data.bytes, at, team.chunk()));
  };
  const bool room = open_bulk(team, &data, call);
  if (chunks > 0 && room) stage(0);
  team.arrive(data.bytes);
  require(room, MPI_ERR_NO_MEM);
  for (std::uint64_t k = 1; k < chunks; ++k) {
    static_cast<void>(team.open(call));
    stage(k);
    team.arrive();
  }
  team.end_bulk(chunks);
  if (direct) team.barrier(call);
}

void receive_large(Team& team, const lane::Memory& data, std::size_t root, const ArrivalFlags::Slot& first, p2p::Call call) {
  const std::uint64_t bytes = first.bytes;
  if (bytes == kFailed) {
    int error_class = 0;
    std::memcpy(&error_class, first.data, sizeof error_class);
    throw MPIError{error_class, false};
  }
  const Team::Bulk bulk = bulk_in(first);
  team.know_bulk(root, bulk);
  const bool direct = bytes > kDirect;
  const bool near = direct && team.is_near(root);
  const std::uint64_t chunks = chunks_staged(team, bytes, direct, team.chunk());
  if (near) lane::copy(*static_cast<const lane::Memory*>(bulk.mine), data, 0, std::min(bytes, data.bytes));
  for (std::uint64_t k = 0; k < chunks; ++k) {
    if (k > 0) {
      team.pass(call);
      static_cast<void>(team.of(root, call));
    }
    const std::uint64_t at = k * team.chunk();
    if (!near) put(team.staged(root, k), data, at, piece(bytes, at, team.chunk()));
  }
  team.end_bulk(chunks);
  if (direct) team.pass(call);
}

}  // namespace

void hand_out(Team& team, const lane::Memory& data, p2p::Call call) {
  if (data.bytes > ArrivalFlags::kBytes) {
    send_large(team, data, call);
  } else {
    lane::pack(data, 0, team.open(call).data, data.bytes);
    team.arrive(data.bytes);
  }
}

void hand_out_error(Team& team, int error_class, p2p::Call call) {
  std::memcpy(team.open(call).data, &error_class, sizeof error_class);
  team.arrive(kFailed);
}

std::uint64_t receive_from(Team& team, std::size_t giver, const lane::Memory& data, p2p::Call call) {
  team.pass(call);
  const ArrivalFlags::Slot& slot = team.of(giver, call);
  const std::uint64_t bytes = slot.bytes;
  if (bytes > ArrivalFlags::kBytes) {
    receive_large(team, data, giver, slot, call);
  } else {
    put(slot.data, data, 0, bytes);
  }
  return bytes;
}

void broadcast_in(Team& team, const lane::Memory& data, std::size_t root, p2p::Call call) {
  if (team.me() == root) {
    hand_out(team, data, call);
  } else {
    require(receive_from(team, root, data, call) <= data.bytes, MPI_ERR_TRUNCATE);
  }
}

bool broadcast_by_team(Rank& rank, const lane::Memory& data, int root, p2p::Call call) {
  if (!rank.team) return false;
  broadcast_in(*rank.team, data, static_cast<std::size_t>(root), call);
  return true;
}

bool allgather_by_team(Rank& rank, const lane::Memory& mine, const Blocks& all, bool in_place, p2p::Call call) {
  Team* const team = rank.team.get();
  if (!team || !all.regular()) return false;
  const lane::Memory own = in_place ? all.block(rank.rank) : mine;
  if (own.bytes > ArrivalFlags::kBytes) return false;
  lane::pack(own, 0, team->open(call).data, own.bytes);
  team->arrive(own.bytes);
  for (std::size_t i = 0; i < team->size(); ++i) {
    const ArrivalFlags::Slot& slot = team->of(i, call);
    require(slot.bytes == own.bytes, MPI_ERR_TRUNCATE);
    if (!in_place || i != team->me()) put(slot.data, all.block(static_cast<int>(i)), 0, own.bytes);
  }
  return true;
}

namespace {

/// Each rank's blocks for the others, side by side in every chunk.
void exchange_large(Team& team, std::size_t me, const Blocks& from, const Blocks& to, std::uint64_t bytes, p2p::Call call) {
  const std::size_t n = team.size();
  const std::size_t part = team.chunk() / n;
  const bool direct = bytes * n > kDirect;
  const auto is_direct = [&](std::size_t i) { return i == me || (direct && team.is_near(i)); };
  const auto block = [](const Blocks& of, std::size_t i) { return of.block(static_cast<int>(i)); };
  const std::uint64_t chunks = chunks_staged(team, bytes, direct, part);
  const auto stage = [&](std::uint64_t k) {
    if (k >= chunks) return;
    std::byte* const room = team.stage(k, call);
    for (std::size_t i = 0; i < n; ++i) {
      if (!is_direct(i)) lane::pack(block(from, i), k * part, room + i * part, piece(bytes, k * part, part));
    }
  };
  if (open_bulk(team, &from, call)) stage(0);
  team.arrive(bytes);
  for (std::size_t i = 0; i < n; ++i) {
    const ArrivalFlags::Slot& theirs = team.of(i, call);
    require(theirs.bytes == bytes, MPI_ERR_TRUNCATE);
    team.know_bulk(i, bulk_in(theirs));
  }
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t other = (me + i) % n;
    if (!is_direct(other)) continue;
    const auto& theirs = *static_cast<const Blocks*>(bulk_in(team.of(other, call)).mine);
    const lane::Memory room = block(to, other);
    lane::copy(block(theirs, me), room, 0, std::min(bytes, room.bytes));
  }
  for (std::uint64_t k = 0; k < chunks; ++k) {
    if (k > 0) team.wait_for_all(call);
    for (std::size_t i = 1; i < n; ++i) {
      const std::size_t other = (me + i) % n;
      if (!is_direct(other)) put(team.staged(other, k) + me * part, block(to, other), k * part, piece(bytes, k * part, part));
    }
    if (k + 1 == chunks) break;
    static_cast<void>(team.open(call));
    stage(k + 1);
    team.arrive();
  }
  team.end_bulk(chunks);
  if (direct) team.barrier(call);
}

}  // namespace

bool alltoall_by_team(Rank& rank, const Blocks& from, const Blocks& to, bool in_place, p2p::Call call) {
  Team* const team = rank.team.get();
  if (!team || in_place || !from.regular() || !to.regular()) return false;
  const std::size_t n = team->size();
  const std::size_t me = team->me();
  const std::uint64_t bytes = from.block(0).bytes;
  if (bytes * n > ArrivalFlags::kBytes) {
    exchange_large(*team, me, from, to, bytes, call);
  } else {
    ArrivalFlags::Slot& slot = team->open(call);
    lane::pack(from.whole(rank.size), 0, slot.data, bytes * n);
    team->arrive(bytes);
    for (std::size_t i = 0; i < n; ++i) {
      const ArrivalFlags::Slot& theirs = team->of(i, call);
      require(theirs.bytes == bytes, MPI_ERR_TRUNCATE);
      put(theirs.data + bytes * me, to.block(static_cast<int>(i)), 0, bytes);
    }
  }
  require(bytes <= to.block(0).bytes, MPI_ERR_TRUNCATE);
  return true;
}

}  // namespace plait::collective
