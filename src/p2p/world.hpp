// MPI_COMM_WORLD as plait sees it: duplicates of it for messages between nodes, its processes behind the ranks of other
// communicators, and the node.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <span>
#include <vector>

namespace plait::p2p {

/// A duplicate of MPI_COMM_WORLD for plait's own messages, or MPI_COMM_NULL. Collective.
[[nodiscard]] MPI_Comm make_channel() noexcept;

/// The duplicates, made when the MPI is initialised; and their end, when no process will send or receive any more. `serialized`:
/// the MPI does not let several threads in at once.
void set_world(std::vector<MPI_Comm> duplicates, bool serialized);
/// The first of them, or MPI_COMM_NULL.
[[nodiscard]] MPI_Comm world() noexcept;
[[nodiscard]] bool world_is_serialized() noexcept;
/// Messages between nodes can be sent from now on. False where there are no duplicates. Throws std::bad_alloc.
[[nodiscard]] bool open_network();
void close_world() noexcept;

/// Nodes are told apart by name, as MPIs do: a hash of this one's. Throws MPIError.
[[nodiscard]] std::uint64_t node_hash();

/// MPI_TAG_UB. relaxed: known once it was asked for.
[[nodiscard]] int ask_tag_limit() noexcept;

/// The group that ranks of a communicator mean: of the other side where there are two, unless `own`. Freed with this object.
/// Throws MPIError.
class GroupOf {
 public:
  explicit GroupOf(MPI_Comm comm, bool own = false);
  ~GroupOf();
  GroupOf(const GroupOf&) = delete;
  GroupOf& operator=(const GroupOf&) = delete;

  [[nodiscard]] int size() const;
  /// The numbers in MPI_COMM_WORLD of some of its ranks, MPI_UNDEFINED for processes that are not in it; or of all.
  void processes(std::span<const int> ranks, std::span<int> found) const;
  [[nodiscard]] std::vector<int> processes() const;

 private:
  MPI_Group group_ = MPI_GROUP_NULL;
};

}  // namespace plait::p2p
