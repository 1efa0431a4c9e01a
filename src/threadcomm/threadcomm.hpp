// Thread communicators: every thread of every process a rank.
//
//   rank         what one thread is in one communicator: its endpoint, its numbers, its side of collective calls. Used by that
//                thread alone.
//   local group  the ranks of one communicator in one process, and what they share: the MPI's handle. But for counters it does
//                not change while the communicator lives.
//   base         the local group that MPIX_Threadcomm_init made. Communicators made of it (by MPI_Comm_dup, say) belong to it: the
//                thread that has a seat at the base has its ranks in them all.
//   seat         a thread's place at a base from MPIX_Threadcomm_start to MPIX_Threadcomm_finish.
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "collective/rank.hpp"
#include "p2p/communicator.hpp"
#include "p2p/message.hpp"

namespace plait::threadcomm {

struct LocalGroup;
struct ParallelRegion;  // parallel_region.hpp

using collective::Members;

/// How a Cartesian communicator is laid out, or a graph.
struct Topology {
  enum class Kind : std::uint8_t { cartesian, graph, distributed };
  Kind kind = Kind::cartesian;
  std::vector<int> dims, periods;          ///< Cartesian
  std::vector<int> index, edges;           ///< graph, as MPI_Graph_create takes them
  std::vector<int> sources, destinations;  ///< neighbours, in the order of neighbourhood collectives
  std::vector<int> source_weights, destination_weights;
  bool weighted = false;
};

struct Rank : collective::Rank {
  LocalGroup* group = nullptr;
  int seat = 0;
  std::shared_ptr<const Topology> topology;
  std::map<int, void*> attributes;  ///< by keyval
};

struct LocalGroup : p2p::Communicator {
  LocalGroup* base = nullptr;
  MPI_Comm attributes_of = MPI_COMM_NULL;  ///< what the MPI itself says of it, and what came from the parent of MPIX_Threadcomm_init
  std::vector<Rank*> ranks;                ///< by seat; null where that thread has none
  std::atomic<int> left{0};                ///< ranks that have not freed it
  std::unique_ptr<ParallelRegion> region;  ///< of a base
  std::vector<lane::Endpoint*> endpoints;  ///< of a base's threads
  ~LocalGroup() override;
  LocalGroup();
  LocalGroup(const LocalGroup&) = delete;
  LocalGroup& operator=(const LocalGroup&) = delete;
};

/// Is this a thread communicator, whether or not the calling thread is a rank of it?
[[nodiscard]] inline bool is_threadcomm(const p2p::Communicator& c) noexcept { return c.of_thread != nullptr; }

/// The calling thread's. Throws MPIError{MPI_ERR_COMM} where it has none.
[[nodiscard]] Rank& rank_of(p2p::Communicator& c);
/// The ranks of its process.
[[nodiscard]] LocalGroup& local_group_of(p2p::Communicator& c) noexcept;
/// The hook of p2p::find_communicator.
[[nodiscard]] p2p::Communicator* of_thread(p2p::Communicator& c) noexcept;

/// MPIX_Threadcomm_init and _free: by one thread of each process, collective over `parent`. Throw MPIError, std::bad_alloc,
/// std::system_error.
[[nodiscard]] MPI_Comm create(MPI_Comm parent, int threads);
void destroy(LocalGroup& base);

/// MPIX_Threadcomm_start and _finish: by each of the process's threads; return when all have come.
void start(LocalGroup& base, p2p::Call call);
void finish(LocalGroup& base, p2p::Call call);

/// Makes communicators of one; called by each of its ranks. The ranks of a color are in the order of (key, rank). Null where
/// `color` is MPI_UNDEFINED. A duplicate keeps what the MPI knows of the parent. Throws MPIError, std::bad_alloc.
[[nodiscard]] Rank* split(Rank& parent, int color, int key, p2p::Call call, bool duplicate = false);
/// Those that share memory, but for ranks that want none.
[[nodiscard]] Rank* split_by_node(Rank& parent, bool none, int key, p2p::Call call);
/// The same ranks in the same order; keeps the topology.
[[nodiscard]] Rank& duplicate(Rank& parent, p2p::Call call);
/// MPI_IDENT, MPI_CONGRUENT, MPI_SIMILAR or MPI_UNEQUAL.
[[nodiscard]] int compare(const Rank& one, const Rank& other);
/// MPI_Comm_free by one of its ranks, not at the base. Takes effect when no collective call is left.
void free_rank(Rank& rank);

}  // namespace plait::threadcomm
