// Blocking collective calls of an ordinary communicator that spans nodes: the ranks of a node meet in shared memory (team.hpp), one of
// them, the leader, calls the MPI for all of them, and hands out what it has got. The leader of a node is its lowest rank.
//
// Whether a call is made so has to come out the same on all ranks, so only what MPI wants to be the same is looked at: of a reduction the
// operation, the number of elements, and whether the datatype is one of MPI's own; of a broadcast its bytes, since datatypes may differ.
#pragma once

#include <mpi.h>

#include <optional>

#include "lane/memory.hpp"
#include "p2p/message.hpp"

namespace plait::collective {

struct Rank;
struct Reduction;

/// The communicator of the leaders. It is made by the first call that wants it, since most communicators see no such call.
class Leaders {
 public:
  Leaders() = default;
  ~Leaders() { free(); }
  Leaders(const Leaders&) = delete;
  Leaders& operator=(const Leaders&) = delete;

  /// Collective over the rank's communicator the first time. False on all ranks where there is none.
  [[nodiscard]] bool ready(const Rank& rank);
  /// MPI_COMM_NULL on ranks that are no leaders.
  [[nodiscard]] MPI_Comm communicator() const noexcept { return comm_; }
  /// Collective over the leaders: when the program frees the rank's communicator.
  void free() noexcept;

 private:
  void make(const Rank& rank);

  MPI_Comm comm_ = MPI_COMM_NULL;
  bool known_ = false, usable_ = false;
};

/// Does this rank call the MPI for its node?
[[nodiscard]] bool leads_node(const Rank& rank) noexcept;

/// What the program broadcasts, as it says.
struct Buffer {
  void* at;
  MPI_Count count;
  MPI_Datatype type;
};

// Each returns the call's error, or nothing where the MPI has to make it: on all ranks. Throw std::bad_alloc; and MPIError when the
// leaders' communicator is made.

[[nodiscard]] std::optional<int> barrier_by_leaders(Rank& rank, p2p::Call call);
/// `data` is the buffer again.
[[nodiscard]] std::optional<int> broadcast_by_leaders(Rank& rank, const Buffer& buffer, const lane::Memory& data, int root, p2p::Call call);
[[nodiscard]] std::optional<int> reduce_by_leaders(Rank& rank, const Reduction& r, int root, p2p::Call call);
[[nodiscard]] std::optional<int> allreduce_by_leaders(Rank& rank, const Reduction& r, p2p::Call call);

}  // namespace plait::collective
