// The network between nodes over the MPI: communicators of its own on which processes exchange packets of records.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <vector>

#include "base/mpi_lock.hpp"
#include "transport/network.hpp"

namespace plait::transport {

/// Starts it on duplicates of MPI_COMM_WORLD, as many as there are to be channels, the same in all processes; once; any
/// thread, not collective. `serialized`: the MPI does not let several
/// threads in at once, so that there has to be a lock around it. Throws std::bad_alloc.
void open_packets(const std::vector<MPI_Comm>& channels, const Sink& sink, bool serialized);

/// The last of it, before the MPI is finalized and when all processes have come so far: nothing is sent or taken any more.
void close_packets() noexcept;

/// Lets the MPI move whatever it has pending, if this thread may call it now, or because the program has asked for it.
void poll_mpi() noexcept;
void poll_mpi_as_asked() noexcept;
/// Which threads may: all; or, where the program has promised that only this one calls the MPI, this one; or none. Until it
/// is called: none.
enum class Pollers : std::uint8_t { none, this_one, all };
/// `comm`: on which nobody sends.
void set_pollers(Pollers pollers, MPI_Comm comm) noexcept;

/// For what a call of the MPI's on plait's own communicators returns: messages that fail are lost, so the job ends.
void must_work(int error) noexcept;

}  // namespace plait::transport
