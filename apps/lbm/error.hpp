// How plait-lbm reports what is wrong: one line, from one process, and every process ends.
#pragma once

#include <mpi.h>

#include <cstdio>
#include <new>
#include <string>

#include "deck/error.hpp"
#include "deck/files.hpp"

namespace plait::lbm {

using deck::Error;

/// Thrown on every process once the line has been printed: leave quietly, with a status that is not 0.
struct Quit {};

/// Runs `work` on every process of `comm`; if it throws Error (or runs out of memory) anywhere, the
/// lowest such process prints its line and Quit is thrown on all. Collective over comm, one thread.
template <class Work>
void collectively(MPI_Comm comm, Work&& work) {
  std::string line;
  try {
    work();
  } catch (const Error& e) {
    line = e.what();
  } catch (const std::bad_alloc&) {
    line = "not enough memory for this lattice: use more nodes or a smaller lattice.size";
  }
  int rank = 0, size = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  int failed = line.empty() ? size : rank, first = size;
  MPI_Allreduce(&failed, &first, 1, MPI_INT, MPI_MIN, comm);
  if (first == size) return;
  if (first == rank) {
    std::fprintf(stderr, "plait-lbm: %s\n", deck::one_line(line).c_str());
    std::fflush(stderr);
  }
  throw Quit{};
}

}  // namespace plait::lbm
