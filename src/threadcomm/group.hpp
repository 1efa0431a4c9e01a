// Groups of ranks that are threads: what MPI_Comm_group gives, and what MPI makes of groups. A group belongs to the thread
// that has made it.
#pragma once

#include <compare>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "lane/request.hpp"
#include "threadcomm/threadcomm.hpp"

namespace plait::threadcomm {

/// A thread, told by its endpoint.
struct Place {
  std::int32_t process, pid;
  std::uint64_t offset;
  auto operator<=>(const Place&) const = default;
};

/// Of all ranks.
[[nodiscard]] std::vector<Place> places(const Rank& rank);

/// Lies in a request's slot, so that a handle can stand for it.
struct Group : Request {
  std::vector<Place> members;
  Place me{};  ///< the thread that has it
  [[nodiscard]] int size() const noexcept { return static_cast<int>(members.size()); }
  /// MPI_UNDEFINED if it is no member.
  [[nodiscard]] int rank_of(const Place& place) const noexcept;
};
extern const RequestKind kGroup;

[[nodiscard]] inline bool is_group(const Request& r) noexcept { return r.kind == &kGroup; }

/// A group's members sorted, to look up many of them in O(log n) each.
class Index {
 public:
  explicit Index(std::span<const Place> members);
  /// MPI_UNDEFINED if it is no member.
  [[nodiscard]] int rank_of(const Place& place) const noexcept;
  [[nodiscard]] bool has(const Place& place) const noexcept { return rank_of(place) != MPI_UNDEFINED; }

 private:
  std::vector<std::pair<Place, int>> sorted_;
};

/// Throw std::bad_alloc, MPIError.
[[nodiscard]] Group& make_group(const Place& me, std::vector<Place> members);
[[nodiscard]] Group& group_of(Rank& rank);
void free_group(Group& group) noexcept;

[[nodiscard]] std::vector<Place> unite(std::span<const Place> one, std::span<const Place> other);
[[nodiscard]] std::vector<Place> intersect(std::span<const Place> one, std::span<const Place> other);
[[nodiscard]] std::vector<Place> subtract(std::span<const Place> one, std::span<const Place> other);
/// Those at `ranks`, which must be in range and different.
[[nodiscard]] std::vector<Place> include(const Group& group, std::span<const int> ranks);
[[nodiscard]] std::vector<Place> exclude(const Group& group, std::span<const int> ranks);
/// Ranks of (first, last, step) triplets.
[[nodiscard]] std::vector<int> ranks_of(std::span<const int[3]> ranges);

/// MPI_Comm_create. Null on ranks outside of their groups.
[[nodiscard]] Rank* create(Rank& parent, const Group* group, p2p::Call call);

}  // namespace plait::threadcomm
