// The network between nodes over the MPI: communicators of its own on which processes exchange packets of records.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <vector>

#include "base/mpi_lock.hpp"
#include "transport/network.hpp"

namespace plait::transport {

/// Starts the network, once. Not collective; any thread. Each of `channels` is a duplicate of MPI_COMM_WORLD, and all processes pass
/// the same ones. `serialized`: the MPI lets in one thread at a time, so the lock around it is needed. Throws std::bad_alloc.
void open_packets(const std::vector<MPI_Comm>& channels, const Sink& sink, bool serialized);

/// Ends the network, before the MPI is finalized and when all processes have got here: nothing is sent or received any more.
void close_packets() noexcept;

/// Messages of plait's own that this process has sent and received, counted where both sides do so.
struct Traffic {
  std::int64_t sent = 0, received = 0;
};
/// Packets of the network. They are counted by one thread at a time.
[[nodiscard]] Traffic packet_traffic() noexcept;

/// Is there an MPI_COMM_WORLD? With sessions alone there is none, and Open MPI 5.0.11 crashes where it is asked for anything of it.
[[nodiscard]] inline bool world_exists() noexcept {
  int initialized = 0;
  return PMPI_Initialized(&initialized) == MPI_SUCCESS && initialized;
}

/// Lets the MPI move whatever it has pending: the first if this thread may call it now, the second because the program has asked.
void poll_mpi() noexcept;
void poll_mpi_as_asked() noexcept;
/// Which threads may call the MPI at any time: all; or this one, where the program has promised that no other does; or none. At
/// first none may.
enum class Pollers : std::uint8_t { none, this_one, all };
/// `comm`: the communicator to look at, on which nobody sends with the tag that is looked for.
void set_pollers(Pollers pollers, MPI_Comm comm) noexcept;

/// Takes what a call of the MPI's on a communicator of plait's returns. If it is an error, messages are lost and the job ends.
void must_work(int error) noexcept;

}  // namespace plait::transport
