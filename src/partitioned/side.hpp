// What both sides of a partitioned message know of each other when they are made.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <memory>

#include "lane/memory.hpp"
#include "partitioned/communicator_id.hpp"

namespace plait::partitioned {

/// How messages and requests are told apart: those with the same are matched in the order in which they were made.
struct Key {
  std::uint64_t comm = 0;    ///< its CommunicatorId's id
  std::int32_t process = 0;  ///< that sends, by its number in MPI_COMM_WORLD
  std::int32_t tag = 0;
  auto operator<=>(const Key&) const = default;
};

struct Side {
  std::shared_ptr<const CommunicatorId> comm_id;
  MPI_Comm comm = MPI_COMM_NULL;  ///< for whom errors are told to, while it is there
  int rank = MPI_PROC_NULL;       ///< the other's, in the communicator
  int process = 0;                ///< the other's, in MPI_COMM_WORLD
  int tag = 0;
  int partitions = 0;
  lane::Memory memory;
  std::uint64_t chunk = 0;  ///< between nodes, as the program wants them; 0: it has not said

  [[nodiscard]] bool nobody() const noexcept { return rank == MPI_PROC_NULL; }
  [[nodiscard]] std::uint64_t part_bytes() const noexcept {
    return partitions > 0 ? memory.bytes / static_cast<std::uint64_t>(partitions) : 0;
  }
};

}  // namespace plait::partitioned
