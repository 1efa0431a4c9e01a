// Partitioned messages as requests: what stands between the exported calls and the two sides. Arguments are checked here;
// functions throw MPIError, std::bad_alloc. Errors are MPI's classes.
#pragma once

#include <mpi.h>

#include <cstdint>

#include "lane/request.hpp"
#include "transport/packets.hpp"

namespace plait::partitioned {

/// When the MPI has been initialized: `comm` is a duplicate of MPI_COMM_WORLD for this alone, or MPI_COMM_NULL.
void open(MPI_Comm comm, bool serialized) noexcept;
/// One round of all there is, and of control messages that nothing here waits for; true if something moved.
bool move_all() noexcept;
/// Are there control messages that wait for room?
[[nodiscard]] bool has_unsent() noexcept;
/// How many control messages this process has received, and has sent or is about to send.
[[nodiscard]] transport::Traffic traffic() noexcept;
void close() noexcept;

/// What the initializing calls are given.
struct Arguments {
  const void* buffer;
  int partitions;
  MPI_Count count;  ///< of each partition
  MPI_Datatype type;
  int rank;
  int tag;
  MPI_Comm comm;
  MPI_Info info;
};

/// Can messages on this communicator to and from this rank be plait's? The same answer on both sides.
[[nodiscard]] bool serves(MPI_Comm comm, int rank);

/// Not started yet.
[[nodiscard]] Request& send_init(const Arguments& arguments);
[[nodiscard]] Request& receive_init(const Arguments& arguments);
/// Finepoints' requests. A send is one buffer of `count` elements, to which ranges are added. A receive is started by the call that waits
/// for it.
[[nodiscard]] Request& send_create(const Arguments& arguments, int threads);
[[nodiscard]] Request& receive_create(const Arguments& arguments);

/// Is it a request of these?
[[nodiscard]] bool is_partitioned(const Request& r) noexcept;

/// Could they ever be readied? Any thread.
void check_partitions(const Request& r, int low, int high);
/// Partitions [low, high] of an active send. Any thread.
void ready(Request& r, int low, int high);
void ready(Request& r, int count, const int* partitions);
[[nodiscard]] bool arrived(Request& r, int partition);
/// Finepoints: `count` elements of `type` at `buffer`. `share`: this is one thread's part, rounded down. The last of the threads' calls
/// also adds the elements left at the buffer's end. Any thread.
void add(Request& r, const void* buffer, int count, MPI_Datatype type, bool share);

}  // namespace plait::partitioned
