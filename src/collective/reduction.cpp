// Collective calls that combine data. The order is a tree over the ranks: neighbours 0 and 1, 2 and 3, ... first, then pairs
// of these, and so on; the lower rank's data is the left operand. It is the same for all sizes and all roots.
#include <algorithm>
#include <cstddef>
#include <memory>
#include <vector>

#include "base/error.hpp"
#include "collective/algorithms.hpp"
#include "collective/combine.hpp"

namespace plait::collective {

namespace {

/// From here on the ranks share the work, each combining a part of the elements.
constexpr std::uint64_t kShared = 32768;

/// Room for elements of any datatype.
class Elements {
 public:
  Elements(MPI_Count count, const p2p::Type& type) {
    if (!type.layout) {
      memory_ = std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(count) * static_cast<std::size_t>(type.size));
      at_ = memory_.get();
      return;
    }
    MPI_Aint low = 0;
    MPI_Aint bytes = 0;
    check(PMPI_Type_get_true_extent(type.handle, &low, &bytes));
    if (count > 1) {
      const MPI_Aint more = type.extent() * static_cast<MPI_Aint>(count - 1);
      if (more < 0) low += more;
      bytes += std::abs(more);
    }
    // Zeroes: gaps are copied along by some operations.
    memory_ = std::make_unique<std::byte[]>(count > 0 ? static_cast<std::size_t>(bytes) : 0);
    at_ = offset_by(memory_.get(), -low);
  }
  [[nodiscard]] void* at() const noexcept { return at_; }

 private:
  std::unique_ptr<std::byte[]> memory_;
  void* at_ = nullptr;
};

/// The part of the elements that rank r combines.
struct Part {
  MPI_Count first, count;
};
Part part_of(MPI_Count count, int r, int size) {
  const MPI_Count first = count / size * r + std::min<MPI_Count>(r, count % size);
  return {first, count / size + (r < count % size ? 1 : 0)};
}

/// Every rank combines a part: `parts` says which, by rank. The result of this rank's is put where `to` says, unless that is
/// null.
Steps combine_parts(Collective& c, Reduction r, std::vector<Part> parts, void* to) {
  const MPI_Aint extent = r.type.extent();
  const auto at = [&](const void* base, const Part& p) { return offset_by(base, static_cast<MPI_Aint>(p.first) * extent); };
  const Part own = parts[static_cast<std::size_t>(c.me())];
  std::vector<Elements> rooms;
  std::vector<void*> blocks;
  rooms.reserve(parts.size());
  for (int i = 0; i < c.size(); ++i) {
    rooms.emplace_back(own.count, r.type);
    blocks.push_back(rooms.back().at());
  }
  if (own.count > 0) {
    for (int i = 1; i < c.size(); ++i) {
      const int from = (c.me() + c.size() - i) % c.size();
      c.receive(from, memory_of(blocks[static_cast<std::size_t>(from)], own.count, r.type));
    }
  }
  for (int i = 1; i < c.size(); ++i) {
    const int to_rank = (c.me() + i) % c.size();
    const Part& p = parts[static_cast<std::size_t>(to_rank)];
    if (p.count > 0) c.send(to_rank, memory_of(at(r.from, p), p.count, r.type));
  }
  copy(memory_of(at(r.from, own), own.count, r.type), memory_of(blocks[static_cast<std::size_t>(c.me())], own.count, r.type));
  co_await c.all();
  if (own.count > 0) copy(memory_of(combine_tree(blocks, own.count, r.combine), own.count, r.type), memory_of(to, own.count, r.type));
}

std::vector<Part> equal_parts(MPI_Count count, int size) {
  std::vector<Part> parts;
  parts.reserve(static_cast<std::size_t>(size));
  for (int i = 0; i < size; ++i) parts.push_back(part_of(count, i, size));
  return parts;
}

bool is_shared(const Collective& c, const Reduction& r) {
  return memory_of(r.from, r.count, r.type).bytes >= kShared && r.count >= c.size() && c.size() > 1;
}

/// Up the tree to rank 0, where the result is in `r.to`.
Steps reduce_to_first(Collective& c, Reduction r) {
  const void* have = r.from;
  Elements one(r.count, r.type);
  Elements other(r.count, r.type);
  bool turn = false;
  for (int distance = 1; distance < c.size(); distance *= 2) {
    if (c.me() & distance) {
      c.send(c.me() - distance, memory_of(have, r.count, r.type));
      co_await c.all();
      co_return;
    }
    if (c.me() + distance >= c.size()) continue;
    void* const came = turn ? other.at() : one.at();
    c.receive(c.me() + distance, memory_of(came, r.count, r.type));
    co_await c.all();
    r.combine(have, came, r.count);
    have = came;
    turn = !turn;
  }
  if (have != r.to) copy(memory_of(have, r.count, r.type), memory_of(r.to, r.count, r.type));
}

/// The same order, both of a pair doing the same; for powers of two.
Steps allreduce_by_pairs(Collective& c, Reduction r) {
  Elements mine(r.count, r.type);
  Elements theirs(r.count, r.type);
  const lane::Memory own = memory_of(mine.at(), r.count, r.type);
  const lane::Memory other = memory_of(theirs.at(), r.count, r.type);
  copy(memory_of(r.from, r.count, r.type), own);
  for (int distance = 1; distance < c.size(); distance *= 2) {
    const int partner = c.me() ^ distance;
    c.receive(partner, other);
    c.send(partner, own);
    co_await c.all();
    if (c.me() & distance) {
      r.combine(theirs.at(), mine.at(), r.count);
    } else {
      r.combine(mine.at(), theirs.at(), r.count);
      copy(other, own);
    }
  }
  copy(own, memory_of(r.to, r.count, r.type));
}

bool is_power_of_two(int n) { return (n & (n - 1)) == 0; }

}  // namespace

