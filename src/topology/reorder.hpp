// MPI_Cart_create and its like on ordinary communicators: who shares a node, a socket and a cache is asked, the ranks get the places that
// they are best at, and then the MPI makes the communicator of processes in this order.
//
// Rank 0 decides for all. A grid, or a graph that all processes know, which is not as it should be goes to the MPI as it is, for the error
// that it gives. In a graph of which each process knows a part a mistake is MPI_ERR_ARG on the process that has made it, and
// MPI_ERR_TOPOLOGY on the others, which do not wait for it.
#pragma once

#include <mpi.h>

namespace plait::topology {

/// Does the program let ranks take other places, and the user?
[[nodiscard]] bool may_reorder(int reorder) noexcept;

/// Each as the MPI's function: the MPI's error code, or that of the communicator's error handler. Collective over `comm`.
[[nodiscard]] int create_cartesian(MPI_Comm comm, int n, const int dims[], const int periods[], int reorder, MPI_Comm* made) noexcept;
[[nodiscard]] int create_graph(MPI_Comm comm, int n, const int index[], const int edges[], int reorder, MPI_Comm* made) noexcept;
[[nodiscard]] int create_distributed(MPI_Comm comm, int n, const int sources[], const int degrees[], const int targets[],
                                     const int weights[], MPI_Info info, int reorder, MPI_Comm* made) noexcept;
[[nodiscard]] int create_adjacent(MPI_Comm comm, int in, const int sources[], const int in_weights[], int out, const int targets[],
                                  const int out_weights[], MPI_Info info, int reorder, MPI_Comm* made) noexcept;

}  // namespace plait::topology