Steps reduce(Collective& c, Reduction r, int root) {
  c.combines(r.type, r.combine);
  if (r.count == 0) co_return;
  const lane::Memory result = memory_of(r.to, r.count, r.type);
  if (is_shared(c, r)) {
    const MPI_Aint extent = r.type.extent();
    const Part own = part_of(r.count, c.me(), c.size());
    if (c.me() != root) {
      const Elements room(own.count, r.type);
      co_await combine_parts(c, r, equal_parts(r.count, c.size()), room.at());
      c.send(root, memory_of(room.at(), own.count, r.type));
      co_await c.all();
      co_return;
    }
    co_await combine_parts(c, r, equal_parts(r.count, c.size()), offset_by(r.to, static_cast<MPI_Aint>(own.first) * extent));
    for (int i = 0; i < c.size(); ++i) {
      const Part p = part_of(r.count, i, c.size());
      if (i != root) c.receive(i, memory_of(offset_by(r.to, static_cast<MPI_Aint>(p.first) * extent), p.count, r.type));
    }
    co_await c.all();
    co_return;
  }
  if (root == 0 || (c.me() != 0 && c.me() != root)) {
    co_await reduce_to_first(c, r);
    co_return;
  }
  if (c.me() == 0) {
    // Only the root has room of its own.
    const Elements room(r.count, r.type);
    r.to = room.at();
    co_await reduce_to_first(c, r);
    c.send(root, memory_of(room.at(), r.count, r.type));
    co_await c.all();
    co_return;
  }
  co_await reduce_to_first(c, r);  // not rank 0: nothing is put anywhere
  c.receive(0, result);
  co_await c.all();
}

Steps allreduce(Collective& c, Reduction r) {
  c.combines(r.type, r.combine);
  if (r.count == 0) co_return;
  if (is_shared(c, r)) {
    const MPI_Aint extent = r.type.extent();
    const auto at = [&](int i) {
      const Part p = part_of(r.count, i, c.size());
      return memory_of(offset_by(r.to, static_cast<MPI_Aint>(p.first) * extent), p.count, r.type);
    };
    const Part own = part_of(r.count, c.me(), c.size());
    co_await combine_parts(c, r, equal_parts(r.count, c.size()), offset_by(r.to, static_cast<MPI_Aint>(own.first) * extent));
    for (int i = 1; i < c.size(); ++i) {
      const int from = (c.me() + c.size() - i) % c.size();
      c.receive(from, at(from));
    }
    for (int i = 1; i < c.size(); ++i) c.send((c.me() + i) % c.size(), at(c.me()));
    co_await c.all();
    co_return;
  }
  if (is_power_of_two(c.size())) {
    co_await allreduce_by_pairs(c, r);
    co_return;
  }
  co_await reduce_to_first(c, r);
  co_await broadcast(c, memory_of(r.to, r.count, r.type), 0);
}

Steps reduce_scatter(Collective& c, Reduction r, Blocks counts) {
  c.combines(r.type, r.combine);
  std::vector<Part> parts;
  MPI_Count first = 0;
  for (int i = 0; i < c.size(); ++i) {
    parts.push_back({first, counts.count_of(i)});
    first += counts.count_of(i);
  }
  co_await combine_parts(c, r, parts, r.to);
}

Steps scan(Collective& c, Reduction r, bool exclusive) {
  c.combines(r.type, r.combine);
  if (r.count == 0) co_return;
  // What the ranks [me - distance + 1, me] have together, and, for the exclusive one, what those before me have.
  Elements sum(r.count, r.type);
  Elements before(r.count, r.type);
  Elements came(r.count, r.type);
  const lane::Memory sum_memory = memory_of(sum.at(), r.count, r.type);
  const lane::Memory before_memory = memory_of(before.at(), r.count, r.type);
  const lane::Memory came_memory = memory_of(came.at(), r.count, r.type);
  copy(memory_of(r.from, r.count, r.type), sum_memory);
  bool any_before = false;
  for (int distance = 1; distance < c.size(); distance *= 2) {
    if (c.me() + distance < c.size()) c.send(c.me() + distance, sum_memory);
    if (c.me() >= distance) c.receive(c.me() - distance, came_memory);
    co_await c.all();
    if (c.me() < distance) continue;
    r.combine(came.at(), sum.at(), r.count);
    if (any_before) {
      r.combine(came.at(), before.at(), r.count);
    } else {
      copy(came_memory, before_memory);
      any_before = true;
    }
  }
  const lane::Memory result = memory_of(r.to, r.count, r.type);
  if (!exclusive) {
    copy(sum_memory, result);
  } else if (any_before) {
    copy(before_memory, result);
  }
}

}  // namespace plait::collective
